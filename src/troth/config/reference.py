"""`python -m troth.config.reference` writes the text of config/reference.yaml: every key, once, explained.

The text is a configuration in its own right: loaded, it equals the defaults.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from troth.config.models import ModelSettings, SamplingSettings, default_model
from troth.config.schema import Config
from troth.config.words import Shape
from troth.domain import Sampling

_HEAD = """\
# Every setting of Troth with its default. Generated: python -m troth.config.reference > config/reference.yaml
#
# Precedence: default < file < --set key.path=value < --host and --port.
# Any text may hold ${env:NAME}; an unset variable is a fault. A literal ${ is written $${.
# All faults are reported at once: troth check FILE. What is in force, and why: troth show-config.
"""
_WIDTH = 110


def render(engines: Mapping[str, type[BaseModel]]) -> str:
    """The whole reference, with the options of `engines` by name."""
    shape = Shape.of(Config)
    lines = [_HEAD]
    for name, info in Config.model_fields.items():
        if name == "models":
            lines += ["# The models that are served.", "models:", *_model(shape.at(("models", 0)), engines)]
        else:
            section = info.default
            lines += [*_comment(type(section).__doc__ or "", ""), f"{name}:"]
            lines += _section(section, shape.child(name), indent="  ")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _section(section: BaseModel, shape: Shape, *, indent: str) -> Iterator[str]:
    built_in = {field.name: field.default for field in dataclasses.fields(Sampling)}
    for name in type(section).model_fields:
        at = shape.child(name)
        known = _yaml(built_in[name]) if isinstance(section, SamplingSettings) and name in built_in else None
        yield from _comment(_help(at, known), indent)
        yield f"{indent}{name}: {_yaml(getattr(section, name))}"


def _model(shape: Shape, engines: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    model = default_model()
    lead = "  - "
    for name in ModelSettings.model_fields:
        if name == "sampling":
            yield from _comment("This model's sampling defaults: the keys of the section sampling below.", "    ")
            yield "    sampling: {}"
            continue
        if name == "options":
            yield from _options(engines)
            continue
        yield from _comment(_help(shape.child(name), None), "    ")
        yield f"{lead}{name}: {_yaml(getattr(model, name))}"
        lead = "    "


def _options(engines: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    yield "    # The engine's own options."
    yield "    options: {}"
    for name, options in engines.items():
        shape = Shape.of(options)
        yield f"    # options of engine {name}:"
        for option, info in options.model_fields.items():
            yield from _comment(_help(shape.child(option), None), "    #   ")
            if info.is_required():
                yield f"    #   {option}:  (required)"
            else:
                yield f"    #   {option}: {_yaml(info.get_default(call_default_factory=True))}"


def _help(at: Shape, built_in: str | None) -> str:
    description = at.node.get("description", "")
    unit = at.node.get("unit")
    facts = [at.words, *([f"unit: {unit}"] if unit else []), *([f"built in: {built_in}"] if built_in else [])]
    return f"{description} [{'; '.join(facts)}]"


def _comment(text: str, indent: str) -> Iterator[str]:
    lead = indent if indent.rstrip().endswith("#") else f"{indent}# "
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    for paragraph in paragraphs:
        yield from textwrap.wrap(paragraph, _WIDTH, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False)


def _yaml(value: Any) -> str:
    """JSON is YAML; words that YAML reads as text stay bare."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    if isinstance(value, str) and value.isidentifier() and value not in ("true", "false", "null", "on", "off", "yes"):
        return value
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    """The reference, with the options of every registered engine, is on standard output."""
    from troth.engines import registry  # here, not above: only this command needs the engines' options

    sys.stdout.write(render(registry.described()))


if __name__ == "__main__":
    main()
