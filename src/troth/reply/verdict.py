"""Does the finished text keep the form that was asked for? Judged once more, by another than the one who held it.

A grammar holds every token; what no grammar can say, such as which months have a 31st, is seen only here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from decimal import Decimal
from typing import Any

import jsonschema
from jsonschema.validators import validator_for

from troth.domain import Ended, Event, Form, Said
from troth.errors import EngineFault, UpstreamFault

# Expressions of a client are never run by a backtracking engine, and references to shared parts are not followed:
# either can make a small schema work for hours. Of such schemas only the grammar is the judge.
UNJUDGED = ("pattern", "patternProperties", "$ref")
DIGITS_MAX = 400  # of a whole number that is written with an exponent
FORMATS = jsonschema.FormatChecker(formats=("date",))  # the one that grammars cannot hold and this judge knows well


async def judged(events: AsyncIterator[Event], form: Form, *, is_relayed: bool = False) -> AsyncIterator[Event]:
    """The events. Raises EngineFault in place of the end of an answer that is complete and has another form, or
    UpstreamFault where another server gave it."""
    texts: dict[int, list[str]] = {}
    async for event in events:
        if isinstance(event, Said):
            texts.setdefault(event.choice, []).append(event.text)
        elif isinstance(event, Ended) and event.finish == "stop" and event.stop_text is None:
            text = "".join(texts.get(event.choice, ()))
            if (fault := await asyncio.to_thread(fault_of, text, form)) is not None:
                words = f"The answer does not have the form that was asked for: {fault}."
                raise UpstreamFault(words, code="upstream_broken") if is_relayed else EngineFault(words)
        yield event


def fault_of(text: str, form: Form, *, strict: bool = False) -> str | None:
    """What is wrong with a text that should have this form; None when nothing is, or when it cannot be judged.

    `strict`: what cannot be judged is wrong too, for texts that no grammar has held.
    """
    if form.kind not in ("json_object", "json_schema"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "it is no JSON"
    if form.kind == "json_object":
        return None if isinstance(value, dict) else "it is no object"
    if isinstance(form.body, Mapping) and _uses(form.body, UNJUDGED):
        return f"{', '.join(UNJUDGED)} are not followed here" if strict else None
    validator = validator_for(form.body, default=jsonschema.Draft202012Validator)
    try:
        checker = validator(_exact(json.dumps(form.body)), format_checker=FORMATS)
        error = jsonschema.exceptions.best_match(checker.iter_errors(_exact(text)))
    except Exception:  # the library's boundary: a schema that is none makes it fail in any way
        # Not strict: a schema that a grammar could be made of, and that this judge does not understand.
        return "its schema is none that can be followed" if strict else None
    return None if error is None else f"{error.json_path}: {error.validator}"


def _exact(text: str) -> Any:
    """The JSON value, with its decimals as they are written: in binary, 0.15 is no multiple of 0.05."""
    return json.loads(text, parse_float=_number)


def _number(digits: str) -> int | Decimal:
    """The number; without a point where it has no fraction, as JSON Schema has it."""
    number = Decimal(digits)
    return int(number) if number.adjusted() < DIGITS_MAX and number == number.to_integral_value() else number


def _uses(schema: Any, keywords: tuple[str, ...]) -> bool:
    if isinstance(schema, Mapping):
        return any(key in keywords or _uses(value, keywords) for key, value in schema.items())
    return isinstance(schema, list) and any(_uses(each, keywords) for each in schema)
