"""Whether a request for vectors or for relevance is served as it was sent: pure checks, each refusal with its cure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from troth.domain import ServedModel
from troth.domain.vectors import EmbedAsk, Item, RerankAsk
from troth.errors import BadRequest

ID_BYTES = 4  # what a token id counts as
LENGTH_NORM = 2  # scaled to length 1
NO_NORM = -1


@dataclass(frozen=True, slots=True)
class VectorLimits:
    """The bounds of one request; the config's section `limits`, `vector_` left out."""

    items_max: int = 2048
    bytes_max: int = 8388608


def checked_items(ask: EmbedAsk, model: ServedModel, limits: VectorLimits) -> tuple[Item, ...]:
    """The items with the prompt that was named in front of them.

    Raises BadRequest for no items, an empty one, too much of them, or a prompt that the model does not have.
    """
    if not ask.items:
        raise BadRequest("`input` is an empty list: send at least one item.", param="input")
    for index, item in enumerate(ask.items):
        if not item:
            name = f"input.{index}" if ask.is_list else "input"
            kind = "text" if isinstance(item, str) else "list of token ids"
            raise BadRequest(f"{name} is an empty {kind}: there is nothing to embed.", param=name)
    _bound("input", "items", ask.items, limits)
    if ask.prompt_name is None:
        return ask.items
    prompt = _prompt(ask.prompt_name, model)
    if not all(isinstance(item, str) for item in ask.items):
        raise BadRequest(
            "`prompt_name` goes with texts: token ids are taken as they are.",
            param="prompt_name",
            code="conflicting_values",
        )
    return tuple(prompt + item for item in ask.items if isinstance(item, str))


def checked_documents(ask: RerankAsk, limits: VectorLimits) -> RerankAsk:
    """The ask itself. Raises BadRequest for an empty query, no documents, an empty one, or too much of them."""
    if not ask.query:
        raise BadRequest("`query` is empty: there is nothing to compare the documents with.", param="query")
    if not ask.documents:
        raise BadRequest(f"`{ask.field}` is an empty list: send at least one.", param=ask.field)
    for index, document in enumerate(ask.documents):
        if not document:
            name = f"{ask.field}.{index}"
            raise BadRequest(f"{name} is empty: there is nothing to read.", param=name)
    _bound("query", "query", (ask.query,), limits)
    _bound(ask.field, "documents", ask.documents, limits)
    return ask


def settled_norm(ask: EmbedAsk, dimensions: int, *, normalizes: bool) -> EmbedAsk:
    """The ask with its norm decided, for a model of `dimensions` numbers that `normalizes` or not.

    Raises BadRequest for more dimensions than there are, or for a scaling that does not go with fewer.
    """
    if ask.dimensions is None:
        return ask if ask.norm is not None else replace(ask, norm=LENGTH_NORM if normalizes else NO_NORM)
    if ask.dimensions > dimensions:
        raise BadRequest(
            f"`dimensions` is {ask.dimensions}; this model has {dimensions}, and any number from 1 to that is served.",
            param="dimensions",
            details={"limit": dimensions},
        )
    if ask.norm not in (None, LENGTH_NORM):
        raise BadRequest(
            "`dimensions` gives vectors of length 1; leave out the other scaling.",
            param="dimensions",
            code="conflicting_values",
        )
    return replace(ask, norm=LENGTH_NORM)


def _prompt(name: str, model: ServedModel) -> str:
    if name in model.prompts:
        return model.prompts[name]
    known = ", ".join(model.prompts) or "none: the operator names them in `models[].prompts`"
    raise BadRequest(f"The model {model.id} has no prompt {name!r}. It has: {known}.", param="prompt_name")


def _bound(field: str, unit: str, items: Sequence[Item], limits: VectorLimits) -> None:
    size = sum(
        len(item.encode("utf-8", "surrogatepass")) if isinstance(item, str) else ID_BYTES * len(item) for item in items
    )
    for what, count, limit, key in (
        (unit, len(items), limits.items_max, "vector_items_max"),
        ("bytes", size, limits.bytes_max, "vector_bytes_max"),
    ):
        if count > limit:
            raise BadRequest(
                f"`{field}` has {count} {what}; at most {limit} are served in one request (limits.{key}).",
                param=field,
                details={"limit": limit},
            )
