"""Requests for vectors and for relevance, as asks: OpenAI's, vLLM's, Jina's, Cohere's and llama-server's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from troth._generated.models import EmbeddingRequest, RerankRequest
from troth.domain.vectors import EmbedAsk, Item, RerankAsk
from troth.errors import BadRequest

NORMS = {True: 2, False: -1}
TEXT = "text"
MEDIA = ("image", "images", "image_url", "audio", "video", "video_url")


def embed_ask(body: EmbeddingRequest, given: frozenset[str]) -> EmbedAsk:
    """The request as an ask. Raises BadRequest for ids and texts in one list, and for two scalings."""
    if body.normalize is not None and body.embd_normalize is not None:
        raise BadRequest(
            "`normalize` and `embd_normalize` are two ways to say how vectors are scaled: send one of them.",
            param="embd_normalize",
            code="conflicting_values",
        )
    norm = body.embd_normalize if body.normalize is None else NORMS[body.normalize]
    items, is_list = _items(body.input)
    return EmbedAsk(
        items=items,
        is_list=is_list,
        model=body.model,
        given=given,
        prompt_name=body.prompt_name,
        dimensions=body.dimensions,
        norm=norm,
        truncate=_truncates(body.truncate),
    )


def rerank_ask(body: RerankRequest, given: frozenset[str]) -> RerankAsk:
    """The request as an ask. Raises BadRequest for no list of documents or two, and for a document without its text."""
    if body.documents is not None and body.texts is not None:
        raise BadRequest(
            "`documents` and `texts` are two names of the list: send one of them.",
            param="texts",
            code="conflicting_values",
        )
    if body.documents is None and body.texts is None:
        raise BadRequest(
            "`documents` is required: the texts to compare with the query.",
            param="documents",
            code="missing_required_parameter",
        )
    field = "documents" if body.texts is None else "texts"
    documents: Sequence[str | Mapping[str, Any]] = body.documents if body.texts is None else body.texts  # type: ignore[assignment]  # one of them is there
    names = tuple(body.rank_fields or (TEXT,))
    return RerankAsk(
        query=_text(body.query, "query", (TEXT,)),
        documents=tuple(_text(each, f"{field}.{index}", names) for index, each in enumerate(documents)),
        field=field,
        model=body.model,
        given=given,
        truncate=_truncates(body.truncate),
    )


def _items(sent: str | Sequence[str | int | Sequence[int]]) -> tuple[tuple[Item, ...], bool]:
    """The items, and whether they were a list of items."""
    if isinstance(sent, str):
        return (sent,), False
    ids = [item for item in sent if isinstance(item, int)]
    if not ids:
        return tuple(item if isinstance(item, str) else tuple(item) for item in sent), True  # type: ignore[arg-type]
    if len(ids) < len(sent):
        index = next(index for index, item in enumerate(sent) if not isinstance(item, int))
        raise BadRequest(
            f"input.{index} is no token id, and the list has token ids: send one list of ids, or a list of items, "
            "each a text or a list of ids.",
            param=f"input.{index}",
        )
    return (tuple(ids),), False


def _text(document: str | Mapping[str, Any], name: str, fields: Sequence[str]) -> str:
    """The text of a document; of an object, its fields, each on a line of its own."""
    if isinstance(document, str):
        return document
    if (shown := next((key for key in MEDIA if document.get(key) is not None), None)) is not None:
        raise BadRequest(
            f"{name}.{shown}: pictures, sounds and films are not read; send texts.", param=f"{name}.{shown}"
        )
    parts = []
    for field in fields:
        part = document.get(field)
        if not isinstance(part, str):
            problem = "is missing" if part is None else "is no text"
            raise BadRequest(f"{name}.{field} {problem}: an object has its text there.", param=f"{name}.{field}")
        parts.append(part)
    return "\n".join(parts)


def _truncates(truncate: bool | str | None) -> bool:
    return truncate is True or truncate == "END"
