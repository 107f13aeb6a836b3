"""A completion request as one `Ask` a prompt. Pure: the body was checked, the contract was enforced.

Divergences from OpenAI, Create completion:
1. `prompt` may mix texts and ids, and may be llama-server's object; there is no default prompt.
2. `logprobs` goes to 20. It is not told of the prompt, so it does not go with `echo`.
3. Those of all routes: see `fields.py`.
"""

from __future__ import annotations

from typing import Any

from troth._generated.models import CompletionRequest, CreateCompletionParameters
from troth.dialects.fields import adapted, bounded, named, reported, sampled
from troth.dialects.forms import form_of
from troth.dialects.parts import pieces_with_media
from troth.domain import Ask, Pieces, RawText
from troth.errors import BadRequest


def read(
    body: CompletionRequest,
    given: frozenset[str],
    parameters: CreateCompletionParameters | None,
    caller: str,
    prompts_max: int,
) -> list[Ask]:
    """What the client asked for, prompt by prompt. Raises BadRequest for contradictions and for too many prompts."""
    if body.echo and body.logprobs is not None:
        raise BadRequest(
            "`echo` and `logprobs` do not go together: log probabilities of a prompt are not computed.",
            param="echo",
            code="conflicting_values",
        )
    common: dict[str, Any] = {
        "model": body.model,
        "given": given,
        "form": form_of(body, body),
        "logprobs": body.logprobs,
        "as_drawn": bool(body.post_sampling_probs),
        "shown_tokens": tuple(body.preserved_tokens or ()),
        "tag": named(body, parameters, caller),
        **sampled(body),
        **bounded(body),
        **reported(body),
        **adapted(body),
    }
    found = prompts(body.prompt)
    if len(found) > prompts_max:
        raise BadRequest(
            f"`prompt` has {len(found)} prompts; this server takes at most {prompts_max} in one request.",
            param="prompt",
        )
    return [Ask(source=RawText(pieces), **common) for pieces in found]


def prompts(prompt: Any) -> list[Pieces]:
    """The prompts of a request: a list with at least one id in it is one prompt, any other list is several."""
    if not isinstance(prompt, list):
        return [_pieces(prompt, "prompt")]
    if any(isinstance(item, int) for item in prompt):
        wrong = next((item for item in prompt if not isinstance(item, int | str)), None)
        if wrong is not None:
            raise BadRequest("`prompt` mixes token ids with lists or objects: send texts and ids.", param="prompt")
        return [joined(prompt)]
    return [_pieces(item, f"prompt.{number}") for number, item in enumerate(prompt)]


def _pieces(item: Any, path: str) -> Pieces:  # a text, a list of texts and ids, or llama-server's object
    if isinstance(item, str):
        return (item,)
    if isinstance(item, list):
        return joined(item)
    return pieces_with_media(item.prompt_string, item.multimodal_data or [], path)


def joined(items: list[str | int]) -> Pieces:
    """Texts and ids in order, neighbouring ids together."""
    pieces: list[str | tuple[int, ...]] = []
    ids: list[int] = []
    for item in items:
        if isinstance(item, str):
            if ids:
                pieces.append(tuple(ids))
                ids = []
            pieces.append(item)
        else:
            ids.append(item)
    if ids:
        pieces.append(tuple(ids))
    return tuple(pieces)
