"""What a chat template is told: the conversation, the model's own marks, and the client's variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from troth.errors import BadRequest
from troth.prompt.template import TICK, Template

FIELD = "chat_template_kwargs"

# These speak for the server, or for fields of their own.
RESERVED = frozenset(
    {"messages", "tools", "documents", "bos_token", "eos_token", "add_generation_prompt", "continue_final_message"}
    | {"raise_exception", "strftime_now", "self", "super", "caller", "varargs", "kwargs", "loop", TICK}
)


def client_variables(kwargs: Mapping[str, Any], template: Template) -> dict[str, Any]:
    """The client's variables that the template reads; null means absent.

    Raises: BadRequest for a reserved name, and for a variable that the template never looks at, because
    the answer would be the same without it. Thinking switched off is the exception: a template that
    cannot think already does as asked.
    """
    passed = {}
    for name, value in kwargs.items():
        if value is None:
            continue
        if name in RESERVED or name in template.globals:
            raise BadRequest(f"`{FIELD}.{name}` is reserved for the server.", param=f"{FIELD}.{name}")
        if name == "enable_thinking" and not isinstance(value, bool):
            raise BadRequest(f"`{FIELD}.enable_thinking` is true or false.", param=f"{FIELD}.{name}")
        if name in template.variables:
            passed[name] = value
        elif name != "enable_thinking" or value is not False:
            raise BadRequest(_unread(name, template), param=f"{FIELD}.{name}")
    return passed


def _unread(name: str, template: Template) -> str:
    read = sorted(template.variables - RESERVED - template.globals)
    known = f"It reads: {', '.join(read)}." if read else "It reads none."
    return f"`{FIELD}.{name}` would change nothing: this model's chat template does not read it. {known}"
