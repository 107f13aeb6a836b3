"""Is every answer valid, whatever the seed? `python -m tests.referee.seeds [--seeds 200] [--calls 100] [--url URL]`.

Twenty schemas, each with every seed, eight answers at a time, on a live server with the embedded model; and calls of
a function that was named. The `jsonschema` package is the judge. An answer that its budget cut counts apart: it is
the beginning of a valid one, and no answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import jsonschema

from tests.conftest import fetch_embedded_model
from tests.support.live import LiveServer, config, embedded

CHAT = "/v1/chat/completions"
STREAMS = 8
TOKENS_MAX = 96
CUT = "cut"
HOT = {"temperature": 1, "top_k": 0, "top_p": 1, "min_p": 0}


def record(**properties: Any) -> dict[str, Any]:
    """The schema of an object that has exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


NODE = record(v={"enum": [1, 2]}) | {"properties": {"v": {"enum": [1, 2]}, "next": {"$ref": "#/$defs/node"}}}
SCHEMAS: Mapping[str, Any] = {
    "choice": {"enum": ["red", "green", "blue", 7, None]},
    "constant": {"const": {"a": [1, "two"]}},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer", "minimum": -20, "maximum": 300},
    "multiple": {"type": "integer", "multipleOf": 7, "minimum": 10, "maximum": 90},
    "number": {"type": "number", "exclusiveMinimum": 0, "maximum": 2.5, "multipleOf": 0.25},
    "word": {"type": "string", "minLength": 2, "maxLength": 8},
    "pattern": {"type": "string", "pattern": "^[A-Z][a-z]{1,6}$"},
    "date": {"type": "string", "format": "date"},
    "uuid": {"type": "string", "format": "uuid"},
    "list": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}, "minItems": 1, "maxItems": 4},
    "pair": {
        "type": "array",
        "prefixItems": [{"enum": ["x", "y"]}, {"type": "boolean"}],
        "items": False,
        "minItems": 2,
    },
    "person": record(name={"type": "string", "maxLength": 8}, age={"type": "integer", "minimum": 0, "maximum": 130}),
    "optional": {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "b": {"enum": [1]}},
        "required": ["b"],
        "additionalProperties": False,
    },
    "nested": record(at=record(x={"enum": [0, 1]}, y={"enum": [0, 1]}), ok={"type": "boolean"}),
    "either": {"anyOf": [record(kind={"const": "a"}, n={"enum": [1, 2]}), record(kind={"const": "b"})]},
    "both": {"allOf": [{"type": "string", "minLength": 2}, {"maxLength": 5}]},
    "tree": {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
    "table": {
        "type": "object",
        "patternProperties": {"^k_[a-c]$": {"enum": [1, 2]}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 2,
    },
    "nullable": record(note={"type": ["string", "null"], "maxLength": 6}),
}
TOOL_SCHEMA = record(city={"type": "string", "maxLength": 10}, days={"type": "integer", "minimum": 1, "maximum": 9})
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": TOOL_SCHEMA}},
    {"type": "function", "function": {"name": "take_note", "parameters": record(text={"type": "string"})}},
]


@dataclass
class Tally:
    """What became of the answers to one request with many seeds."""

    valid: int = 0
    cut: int = 0
    wrong: list[str] = field(default_factory=list)

    def count(self, verdict: str | None) -> None:
        """One more answer is counted."""
        if verdict is None:
            self.valid += 1
        elif verdict == CUT:
            self.cut += 1
        else:
            self.wrong.append(verdict)

    def line(self, name: str) -> str:
        """The tally as a line."""
        shown = f"  {self.wrong[0][:300]}" if self.wrong else ""
        return f"{name:10} valid {self.valid:5}  cut {self.cut:4}  wrong {len(self.wrong):4}{shown}\n"


def ask_schema(client: httpx.Client, name: str, seed: int) -> str | None:
    """What is wrong with the answer to this schema and seed: None, or that it was cut, or a fault."""
    schema = SCHEMAS[name]
    body = {
        "messages": [{"role": "user", "content": f"Give me an example of a {name}."}],
        "max_tokens": TOKENS_MAX,
        "seed": seed,
        "response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}},
        **HOT,
    }
    judge = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    return _judged(client, body, lambda message: judge.validate(json.loads(message["content"])))


def ask_call(client: httpx.Client, seed: int) -> str | None:
    """What is wrong with the call of a named function with this seed."""
    body = {
        "messages": [{"role": "user", "content": "What is the weather in Paris?"}],
        "max_tokens": TOKENS_MAX,
        "seed": seed,
        "tools": TOOLS,
        "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
        "parallel_tool_calls": False,
        **HOT,
    }

    def check(message: Any) -> None:
        (call,) = list(message.get("tool_calls") or [])
        assert call["function"]["name"] == "get_weather", "another function"
        jsonschema.validate(json.loads(call["function"]["arguments"]), TOOL_SCHEMA)

    return _judged(client, body, check)


def _judged(client: httpx.Client, body: Mapping[str, Any], check: Callable[[Any], None]) -> str | None:
    response = client.post(CHAT, json=body, timeout=600)
    if response.status_code != 200:
        return f"{response.status_code} {response.text}"
    (choice,) = response.json()["choices"]
    if choice["finish_reason"] == "length":
        return CUT
    try:
        check(choice["message"])
    except (ValueError, AssertionError, jsonschema.ValidationError) as fault:
        return f"seed {body['seed']}: {choice['message']!r}: {fault}"
    return None


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """The address of a ready server: the one that is named, or one of our own."""
    if url is not None:
        yield url
        return
    fetch_embedded_model()
    with tempfile.TemporaryDirectory(prefix="troth-seeds-") as folder:
        settings = config([embedded(slots=STREAMS, context_tokens=512, determinism="fast")])
        live = LiveServer(settings, Path(folder))
        try:
            live.wait_ready()
            yield live.url
        finally:
            live.stop()


def main(arguments: list[str]) -> int:
    """The tallies are written, line by line; 1 when an answer was wrong or nothing was valid."""
    parser = argparse.ArgumentParser(prog="python -m tests.referee.seeds", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="answers to each schema")
    parser.add_argument("--calls", type=int, default=100, help="calls of a named function")
    parser.add_argument(
        "--url", default=None, help="a running server; left out: one with the embedded model is started"
    )
    options = parser.parse_args(arguments)
    started = time.monotonic()
    tallies: list[Tally] = []

    def run(name: str, ask: Callable[[int], str | None], seeds: int) -> None:
        tallies.append(Tally())
        for verdict in pool.map(ask, range(seeds)):
            tallies[-1].count(verdict)
        sys.stdout.write(tallies[-1].line(name))
        sys.stdout.flush()

    with (
        server(options.url) as url,
        httpx.Client(base_url=url, trust_env=False) as client,
        ThreadPoolExecutor(STREAMS) as pool,
    ):
        for name in SCHEMAS:
            run(name, partial(ask_schema, client, name), options.seeds)
        run("call", partial(ask_call, client), options.calls)
    valid, cut, wrong = (sum(each) for each in zip(*((t.valid, t.cut, len(t.wrong)) for t in tallies), strict=True))
    share = 100 * valid / max(valid + wrong, 1)
    seconds = time.monotonic() - started
    sys.stdout.write(f"{share:.2f} % of {valid + wrong} complete answers are valid; {cut} were cut; {seconds:.0f} s\n")
    return 0 if valid and not wrong else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
