"""The `llama_cpp` engine: llama.cpp through llama-cpp-python's low-level API, one context per model.

The high-level `Llama` class is not used: it holds one sequence, keeps its own cache and cannot batch.
Importing this package is cheap; the library itself is imported on the engine's thread, at load.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from troth.domain import SAMPLER_NAMES
from troth.engines.llama_cpp.options import LlamaCppOptions

if TYPE_CHECKING:
    from troth.engines.base import LoadProgress
    from troth.engines.llama_cpp.decoder import LlamaDecoder

__all__ = ["HONOURS", "LlamaCpp", "LlamaCppOptions"]

# Canonical names of the request fields that this engine does, as the document spells them. What the
# corridor does by itself (messages, stop, stream …) is here too: the engine must leave room for it.
HONOURS = frozenset(
    {
        "messages", "model", "stream", "stream_options", "stop", "n", "seed", "priority",
        "max_tokens", "temperature", "dynatemp_range", "dynatemp_exponent", "top_k", "top_p", "min_p",
        "typical_p", "top_n_sigma", "xtc_probability", "xtc_threshold", "repeat_penalty", "repeat_last_n",
        "presence_penalty", "frequency_penalty", "dry_multiplier", "dry_base", "dry_allowed_length",
        "dry_penalty_last_n", "dry_sequence_breakers", "mirostat", "mirostat_tau", "mirostat_eta",
        "min_keep", "samplers", "logit_bias", "ignore_eos", "logprobs", "top_logprobs", "n_probs",
        "timings_per_token", "return_progress", "add_generation_prompt", "chat_template_kwargs",
        "handle", "X-Halogen-Handle",
    }
)  # fmt: skip

assert set(SAMPLER_NAMES) == {
    "penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"
}, "sampling.py builds exactly these"  # fmt: skip


class LlamaCpp:
    """One GGUF file and the options to load it with; `load` gives the decoder."""

    honours = HONOURS

    def __init__(self, path: Path, options: LlamaCppOptions) -> None:
        self.path = path
        self.options = options

    def load(self, progress: LoadProgress) -> LlamaDecoder:
        """The model is in memory, and with strict determinism it has been tested for it.

        Blocks. Raises EngineFault with llama.cpp's own words.
        """
        from troth.engines.llama_cpp.decoder import LlamaDecoder
        from troth.engines.llama_cpp.probe import probe

        decoder = LlamaDecoder(self.path, self.options, progress)
        if self.options.determinism == "fast":
            return decoder
        outcome = probe(decoder)
        if not outcome["promised"]:
            # Rearranged weights of some formats add up differently for one row and for many.
            decoder.close()
            decoder = LlamaDecoder(self.path, self.options, progress, repack=False)
            outcome = probe(decoder)
        decoder.promise(outcome)
        return decoder
