"""The `llama_cpp` engine: llama.cpp through llama-cpp-python's low-level API, one context per model.

The high-level `Llama` class is not used: it holds one sequence, keeps its own cache and cannot batch.
Importing this package is cheap; the library itself is imported on the engine's thread, at load.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from troth.domain import SAMPLERS_KNOWN
from troth.engines.llama_cpp.options import LlamaCppOptions

if TYPE_CHECKING:
    from troth.engines.base import LoadProgress
    from troth.engines.llama_cpp.decoder import LlamaDecoder

__all__ = ["HONOURS", "LlamaCpp", "LlamaCppOptions"]

# Canonical names of the request fields that this engine does, as the document spells them. What the
# corridor does by itself (messages, stop, stream …) is here too: the engine must leave room for it.
HONOURS = frozenset(
    {
        "input", "instructions", "reasoning", "text",
        "system", "tool_choice", "thinking", "output_config",
        "state", "questions", "strict",
        "messages", "prompt", "echo", "preserved_tokens", "content", "tokens", "input_prefix",
        "input_suffix", "input_extra", "return_tokens", "response_fields", "n_indent", "t_max_predict_ms",
        "model", "stream", "stream_options", "stop", "n", "seed", "priority",
        "max_tokens", "temperature", "dynatemp_range", "dynatemp_exponent", "top_k", "top_p", "min_p",
        "typical_p", "top_n_sigma", "xtc_probability", "xtc_threshold", "repeat_penalty", "repeat_last_n",
        "presence_penalty", "frequency_penalty", "dry_multiplier", "dry_base", "dry_allowed_length",
        "dry_penalty_last_n", "dry_sequence_breakers", "mirostat", "mirostat_tau", "mirostat_eta",
        "min_keep", "samplers", "logit_bias", "ignore_eos", "logprobs", "top_logprobs", "n_probs",
        "post_sampling_probs",
        "lora", "control_vector",
        "timings_per_token", "return_progress", "verbose", "add_generation_prompt", "chat_template_kwargs",
        "handle", "X-Halogen-Handle", "cache_salt",
        "tools", "functions", "function_call", "parallel_tool_calls", "parse_tool_calls", "continue_final_message",
        "response_format", "json_schema", "grammar", "grammar_lazy", "grammar_triggers", "structured_outputs",
        "guided_json", "guided_regex", "guided_choice", "guided_grammar",
        "enable_thinking", "reasoning_effort", "thinking_token_budget", "include_reasoning", "preserve_thinking",
        "reasoning_format",
    }
)  # fmt: skip

assert set(SAMPLERS_KNOWN) == {
    "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature", "infill"
}, "sampling.py builds exactly these"  # fmt: skip


class LlamaCpp:
    """One GGUF file and the options to load it with, perhaps a second one to draft with, and perhaps a projector to
    see and hear with; `load` gives the decoder."""

    honours = HONOURS

    def __init__(
        self,
        path: Path,
        options: LlamaCppOptions,
        draft: Path | None = None,
        mmproj: Path | None = None,
        extra: Sequence[Path] = (),
    ) -> None:
        """`extra`: the files of `options.sources`."""
        self.path = path
        self.options = options
        self.draft = draft
        self.mmproj = mmproj
        self.extra = extra

    def load(self, progress: LoadProgress) -> LlamaDecoder:
        """The model is in memory, and with strict determinism it has been tested for it.

        Blocks. Raises EngineFault with llama.cpp's own words.
        """
        main_share, draft_progress = self._shares(progress)
        decoder = self._load_main(main_share)
        try:
            if self.mmproj is not None:
                decoder.see_with(self.mmproj, self.options)
            if self.draft is not None:
                from troth.engines.llama_cpp.draft_model import DraftModel

                decoder.draft_with(DraftModel(self.draft, self.options, decoder, draft_progress))
        except Exception:
            decoder.close()
            raise
        return decoder

    def _shares(self, progress: LoadProgress) -> tuple[LoadProgress, LoadProgress]:
        """The progress of the main model and of the drafting one, each its part of the whole."""
        if self.draft is None:
            return progress, progress
        size, second = self.path.stat().st_size, self.draft.stat().st_size
        share = size / (size + second)
        return (lambda done: progress(done * share)), (lambda done: progress(share + done * (1 - share)))

    def _load_main(self, progress: LoadProgress) -> LlamaDecoder:
        from troth.engines.llama_cpp.decoder import LlamaDecoder
        from troth.engines.llama_cpp.probe import probe

        decoder = LlamaDecoder(self.path, self.options, progress, extra=self.extra)
        if self.options.determinism == "fast":
            return decoder
        outcome = probe(decoder)
        if not outcome["promised"]:
            # Rearranged weights of some formats add up differently for one row and for many.
            decoder.close()
            decoder = LlamaDecoder(self.path, self.options, progress, repack=False, extra=self.extra)
            outcome = probe(decoder)
        decoder.promise(outcome)
        return decoder
