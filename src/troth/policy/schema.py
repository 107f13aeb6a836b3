"""Which keywords of JSON Schema hold an answer, which say nothing about it, and which are refused by name.

A keyword is enforced, or it is refused: none is skipped. The table is published in /health. Within an enforced
keyword the compiler may still refuse what it cannot hold, in its own words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from troth.errors import BadRequest
from troth.policy.repetition import expanded_size

ENFORCED = (
    "type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", "$defs", "definitions",
    "properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties",
    "items", "prefixItems", "additionalItems", "minItems", "maxItems",
    "minLength", "maxLength", "pattern", "format",
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
)  # fmt: skip
ANNOTATIONS = (
    "title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly",
    "$schema", "$id", "id", "$comment", "$anchor", "contentEncoding", "contentMediaType", "contentSchema",
)  # fmt: skip
REFUSED = (
    "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies",
    "uniqueItems", "contains", "minContains", "maxContains", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties",
    "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary", "x-guidance",
)  # fmt: skip
NEUTRAL: Mapping[str, tuple[Any, ...]] = {  # values at which a refused keyword says nothing
    "uniqueItems": (False,),
    "unevaluatedItems": (True, {}),
    "unevaluatedProperties": (True, {}),
    "propertyNames": (True, {}),
    "dependentRequired": ({},),
    "dependentSchemas": ({},),
    "dependencies": ({},),
}
VISITS_MAX = 20_000  # of schemas, each as often as it is found deeper
CONSTANT_LENGTH_MAX = 4000  # characters of one text in `const` and `enum`: each token costs as much again
STEP_MAX = 10_000  # of `multipleOf`, zeros left out: so many states are counted
PATTERN_SIZE_MAX = 20_000  # characters, repetitions written out
SCHEMAS = ("additionalProperties", "additionalItems", "items")
LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
TABLES = ("properties", "patternProperties", "$defs", "definitions")


def check(schema: Any, path: str, *, depth_max: int) -> None:
    """Every keyword of the schema, at any depth, is one that is enforced or says nothing.

    Raises: BadRequest with the JSON pointer of the first that is neither.
    """
    _check_reach(schema, path, depth_max)
    for pointer, part in _subschemas(schema, path, depth_max):
        if isinstance(part, bool):
            continue
        if not isinstance(part, Mapping):
            raise BadRequest(
                f"`{path}` is no JSON schema: at `{pointer}` there is neither an object nor true or false.",
                param=path,
                code="invalid_schema",
            )
        _check_patterns(part, path, pointer)
        _check_counts(part, path, pointer)
        _check_sizes(part, path, pointer)
        for keyword in REFUSED:
            if keyword in part and not any(_same(part[keyword], neutral) for neutral in NEUTRAL.get(keyword, ())):
                raise BadRequest(
                    f"`{path}` has the keyword `{keyword}` at `{pointer}/{_escaped(keyword)}`, which cannot be held: "
                    "leave it out. /health lists the keywords that are enforced.",
                    param=path,
                    code="unsupported_schema",
                    details={"keyword": keyword, "pointer": f"{pointer}/{_escaped(keyword)}"},
                )


def without_neutral(schema: Any) -> Any:
    """The schema without refused keywords at values that say nothing, which a compiler may stumble over.

    Only schemas are touched: constants, and properties that are called like a keyword, stay.
    """
    if not isinstance(schema, Mapping):
        return schema
    kept = {
        key: value
        for key, value in schema.items()
        if not (key in NEUTRAL and any(_same(value, neutral) for neutral in NEUTRAL[key]))
    }
    for keyword in SCHEMAS:
        if isinstance(kept.get(keyword), Mapping):
            kept[keyword] = without_neutral(kept[keyword])
    for keyword in LISTS:
        if isinstance(kept.get(keyword), list):
            kept[keyword] = [without_neutral(each) for each in kept[keyword]]
    for keyword in TABLES:
        if isinstance(kept.get(keyword), Mapping):
            kept[keyword] = {name: without_neutral(each) for name, each in kept[keyword].items()}
    return kept


def _check_reach(schema: Any, path: str, depth_max: int) -> None:
    """Raises BadRequest when schemas stand in each other deeper than `depth_max`, references followed.

    A compiler that follows a chain of a thousand references runs out of stack. A reference back to a schema that
    it stands in ends there: recursion is fine.
    """
    visits = 0
    reached: dict[int, int] = {}
    waiting: list[tuple[Any, int, frozenset[int]]] = [(schema, 0, frozenset())]
    while waiting:
        part, depth, above = waiting.pop()
        if not isinstance(part, Mapping) or id(part) in above or reached.get(id(part), -1) >= depth:
            continue
        reached[id(part)] = depth
        visits += 1
        if visits > VISITS_MAX:
            raise BadRequest(f"`{path}` has too many schemas, references followed.", param=path, code="invalid_schema")
        if depth > depth_max:
            raise BadRequest(
                f"`{path}` has schemas that stand in each other {depth} deep, references followed; at most {depth_max} "
                "are compiled (limits.schema_depth_max).",
                param=path,
                code="invalid_schema",
            )
        below = [each for _, each in _below(part)]
        if isinstance(part.get("$ref"), str):
            below.append(_resolved(part["$ref"], schema))
        waiting.extend((each, depth + 1, above | {id(part)}) for each in below)


def _resolved(reference: str, root: Any) -> Any:
    """What a reference inside the schema points at; None for any other."""
    found = root if reference.startswith("#") else None
    for step in reference.removeprefix("#").strip("/").split("/") if len(reference) > 1 else ():
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(name)
        elif isinstance(found, list) and name.isdecimal() and len(name) < 10 and int(name) < len(found):
            found = found[int(name)]
        else:
            return None
    return found


def _subschemas(schema: Any, path: str, depth_max: int) -> Iterator[tuple[str, Any]]:
    """Every schema in the schema, with its JSON pointer."""
    waiting: list[tuple[str, Any, int]] = [("", schema, 0)]
    while waiting:
        pointer, part, depth = waiting.pop()
        if depth > depth_max:
            raise BadRequest(
                f"`{path}` is nested deeper than {depth_max} schemas (limits.schema_depth_max).",
                param=path,
                code="invalid_schema",
            )
        yield pointer, part
        if isinstance(part, Mapping):
            waiting.extend((f"{pointer}/{place}", below, depth + 1) for place, below in _below(part))


def _below(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for keyword in SCHEMAS:
        if keyword in part and not isinstance(part[keyword], list):
            yield keyword, part[keyword]
    for keyword in LISTS:
        if isinstance(part.get(keyword), list):
            yield from ((f"{keyword}/{number}", each) for number, each in enumerate(part[keyword]))
    for keyword in TABLES:
        if isinstance(part.get(keyword), Mapping):
            yield from ((f"{_escaped(keyword)}/{_escaped(name)}", each) for name, each in part[keyword].items())


def _check_sizes(part: Mapping[str, Any], path: str, pointer: str) -> None:
    """Raises BadRequest for constants that are too long to follow, and steps that take too many states to count."""
    if any(length > CONSTANT_LENGTH_MAX for length in _lengths([part.get("const"), part.get("enum")])):
        raise BadRequest(
            f"`{path}` has a constant at `{pointer}` with a text of more than {CONSTANT_LENGTH_MAX} characters.",
            param=path,
            code="invalid_schema",
        )
    step = part.get("multipleOf")
    if isinstance(step, int | float) and not isinstance(step, bool) and not 0 <= _digits(step) <= STEP_MAX:
        raise BadRequest(
            f"`{path}` has `multipleOf` {step} at `{pointer}/multipleOf`; its digits, without zeros at either end, may "
            f"make {STEP_MAX} at most.",
            param=path,
            code="unsupported_schema",
            details={"keyword": "multipleOf", "pointer": f"{pointer}/multipleOf"},
        )


def _lengths(value: Any) -> Iterator[int]:
    """The length of every text in the value."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield len(each)
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, Mapping):
            waiting += [*each, *each.values()]


def _digits(number: float) -> int:
    """The number without its zeros and its point: 0.25 is 25, and so is 2500. -1 for what is no number."""
    if not math.isfinite(number):
        return -1
    return int(repr(number).partition("e")[0].replace(".", "").replace("-", "").strip("0") or "0")


def _check_counts(part: Mapping[str, Any], path: str, pointer: str) -> None:
    """Raises BadRequest for a least number of properties that keys written twice would pass by.

    No grammar can tell whether a key has been there. Listed names come once, and of all others one at least counts.
    """
    least = part.get("minProperties")
    required = part.get("required")
    names = {name for name in required if isinstance(name, str)} if isinstance(required, list) else set()
    if isinstance(least, bool) or not isinstance(least, int | float) or least <= len(names) + 1:
        return
    kinds = part.get("type", "object")
    is_object = kinds == "object" or (isinstance(kinds, list) and "object" in kinds)
    is_open = part.get("additionalProperties") is not False or bool(part.get("patternProperties"))
    if is_object and is_open:
        raise BadRequest(
            f"`{path}` has `minProperties` {least} at `{pointer}/minProperties`, which cannot be held where names are "
            f"free: the same name could come twice. At most {len(names) + 1} can be, one more than are required; or "
            "list all names, and set `additionalProperties` to false.",
            param=path,
            code="unsupported_schema",
            details={"keyword": "minProperties", "pointer": f"{pointer}/minProperties"},
        )


def _check_patterns(part: Mapping[str, Any], path: str, pointer: str) -> None:
    patterns = [part["pattern"]] if isinstance(part.get("pattern"), str) else []
    table = part.get("patternProperties")
    patterns += list(table) if isinstance(table, Mapping) else []
    for pattern in patterns:
        if (size := expanded_size(pattern)) > PATTERN_SIZE_MAX:
            raise BadRequest(
                f"`{path}` has a pattern at `{pointer}` that comes to {size} characters when its repetitions are "
                f"written out; at most {PATTERN_SIZE_MAX} are compiled.",
                param=path,
                code="invalid_schema",
            )


def _same(value: Any, other: Any) -> bool:
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
