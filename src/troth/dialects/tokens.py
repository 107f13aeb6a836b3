"""Texts as tokens: llama-server's and vLLM's shapes on one route, and what a chat request would be read as.

Divergences: an answer of /tokenize has the keys of both; llama-server's `add_special` defaults to false, vLLM's
`add_special_tokens` to true, and each governs its own field.
"""

from __future__ import annotations

from typing import Any

from troth._generated.models import (
    ChatCompletionRequest,
    DetokenizeRequest,
    TokenizeRequest,
    TokenizerInfoParameters,
)
from troth.conversation import Conversation
from troth.dialects.chat_request import read, turns_of
from troth.dialects.completion_request import joined
from troth.domain import Ask, Call, RawText, ServedModel, Source, Talk, Whole
from troth.engines.base import Generates, Relays, Vocabulary
from troth.errors import BadRequest, NotImplementedHere, Unsupported

FORMS = ("content", "prompt", "messages")
GOES_WITH = {  # fields that mean something beside these forms only
    "add_special": ("content",),
    "add_special_tokens": ("prompt",),
    "parse_special": ("content", "prompt"),
    "add_generation_prompt": ("messages",),
    "chat_template_kwargs": ("messages",),
}


class Tokens:
    """Answers the routes of tokens. None of them waits for an engine."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def tokenize(self, call: Call) -> Whole:
        """The tokens of a text or a conversation; none of nothing. Raises BadRequest for several forms at once."""
        body: TokenizeRequest = call.body
        source = source_of(body, call.given)
        if source.media:
            path = source.media[0].path
            raise Unsupported(
                f"{path}: in the place of a picture or a sound there are no tokens to show. POST "
                "/v1/chat/completions/input_tokens counts such a conversation.",
                param=path,
            )
        model, engine = await self._conversation.engine(body.model)
        vocabulary = _vocabulary(model, engine) if body.with_pieces or body.return_token_strs else None
        _, written = await self._conversation.written(Ask(source=source, model=body.model), call.account)
        ids = written.tokens.tolist()
        answer: dict[str, Any] = {
            "tokens": ids,
            "count": len(ids),
            "max_model_len": engine.context_tokens,
        }
        if vocabulary is not None and body.with_pieces:
            answer["tokens"] = [{"id": token, "piece": _piece(token, vocabulary)} for token in ids]
        if vocabulary is not None and body.return_token_strs:
            answer["token_strs"] = [vocabulary.piece(token).decode("utf-8", "replace") for token in ids]
        return Whole(answer)

    async def detokenize(self, call: Call) -> Whole:
        """The text of tokens. Raises BadRequest for an id that the vocabulary lacks."""
        body: DetokenizeRequest = call.body
        pieces = (tuple(body.tokens or ()),)
        source = RawText(pieces, "tokens", bos=False)
        _, written = await self._conversation.written(Ask(source=source, model=body.model), call.account)
        return Whole({"content": written.text, "prompt": written.text})

    async def apply_template(self, call: Call) -> Whole:
        """The prompt of a chat request, as text. Raises what the request itself would, but for its length."""
        _, written = await self._conversation.written(self._chat(call), call.account)
        return Whole({"prompt": written.text})

    async def count_chat_tokens(self, call: Call) -> Whole:
        """The prompt's tokens of a chat request. Raises what the request itself would, but for its length."""
        _, written = await self._conversation.written(self._chat(call), call.account)
        return Whole({"object": "response.input_tokens", "input_tokens": len(written.tokens)})

    async def tokenizer_info(self, call: Call) -> Whole:
        """How a model writes text. Raises Unavailable while it loads."""
        parameters: TokenizerInfoParameters = call.parameters
        conversation = self._conversation
        model, engine = await conversation.engine(parameters.model)
        vocabulary = _vocabulary(model, engine)
        script = conversation.prompts.known(model.id)
        return Whole(
            {
                "model": model.id,
                "tokenizer_class": model.engine,
                "vocab_size": vocabulary.size,
                "model_max_length": engine.context_tokens,
                "bos_token": vocabulary.bos_text,
                "eos_token": vocabulary.eos_text,
                "bos_token_id": _id(vocabulary.bos_text, vocabulary),
                "eos_token_id": _id(vocabulary.eos_text, vocabulary),
                "stop_token_ids": sorted(vocabulary.end_ids),
                "add_bos_token": vocabulary.adds_bos,
                "add_eos_token": False,
                "chat_template": vocabulary.chat_template is not None,
                "supports_tools": script is not None,
                "supports_reasoning": script is not None and script.thoughts is not None,
            }
        )

    def _chat(self, call: Call) -> Ask:
        body: ChatCompletionRequest = call.body
        return read(body, call.given, None, call.caller)


def _vocabulary(model: ServedModel, engine: Generates | Relays) -> Vocabulary:
    if isinstance(engine, Relays):
        raise NotImplementedHere(f"The model {model.id} is behind another server, which does not tell its vocabulary.")
    return engine.vocabulary


def source_of(body: TokenizeRequest, given: frozenset[str]) -> Source:
    """The text or the conversation that is asked about. Raises BadRequest for several at once."""
    named = [name for name in FORMS if getattr(body, name) is not None]
    if len(named) > 1:
        raise BadRequest(
            f"`{named[0]}` and `{named[1]}` are two forms of what to tokenise: send one of them.",
            param=named[1],
            code="conflicting_values",
        )
    for field, forms in GOES_WITH.items():
        if field in given and named and named[0] not in forms:
            raise BadRequest(
                f"`{field}` goes with {' or '.join(f'`{form}`' for form in forms)}, not with `{named[0]}`.",
                param=field,
                code="conflicting_values",
            )
    special = body.parse_special is not False
    if body.messages is not None:
        return Talk(
            turns_of(body.messages),
            add_generation_prompt=body.add_generation_prompt is not False,
            template_kwargs=dict(body.chat_template_kwargs or {}),
        )
    if body.prompt is not None:
        return RawText((body.prompt,), bos=body.add_special_tokens is not False, special=special)
    content = body.content or ()
    pieces = (content,) if isinstance(content, str) else joined(list(content))
    return RawText(pieces, "content", bos=bool(body.add_special), special=special)


def _piece(token: int, vocabulary: Vocabulary) -> str | list[int]:
    """The token's text, or its bytes when they are no text by themselves (llama-server, `with_pieces`)."""
    piece = vocabulary.piece(token)
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)


def _id(text: str, vocabulary: Vocabulary) -> int | None:
    tokens = vocabulary.tokenize(text, special=True, bos=False).tolist()
    return tokens[0] if len(tokens) == 1 else None
