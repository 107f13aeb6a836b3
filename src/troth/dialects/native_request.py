"""llama-server's native completion and infill requests as `Ask`s. Pure.

Divergences from llama-server:
1. Fields of a wrong type, and sampler names that there are not, are refused instead of ignored.
2. `n_predict: 0` gives no token (llama-server: one).
3. An empty prompt is refused, also where llama-server answers with nothing.
"""

from __future__ import annotations

from typing import Any

from troth._generated.models import InfillRequest, NativeCompletionRequest, NativeFields
from troth.dialects.completion_request import joined, prompts
from troth.dialects.fields import adapted, bounded, named, reported, sampled
from troth.dialects.forms import form_of
from troth.domain import Ask, Gap, Pieces, RawText, TextLimits
from troth.errors import BadRequest


def read_completion(body: NativeCompletionRequest, given: frozenset[str], caller: str, prompts_max: int) -> list[Ask]:
    """What the client asked for, prompt by prompt. Raises BadRequest for too many."""
    found = prompts(body.prompt)
    if len(found) > prompts_max:
        raise BadRequest(
            f"`prompt` has {len(found)} prompts; this server takes at most {prompts_max} in one request.",
            param="prompt",
        )
    common = _common(body) | {"form": form_of(body, body), "given": given, "tag": named(body, None, caller)}
    common |= sampled(body) | bounded(body) | reported(body) | adapted(body)
    return [Ask(source=RawText(pieces), **common) for pieces in found]


def read_infill(body: InfillRequest, given: frozenset[str], caller: str) -> Ask:
    """What the client asked for."""
    prefix = _pieces(body.input_prefix)
    if body.prompt:
        prefix = (*prefix, body.prompt)
    extra = tuple((each.filename or "tmp", each.text) for each in body.input_extra or ())
    common = _common(body) | {"form": form_of(body, body), "given": given, "tag": named(body, None, caller)}
    common |= sampled(body) | bounded(body) | reported(body) | adapted(body)
    return Ask(source=Gap(prefix, _pieces(body.input_suffix), extra), **common)


def _common(body: NativeFields) -> dict[str, Any]:
    limit = body.t_max_predict_ms
    return {
        "model": body.model,
        "logprobs": body.n_probs or None,
        "as_drawn": bool(body.post_sampling_probs),
        "keeps_tokens": True,  # they are counted in every piece
        "shown_tokens": tuple(body.preserved_tokens or ()),
        "text_limits": TextLimits(indent=body.n_indent or 0, milliseconds=limit if limit and limit > 0 else None),
    }


def _pieces(text: str | list[str | int]) -> Pieces:
    return (text,) if isinstance(text, str) else joined(text)
