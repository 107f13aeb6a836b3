"""What turns conversations into tokens for one loaded model: its chat template, and what that template can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from troth.engines.base import Vocabulary
from troth.errors import BadRequest
from troth.formats.base import CallFormat
from troth.formats.registry import FORMATS, GENERIC, detect
from troth.formats.thoughts import ThoughtSyntax, thought_syntax
from troth.prompt.quotation import Quotation
from troth.prompt.template import Template

PROBE = "probe_of_a_function"
_CALL = {"id": "call_0", "type": "function", "function": {"name": PROBE, "arguments": {"city": "x"}}}
_TOOL = {
    "type": "function",
    "function": {
        "name": PROBE,
        "description": "Does nothing.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "A city."}}},
    },
}
_USER = {"role": "user", "content": "question"}


@dataclass(frozen=True, slots=True)
class Script:
    """The template of a model, and how the model writes thoughts and calls.

    Without `is_native` the template cannot show tools, calls and results: the prompt room writes them as text.
    """

    template: Template
    quotation: Quotation
    control_texts: tuple[str, ...]
    thoughts: ThoughtSyntax | None
    calls: CallFormat
    is_native: bool
    takes_text_arguments: bool  # arguments are shown only as text
    takes_parts: bool = False  # what is said is shown only as a list of parts


def make_script(template: Template, vocabulary: Vocabulary, format_name: str | None = None) -> Script:
    """The script of a template. It is rendered a few times, with conversations that have calls in them."""
    controls = vocabulary.control_texts
    name = format_name or detect(template.source)
    shows, as_text = _shows_calls(template, vocabulary) if name is not None else (False, False)
    return Script(
        template=template,
        quotation=Quotation(controls),
        control_texts=controls,
        thoughts=thought_syntax(template.source),
        calls=FORMATS[name] if shows and name is not None else FORMATS[GENERIC],
        is_native=shows,
        takes_text_arguments=as_text,
        takes_parts=_takes_parts(template, vocabulary),
    )


def _takes_parts(template: Template, vocabulary: Vocabulary) -> bool:
    """Whether what is said appears as a list of parts, and not as text: templates of models that see may want that."""
    if PROBE in _rendered(template, vocabulary, [{"role": "user", "content": PROBE}], []):
        return False
    parts = [{"type": "text", "text": PROBE}]
    return PROBE in _rendered(template, vocabulary, [{"role": "user", "content": parts}], [])


def _shows_calls(template: Template, vocabulary: Vocabulary) -> tuple[bool, bool]:
    """Whether tools, calls and results all appear in the rendered text, and whether arguments must be text."""
    if "tools" not in template.variables or PROBE not in _rendered(template, vocabulary, [_USER], [_TOOL]):
        return False, False
    for arguments in ({"city": "x"}, '{"city": "x"}'):
        call = _CALL | {"function": {"name": PROBE, "arguments": arguments}}
        turns: list[dict[str, Any]] = [
            _USER,
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": "the_result", "tool_call_id": "call_0", "name": PROBE},
        ]
        text = _rendered(template, vocabulary, turns, [])
        if PROBE in text and "city" in text and "the_result" in text:
            return True, isinstance(arguments, str)
    return False, False


def _rendered(
    template: Template, vocabulary: Vocabulary, messages: list[dict[str, Any]], tools: list[Mapping[str, Any]]
) -> str:
    variables: dict[str, Any] = {
        "messages": messages,
        "add_generation_prompt": True,
        "bos_token": vocabulary.bos_text,
        "eos_token": vocabulary.eos_text,
    }
    try:
        return template.render(variables | ({"tools": tools} if tools else {}))
    except BadRequest:
        return ""
