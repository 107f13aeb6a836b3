"""Forms that are small to write and dear to hold: each is refused or served in its time, and /health answers on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.support.live import LiveServer

CHAT = "/v1/chat/completions"
ANSWER_SECONDS = 20.0  # of one request; on an idle machine none takes more than two
HEALTH_SECONDS = 3.0  # of one look at /health; on an idle machine none takes more than a tenth
REPLY_BYTES_MAX = 4096
Body = dict[str, Any]


def nested(schema: Body, times: int, **around: Any) -> Body:
    """The schema inside so many others."""
    for _ in range(times):
        schema = {"type": "array", "items": schema, **around}
    return schema


def chain(length: int) -> Body:
    """Definitions that each refer to the next."""
    links = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": links | {f"d{length}": {"type": "integer"}}}


def wide(width: int, depth: int) -> Body:
    """Every definition refers to the next one often: few bytes, and a tree without end once written out."""
    links = {
        f"d{number}": {"anyOf": [{"type": "array", "items": {"$ref": f"#/$defs/d{number + 1}"}}] * width}
        for number in range(depth)
    }
    return {"$ref": "#/$defs/d0", "$defs": links | {f"d{depth}": {"type": "null"}}}


GRAMMARS: dict[str, str] = {
    "nested parentheses": "root ::= " + "(" * 60_000 + '"a"' + ")" * 60_000,
    "nested below the limit": "root ::= " + "(" * 100 + '"a"' + ")" * 100,
    "left recursion alone": "root ::= root",
    "doubly recursive": "root ::= root root",
    "ambiguous": 'root ::= s\ns ::= s s | "a"',
    "ambiguous threefold": 'root ::= s\ns ::= s s s | s s | "a" | "b"',
    "ambiguous to the right": 'root ::= s\ns ::= "a" s s | "a"',
    "ambiguous words": 'root ::= (("a" | "aa" | "aaa")* " ")*',
    "empty and recursive": 'root ::= s\ns ::= s s s s | "a" | ""',
    "nothing for ever": 'root ::= ("" | "")* "a"',
    "a billion": 'root ::= "a"{1000000000}',
    "a billion at most": 'root ::= "a"{0,1000000000}',
    "a number of a thousand digits": 'root ::= "a"{' + "9" * 1000 + "}",
    "repetitions of repetitions": 'root ::= (("a"{1,200}){1,200}){1,200}',
    "stacked repetitions": 'root ::= "a"{1,300}{1,300}{1,300}',
    "many alternatives": "root ::= " + " | ".join(f'"w{number}"' for number in range(5000)),
    "many rules": "\n".join(f"r{n} ::= r{n + 1}" for n in range(5000)) + '\nr5000 ::= "a"\nroot ::= r0',
    "a chain of rules": "\n".join(f'r{n} ::= "a" r{n + 1}' for n in range(350)) + '\nr350 ::= "a"\nroot ::= r0',
    "a long class": "root ::= [" + "".join(chr(0x4E00 + n) for n in range(5000)) + "]+",
    "every character": "root ::= [^\\x00]*",
    "the end of Unicode": 'root ::= "\\U0010FFFF" [\\U0001F600-\\U0010FFFF]',
    "beyond Unicode": 'root ::= "\\U00110000"',
    "a surrogate": 'root ::= "\\ud800"',
    "bytes of nothing": 'root ::= "\x00"',
    "no root": 'x ::= "a"',
    "no grammar": "\U0001f600" * 500,
    "an open literal": 'root ::= "' + "a" * 20_000,
}
SCHEMAS: dict[str, Any] = {
    "deep": nested({"type": "string"}, 60),
    "too deep": nested({"type": "string"}, 500),
    "itself": {"$ref": "#"},
    "round and round": {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    "any of itself": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
    "a long chain": chain(1000),
    "a short chain": chain(20),
    "a wide tree": wide(8, 30),
    "elsewhere": {"$ref": "http://127.0.0.1:1/x"},
    "a file": {"$ref": "file:///etc/passwd"},
    "huge length": {"type": "string", "maxLength": 1_000_000_000},
    "huge least length": {"type": "string", "minLength": 1_000_000_000},
    "huge list": {"type": "array", "minItems": 100_000_000, "items": {"type": "null"}},
    "huge lists of lists": nested({"type": "null"}, 6, minItems=1000, maxItems=1000),
    "huge number": {"type": "integer", "minimum": -(10**300), "maximum": 10**300},
    "tiny step": {"type": "number", "multipleOf": 1e-300},
    "odd step": {"type": "integer", "multipleOf": 999_999_937, "minimum": 1},
    "many properties": {"type": "object", "properties": {f"p{number}": {} for number in range(2000)}},
    "many required": {"type": "object", "required": [f"p{number}" for number in range(2000)]},
    "huge count of properties": {"type": "object", "minProperties": 1_000_000_000},
    "huge most properties": {"type": "object", "maxProperties": 1_000_000_000},
    "long values": {"enum": ["x" * 50_000] * 3},
    "many values": {"enum": list(range(20_000))},
    "a bad pattern": {"type": "string", "pattern": "^+a$"},
    "an open pattern": {"type": "string", "pattern": "(a"},
    "a nested pattern": {"type": "string", "pattern": "^" + "(" * 3000 + "a" + ")" * 3000 + "$"},
    "a repeated pattern": {"type": "string", "pattern": "(a{1,1000}){1,1000}"},
    "a pattern of patterns": {"type": "string", "pattern": "^(([a-z]+)+)+$"},
    "a pattern that looks ahead": {"type": "string", "pattern": "a(?=b)"},
    "a pattern of letters": {"type": "string", "pattern": "^\\p{L}{1,200}$"},
    "patterns together": {"allOf": [{"pattern": f".*{letter}.*{letter}.*"} for letter in "abcdefgh"]},
    "names by patterns": {"type": "object", "patternProperties": {f"^{n}.*{n}$": {"type": "null"} for n in range(60)}},
    "alternatives": {"oneOf": [{"type": "string", "minLength": number} for number in range(200)]},
    "a name of Unicode": {"type": "object", "properties": {"\U0001f600" * 1000: {}, "\x00": {}}},
}
PATTERNS: dict[str, str] = {
    "nothing nested": "(" * 5000 + ")" * 5000,
    "look-ahead": "(?=a)",
    "a billion": "a{1000000000}",
    "billions": "((a{1,1000}){1,1000}){1,1000}",
    "backtracking": "(a|a)*b",
    "a wide gap": ".{0,10000}x.{0,10000}",
}
HOSTILE: dict[str, Body] = (
    {f"grammar: {name}": {"grammar": text} for name, text in GRAMMARS.items()}
    | {f"schema: {name}": {"json_schema": schema} for name, schema in SCHEMAS.items()}
    | {f"pattern: {name}": {"guided_regex": text} for name, text in PATTERNS.items()}
)


@contextmanager
def watched(url: str) -> Iterator[list[float]]:
    """/health is asked over and over; the seconds that it took."""
    seconds: list[float] = []
    over = threading.Event()

    def look() -> None:
        with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            is_over = False
            while not is_over:
                started = time.monotonic()
                client.get("/health").raise_for_status()
                seconds.append(time.monotonic() - started)
                is_over = over.wait(0.005)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seconds
    finally:
        over.set()
        watcher.join()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_form_is_refused_or_served_in_time_while_health_answers(
    name: str, server: LiveServer, client: httpx.Client
) -> None:
    body = {"messages": [{"role": "user", "content": "Say aaa."}], "max_tokens": 24, "temperature": 1, "seed": 1}
    with watched(server.url) as looks:
        started = time.monotonic()
        response = client.post(CHAT, json=body | HOSTILE[name], timeout=4 * ANSWER_SECONDS)
        seconds = time.monotonic() - started
    sys.stdout.write(f"status={response.status_code} seconds={seconds:.3f} health_seconds={max(looks):.4f}\n")
    assert response.status_code in (200, 400), response.text[:300]
    assert len(response.content) < REPLY_BYTES_MAX
    assert seconds < ANSWER_SECONDS
    assert max(looks) < HEALTH_SECONDS
