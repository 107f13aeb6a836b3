"""A chat completion request as an `Ask`. Pure: the body was checked, the contract was enforced.

Divergences from OpenAI, Create chat completion:
1. `logprobs: true` without `top_logprobs` gives no alternatives, as at OpenAI (llama-server: 20).
2. `n_probs: k` (llama-server) is `logprobs: true` with `top_logprobs: k`.
3. `max_tokens: -1` is llama-server's "no limit"; `0` asks for no token at all.
4. `seed: -1` is llama-server's "pick one".
5. `logit_bias` is OpenAI's object, or llama-server's array of pairs; a key that is an integer is a
   token id, any other key is text; `false` bans.
6. `handle` may also come as the header X-Halogen-Handle.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from troth._generated.models import ChatCompletionRequest, CreateChatCompletionParameters
from troth.domain import Ask, Role, Tag, Talk, Turn
from troth.errors import BadRequest

LABEL_LENGTH_MAX = 256  # what `DELETE /sessions/{label}` takes
_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
# The wire spells these as `Sampling` does. `dry_sequence_breakers` and `samplers` need reading.
_SAMPLING = (
    "temperature",
    "dynatemp_range",
    "dynatemp_exponent",
    "top_k",
    "top_p",
    "min_p",
    "top_n_sigma",
    "typical_p",
    "xtc_probability",
    "xtc_threshold",
    "repeat_last_n",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "dry_multiplier",
    "dry_base",
    "dry_allowed_length",
    "dry_penalty_last_n",
    "mirostat",
    "mirostat_tau",
    "mirostat_eta",
    "min_keep",
)
# llama-server README, /completion: `samplers` as one string, a letter for each sampler.
_SAMPLER_LETTERS = {
    "e": "penalties",
    "d": "dry",
    "s": "top_n_sigma",
    "k": "top_k",
    "y": "typ_p",
    "p": "top_p",
    "m": "min_p",
    "x": "xtc",
    "t": "temperature",
}


def read(
    body: ChatCompletionRequest,
    given: frozenset[str],
    parameters: CreateChatCompletionParameters | None = None,
    caller: str = "",
) -> Ask:
    """What the client asked for. Raises BadRequest where fields that are fine alone contradict each other."""
    streamed = bool(body.stream)
    return Ask(
        source=Talk(
            tuple(_turn(message) for message in body.messages),
            add_generation_prompt=body.add_generation_prompt is not False,
            template_kwargs=_template_kwargs(body),
        ),
        model=body.model,
        given=given,
        sampling=_sampling(body),
        logit_bias=_logit_bias(body.logit_bias),
        ignore_eos=bool(body.ignore_eos),
        seed=None if body.seed == -1 else body.seed,
        budget_tokens=None if body.max_tokens == -1 else body.max_tokens,
        choices=1 if body.n is None else body.n,
        stop=_stop(body.stop),
        logprobs=_logprobs(body),
        priority=body.priority or 0,
        tag=Tag(_label(body.session_id), _handle(body, parameters), caller, _salt(body.cache_salt)),
        progress=streamed and bool(body.return_progress),
        token_timings=streamed and bool(body.timings_per_token),
    )


def include_usage(body: ChatCompletionRequest) -> bool:
    """True when the stream ends with a usage chunk (`stream_options.include_usage`)."""
    return body.stream_options is not None and bool(body.stream_options.include_usage)


def _label(session_id: Any) -> str | None:  # inert: any JSON is accepted, and a short text is a label
    if isinstance(session_id, str) and 0 < len(session_id) <= LABEL_LENGTH_MAX:
        return session_id
    return None


def _salt(cache_salt: str | None) -> str:
    """A digest: a salt may be a secret, and saved states are named by it on disk."""
    return hashlib.sha256(cache_salt.encode("utf-8", "surrogatepass")).hexdigest()[:32] if cache_salt else ""


def _handle(body: ChatCompletionRequest, parameters: CreateChatCompletionParameters | None) -> str | None:
    """The keep-name, from the body or from the header."""
    named = parameters.X_Halogen_Handle if parameters is not None else None
    if named is not None and body.handle is not None and named != body.handle:
        raise BadRequest(
            f"'handle' is {body.handle!r} and the header X-Halogen-Handle is {named!r}: they are one field, "
            "send one of them.",
            param="handle",
            code="conflicting_values",
        )
    return body.handle or named


def _template_kwargs(body: ChatCompletionRequest) -> dict[str, Any]:
    """The client's template variables. "No thinking", in whatever spelling, is told to the template too."""
    kwargs = dict(body.chat_template_kwargs or {})
    off = (
        body.enable_thinking is False
        or body.reasoning_effort is not None
        or body.thinking is not None
        or bool(body.reasoning)
    )  # the contract let only their neutral values through, and those all mean off
    if off and kwargs.setdefault("enable_thinking", False) is not False:
        raise BadRequest(
            "`chat_template_kwargs.enable_thinking` is true while another field switches thinking off.",
            param="chat_template_kwargs",
            code="conflicting_values",
        )
    return kwargs


def _turn(message: Any) -> Turn:  # one of the generated message models, told apart by `role`
    return Turn(role=_ROLES[message.role], text=_text(message.content), name=message.name)


def _text(content: str | list[Any] | None) -> str:
    """The text of a message; parts stand on lines of their own, as llama-server joins them."""
    if content is None or isinstance(content, str):
        return content or ""
    assert all(part.type == "text" for part in content), "the contract guards every other part"
    return "\n".join(part.text for part in content)


def _sampling(body: ChatCompletionRequest) -> dict[str, Any]:
    chosen = {name: value for name in _SAMPLING if (value := getattr(body, name)) is not None}
    if body.dry_sequence_breakers is not None:
        chosen["dry_sequence_breakers"] = tuple(body.dry_sequence_breakers)
    if body.samplers is not None:
        chosen["samplers"] = _samplers(body.samplers)
    return chosen


def _samplers(order: str | Iterable[str]) -> tuple[str, ...]:
    return tuple(_SAMPLER_LETTERS[letter] for letter in order) if isinstance(order, str) else tuple(order)


def _logit_bias(bias: Any) -> tuple[tuple[int | str, float], ...]:  # an object, pairs, or None
    if not bias:
        return ()
    if isinstance(bias, Mapping):
        return tuple((int(key) if _is_id(key) else key, _strength(value, key)) for key, value in bias.items())
    return tuple((_token(token), _strength(value, token)) for token, value in bias)


def _is_id(key: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,10}", key) is not None


def _token(token: Any) -> int | str:  # the first half of a pair: a string, a number or false
    if isinstance(token, str):
        return token
    if isinstance(token, bool) or token != int(token):
        raise BadRequest("'logit_bias' pairs a token id or a text with a number.", param="logit_bias")
    return int(token)


def _strength(value: Any, token: Any) -> float:  # a number, or false
    if value is False:
        return -math.inf
    if isinstance(value, str):
        raise BadRequest(f"'logit_bias' of {token!r} must be a number to add, or false to ban.", param="logit_bias")
    return float(value)


def _stop(stop: str | Sequence[str] | None) -> tuple[str, ...]:
    if stop is None:
        return ()
    return tuple(text for text in ((stop,) if isinstance(stop, str) else stop) if text)


def _logprobs(body: ChatCompletionRequest) -> int | None:
    """How many alternatives each token carries; None for no logprobs at all."""
    asked, several = body.top_logprobs, body.n_probs or 0
    if several and asked is not None and asked != several:
        raise BadRequest(
            f"'n_probs' is {several} and 'top_logprobs' is {asked}: they are one field, send one of them.",
            param="n_probs",
        )
    if several:
        return several
    if body.logprobs:
        return asked or 0
    if asked:
        raise BadRequest("'top_logprobs' needs 'logprobs' to be true.", param="top_logprobs")
    return None
