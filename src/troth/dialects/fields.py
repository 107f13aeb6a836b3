"""What all requests for text share: sampling, budget, bias, stop texts and the names of a conversation. Pure.

Divergences from OpenAI, which hold on every route:
1. `max_tokens: -1` is llama-server's "no limit"; `0` asks for no token at all.
2. `seed: -1` is llama-server's "pick one".
3. `logit_bias` is OpenAI's object, or llama-server's array of pairs; a key that is an integer is a token id, any
   other key is text; `false` bans.
4. `handle` may also come as the header X-Halogen-Handle.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from troth._generated.models import BookkeepingFields, BudgetFields, ReportingFields, SamplingFields
from troth.domain import Tag
from troth.errors import BadRequest

LABEL_LENGTH_MAX = 256  # what `DELETE /sessions/{label}` takes


class Named(Protocol):
    """Parameters that may carry a keep-name."""

    X_Halogen_Handle: str | None


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
    "i": "infill",
}


def sampled(body: SamplingFields) -> dict[str, Any]:
    """How the next token is drawn: the fields of an `Ask` that `body` sets."""
    return {
        "sampling": _sampling(body),
        "logit_bias": _logit_bias(body.logit_bias),
        "ignore_eos": bool(body.ignore_eos),
        "seed": body.seed,
    }


def bounded(body: BudgetFields) -> dict[str, Any]:
    """When answers end, how many there are, and how soon: the fields of an `Ask` that `body` sets."""
    return {
        "budget_tokens": None if body.max_tokens == -1 else body.max_tokens,
        "choices": 1 if body.n is None else body.n,
        "stop": _stop(body.stop),
        "priority": body.priority or 0,
    }


def adapted(body: BookkeepingFields) -> dict[str, Any]:
    """With what the model is computed: the fields of an `Ask` that `body` sets."""
    loras = None if body.lora is None else tuple((each.id, each.scale) for each in body.lora)
    return {"loras": loras, "control_vector": body.control_vector}


def reported(body: ReportingFields) -> dict[str, Any]:
    """What a stream tells besides the text: the fields of an `Ask` that `body` sets."""
    streamed = bool(body.stream)
    return {
        "progress": streamed and bool(body.return_progress),
        "token_timings": streamed and bool(body.timings_per_token),
    }


def named(body: BookkeepingFields, parameters: Named | None, caller: str) -> Tag:
    """What the conversation is called, and with whom its prompts are shared. Raises BadRequest for two handles."""
    return Tag(_label(body.session_id), _handle(body, parameters), caller, _salt(body.cache_salt))


def include_usage(body: ReportingFields) -> bool:
    """True when the stream ends with a usage chunk (`stream_options.include_usage`)."""
    return body.stream_options is not None and bool(body.stream_options.include_usage)


def needed(value: Any, path: str) -> Any:
    """The value of a field that other fields make required. Raises BadRequest when it is absent."""
    if value is None:
        raise missing(path)
    return value


def missing(path: str) -> BadRequest:
    """What is raised for a field that is not there and should be."""
    return BadRequest(f"{path}: Field required.", param=path, code="missing_required_parameter")


def _label(session_id: Any) -> str | None:  # inert: any JSON is accepted, and a short text is a label
    if isinstance(session_id, str) and 0 < len(session_id) <= LABEL_LENGTH_MAX:
        return session_id
    return None


def _salt(cache_salt: str | None) -> str:
    """A digest: a salt may be a secret, and saved states are named by it on disk."""
    return hashlib.sha256(cache_salt.encode("utf-8", "surrogatepass")).hexdigest()[:32] if cache_salt else ""


def _handle(body: BookkeepingFields, parameters: Named | None) -> str | None:
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


def _sampling(body: SamplingFields) -> dict[str, Any]:
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
