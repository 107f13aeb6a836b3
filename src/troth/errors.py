"""The refusals: everything a room may raise at the person who asked.

    Refusal                       status  type                    code
    ├── BadRequest                400     invalid_request_error   invalid_value …
    │   ├── Unsupported           400                             unsupported_value (a guarded field)
    │   ├── OverContext           400                             context_length_exceeded
    │   └── ItemTooLong           400                             context_length_exceeded
    ├── Unauthorized              401     authentication_error    invalid_api_key
    ├── NotFound                  404     not_found_error         not_found, model_not_found
    ├── MethodNotAllowed          405     invalid_request_error   method_not_allowed
    ├── Conflict                  409     conflict_error          illegal_transition, slot_pinned
    ├── BodyTooLarge              413     invalid_request_error   body_too_large
    ├── UnsupportedMedia          415     invalid_request_error   unsupported_media_type
    ├── Unprocessable             422     invalid_request_error   invalid_question
    ├── QueueFull                 429     rate_limit_error        queue_full         Retry-After
    ├── ClientGone                499     (log and metric only: nobody is there to read it)
    ├── EngineFault               500     server_error            engine_error
    ├── LoadFailed                502     server_error            load_failed
    ├── NotImplementedHere        501     not_supported_error     not_supported
    ├── UpstreamFault             502     upstream_error          upstream_unavailable, upstream_broken
    │   ├── UpstreamRefusal       502                             upstream_refused (or the upstream's own status)
    │   └── UpstreamStalled       504                             upstream_stalled
    └── Unavailable               503     unavailable_error       model_loading …    Retry-After
        └── QueueTimeout          503                             queue_timeout

A refusal is the caller's to read: what was wrong, which field, what would be accepted. An assertion
is ours. Only the edge turns a refusal into a status and a body, in the dialect of the path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

OPERATORS = (401, 403, 404, 407)  # statuses of an upstream that are about its key and its address: not the caller's


class Refusal(Exception):
    """A request that gets no answer, with the reason in words for whoever sent it."""

    status: int = 500
    type: ClassVar[str] = "server_error"
    code: str = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code or type(self).code
        self.details = dict(details or {})
        self.headers = dict(headers or {})

    @property
    def facts(self) -> dict[str, Any]:
        """What an error body says besides message, type, param and code."""
        return {"details": self.details} if self.details else {}


class BadRequest(Refusal):
    """The request says something that cannot be served as said."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_value"


class Unsupported(BadRequest):
    """A known field was set to something other than the value that asks for nothing."""

    code = "unsupported_value"


class OverContext(BadRequest):
    """The prompt alone fills the context, so no token could be generated."""

    code = "context_length_exceeded"

    def __init__(self, prompt_tokens: int, context_tokens: int) -> None:
        surplus = prompt_tokens - context_tokens + 1
        super().__init__(
            f"prompt is too long: {prompt_tokens} tokens > {context_tokens - 1} maximum. The context holds "
            f"{context_tokens} tokens and the answer needs at least one: shorten the prompt by {surplus} tokens.",
            param="messages",
            details={"n_prompt_tokens": prompt_tokens, "n_ctx": context_tokens, "n_surplus_tokens": surplus},
        )

    @property
    def facts(self) -> dict[str, Any]:
        """The counts, beside the message in every dialect: llama-server's clients read them there."""
        return self.details


class ItemTooLong(BadRequest):
    """One item of a request is longer than the model reads; `cure` says what would help."""

    code = "context_length_exceeded"

    def __init__(self, name: str, tokens: int, tokens_max: int, cure: str) -> None:
        surplus = tokens - tokens_max
        super().__init__(
            f"{name} is too long: {tokens} tokens, {surplus} more than the {tokens_max} that this model reads. {cure}",
            param=name,
            details={"n_prompt_tokens": tokens, "n_ctx": tokens_max, "n_surplus_tokens": surplus},
        )

    @property
    def facts(self) -> dict[str, Any]:
        """The counts, beside the message as those of a prompt that is too long."""
        return self.details


class Unauthorized(Refusal):
    """A key is configured and the request carried none that matches."""

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"WWW-Authenticate": "Bearer"})


class NotFound(Refusal):
    """No such path, model or thing."""

    status = 404
    type = "not_found_error"
    code = "not_found"


class MethodNotAllowed(Refusal):
    """The path exists, with other methods; they are in the Allow header."""

    status = 405
    type = "invalid_request_error"
    code = "method_not_allowed"


class Conflict(Refusal):
    """What is asked goes against the state that the thing is in."""

    status = 409
    type = "conflict_error"
    code = "illegal_transition"


class BodyTooLarge(Refusal):
    """The body is larger than `server.body_bytes_max`; the rest of it was not read."""

    status = 413
    type = "invalid_request_error"
    code = "body_too_large"


class UnsupportedMedia(Refusal):
    """The body is in a form that this route does not read."""

    status = 415
    type = "invalid_request_error"
    code = "unsupported_media_type"


class Unprocessable(Refusal):
    """A question that cannot be answered as it was asked (System One, `/v1/systemone`)."""

    status = 422
    type = "invalid_request_error"
    code = "invalid_question"


class QueueFull(Refusal):
    """The line of the engine is full; nothing was queued."""

    status = 429
    type = "rate_limit_error"
    code = "queue_full"

    def __init__(self, waiting: int, retry_seconds: int) -> None:
        super().__init__(
            f"The queue is full: {waiting} requests are waiting. Try again in {retry_seconds} s.",
            headers={"Retry-After": str(retry_seconds)},
        )


class ClientGone(Refusal):
    """The client hung up; its work was cancelled."""

    status = 499
    type = "client_closed_request"
    code = "client_closed_request"


class EngineFault(Refusal):
    """The engine failed while working on this request."""

    code = "engine_error"


class LoadFailed(Refusal):
    """A model that was to answer this request could not be loaded."""

    status = 502
    code = "load_failed"


class NotImplementedHere(Refusal):
    """The server, or the model that was asked, lacks the capability."""

    status = 501
    type = "not_supported_error"
    code = "not_supported"


class UpstreamFault(Refusal):
    """The server behind this one cannot be reached, or what it sent is no answer."""

    status = 502
    type = "upstream_error"
    code = "upstream_unavailable"


class UpstreamRefusal(UpstreamFault):
    """The server behind this one refused: the words are its own, and so is the status unless it is about its key."""

    code = "upstream_refused"

    def __init__(self, message: str, *, status: int, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message, details={"upstream_status": status}, headers=headers)
        if 400 <= status < 600 and status not in OPERATORS:
            self.status = status


class UpstreamStalled(UpstreamFault):
    """The server behind this one went silent, or took longer than the operator allows."""

    status = 504
    code = "upstream_stalled"

    def __init__(self, reason: Literal["idle", "total", "read"], elapsed_seconds: float, upstream: str) -> None:
        words = {
            "idle": "was silent for too long",
            "total": "took longer than an answer may take",
            "read": "did not begin to answer",
        }[reason]
        elapsed = round(elapsed_seconds, 3)
        super().__init__(
            f"The upstream {upstream} {words}: the answer was cut after {elapsed:.1f} s.",
            details={"reason": reason, "elapsed_s": elapsed, "upstream": upstream},
        )


class Unavailable(Refusal):
    """The server cannot answer now and says when to come back."""

    status = 503
    type = "unavailable_error"
    code = "model_loading"

    def __init__(
        self,
        message: str,
        *,
        retry_seconds: int,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message, code=code, details=details, headers={"Retry-After": str(retry_seconds)})


class QueueTimeout(Unavailable):
    """The request waited longer than `limits.queue_seconds_max` and was taken out of the line."""

    code = "queue_timeout"
