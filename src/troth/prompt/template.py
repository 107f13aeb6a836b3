"""A model's chat template: compiled once, run in a sandbox, bounded in time and in size.

The template comes with the model file, so it is code from a stranger. It sees the variables handed to it
and nothing else, and what it raises is words for the client: templates refuse conversations that their
model was not trained on.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedEnvironment

from troth.errors import BadRequest, NotImplementedHere

TICK = "troth_tick"
POWER_BITS_MAX = 1024
DATES = {"date_string": "%d %b %Y", "datetime": "%b %d %Y"}  # Llama 3's and Firefunction's, as llama-server fills them

# What Python code raises when a template treats a value as something that it is not.
VALUE_ERRORS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True)
class TemplateLimits:
    """How long one rendering may take and how much text it may write."""

    output_bytes_max: int = 67108864
    seconds_max: float = 10.0


class Template:
    """One compiled chat template. Immutable; may be rendered on several threads at once."""

    def __init__(self, source: str, limits: TemplateLimits, now: Callable[[], datetime] = datetime.now) -> None:
        """Raises NotImplementedHere when the source is no valid template."""
        self.source = source
        self.sha256 = hashlib.sha256(source.encode()).hexdigest()
        self._limits = limits
        environment = Sandbox(limits.output_bytes_max, now)
        try:
            tree = environment.parse(source)
            self.variables = frozenset(meta.find_undeclared_variables(tree))
            _tick_in_every_loop(tree)
            tree.set_environment(environment)
            self._compiled = environment.from_string(tree)
        except (TemplateSyntaxError, SyntaxError, RecursionError) as fault:
            raise NotImplementedHere(
                f"The model's chat template does not compile ({fault}). Use /v1/completions instead."
            ) from fault
        self.globals = frozenset(environment.globals)
        self._now = now

    def render(self, variables: Mapping[str, Any]) -> str:
        """The text that the template writes. Runs until done, so call it off the event loop.

        Raises: BadRequest with the template's own words, or when it takes too long or writes too much.
        """
        deadline = time.monotonic() + self._limits.seconds_max

        def tick() -> str:
            if time.monotonic() > deadline:
                raise SecurityError(f"it runs longer than {self._limits.seconds_max} s")
            return ""

        chunks, room = [], self._limits.output_bytes_max
        try:
            for chunk in self._compiled.generate({**self._today(), **variables, TICK: tick}):
                tick()
                room -= len(chunk.encode())
                if room < 0:
                    raise SecurityError(
                        f"it writes more than {self._limits.output_bytes_max} bytes (limits.template_output_bytes_max)"
                    )
                chunks.append(chunk)
        except UnicodeEncodeError as fault:
            raise BadRequest("A message holds half of a surrogate pair, which is no text.", param="messages") from fault
        except SecurityError as fault:
            raise BadRequest(f"The chat template was stopped: {fault}", param="messages") from fault
        except TemplateError as fault:
            raise BadRequest(f"The chat template refuses this conversation: {fault}", param="messages") from fault
        except VALUE_ERRORS as fault:
            raise BadRequest(f"The chat template fails on this conversation: {fault}", param="messages") from fault
        return "".join(chunks)

    def _today(self) -> dict[str, str]:
        """The date in the variables that the template reads it from; without them it writes a day of its training."""
        now = self._now()
        return {name: now.strftime(form) for name, form in DATES.items() if name in self.variables}


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja as Hugging Face configures it for chat templates, which is what template authors test against."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self, size_max: int, now: Callable[[], datetime]) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", Generation])
        self._size_max = size_max
        self.filters["tojson"] = to_json
        self.globals["raise_exception"] = raise_exception
        self.globals["strftime_now"] = lambda form: now().strftime(form)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """As the immutable sandbox, but lists may be appended to: templates gather results in them.

        No list outlives a rendering: everything handed in was made for it.
        """
        if attr == "append" and type(obj) is list:
            return SandboxedEnvironment.is_safe_attribute(self, obj, attr, value)
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """The product or power, unless it would be larger than any rendering may be."""
        whole = isinstance(left, int) and isinstance(right, int)
        if operator == "**" and whole and left.bit_length() * abs(right) > POWER_BITS_MAX:
            raise SecurityError(f"it computes a power of more than {POWER_BITS_MAX} bits")
        for many, times in ((left, right), (right, left)):
            if isinstance(many, str | list | tuple) and isinstance(times, int) and len(many) * times > self._size_max:
                raise SecurityError(f"it repeats a value to more than {self._size_max} entries")
        return super().call_binop(context, operator, left, right)


class Generation(Extension):
    """`{% generation %}…{% endgeneration %}` says nothing: it marks training targets and is read through."""

    tags = {"generation"}  # noqa: RUF012 (jinja2 declares it so)

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The statements between the two tags."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON text as Hugging Face's `tojson` writes it: no HTML escapes, letters as they are."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message: str) -> None:
    """Called by templates to refuse a conversation."""
    raise TemplateError(message)


def _tick_in_every_loop(tree: nodes.Template) -> None:
    """Loops and macros look at the clock on each pass: a loop that writes nothing would never be stopped."""
    for node in tree.find_all((nodes.For, nodes.Macro)):
        call = nodes.Call(nodes.Name(TICK, "load"), [], [], None, None)
        node.body.insert(0, nodes.Output([call]).set_lineno(node.lineno))  # type: ignore[attr-defined]
