"""What the dialects cost beside each other: streams of one and the same answer, long conversations to read, and
counting while the engine is busy."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from bench.report import table, write
from bench.servers import Running, server, troth
from troth._generated import models
from troth.contract import ContractModel
from troth.dialects import chat_request, messages_request, responses_request, tokens
from troth.dialects.responses_tools import toolbox_of
from troth.edge.enforcement import Contract

CHAT, COMPLETIONS, RESPONSES, MESSAGES, NATIVE = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/completion",
)
COUNTS = {
    "chat": "/v1/chat/completions/input_tokens",
    "responses": "/v1/responses/input_tokens",
    "messages": "/v1/messages/count_tokens",
    "native": "/tokenize",
}
STORY = "Tell me a long story about a lighthouse."
SAME = {"temperature": 1, "seed": 7, "ignore_eos": True, "stream": True}

STREAM_TOKENS, WARM_TOKENS = 500, 16
STREAM_RATIO_MAX = 1.3  # processor time of the event loop, over chat's
MESSAGES_IN_ALL = 200
CONVERSATION_BYTES = 100_000
Reads = dict[str, tuple[list[float], list[float], list[float]]]
Translation = tuple[type[ContractModel], Callable[[Any, frozenset[str]], object]]
TRANSLATIONS: dict[str, Translation] = {
    "chat": (models.ChatCompletionRequest, chat_request.read),
    "responses": (
        models.ResponsesRequest,
        lambda body, given: responses_request.read(body, given, None, "", toolbox_of(body)),
    ),
    "messages": (
        models.MessagesRequest,
        lambda body, given: messages_request.read(body, given, "", strip_billing_header=True),
    ),
    "native": (models.TokenizeRequest, tokens.source_of),
}
READS = 20  # requests of one measurement
TRANSLATION_MS_MAX = 2.0  # per 100 KB
AT_ONCE = 25
COUNTED_BYTES, COUNTED_MESSAGES = 8_000, 20
COUNT_RATIO_MAX = 2.0  # busy over idle
SETTLE_SECONDS = 0.1  # after an answer, until the server has written its log line
SETTINGS = ("--set=log.level=warning", "--set=models.0.options.draft_tokens_max=0")  # a step is a token for everybody
ONE_THREAD = "--set=models.0.options.threads=1"  # the other core is the event loop's


def run(*, rounds: int) -> None:
    """Medians of interleaved rounds, written to bench/results/dialects.md."""
    command, port = troth(*SETTINGS, ONE_THREAD)
    with server("troth", command, port) as running:
        streams = _streams(running, rounds)
        reads = _reads(running, rounds * 3)
    command, port = troth(*SETTINGS)
    with server("troth", command, port) as running:
        counts = _counts(running, rounds * 3)
    write(
        "dialects",
        "Dialects: streams, long conversations, and counting beside a busy engine",
        f"SmolLM2-135M-Instruct Q4_1, {rounds} interleaved rounds, medians; a ratio is the median of the rounds' "
        "ratios. Processor time of the event loop is that of its thread, from `/proc/PID/task/PID/schedstat`; the "
        "engine and the threads of the prompt room are not in it.",
        f"The same answer of {STREAM_TOKENS} tokens, one frame a token, streamed in each dialect:",
        _stream_table(streams),
        f"A conversation of {MESSAGES_IN_ALL} messages and {CONVERSATION_BYTES // 1000} KB, read, rendered, tokenised "
        f"and counted, {rounds * 3} rounds of {READS} requests; times are per 100 KB of the body:",
        _read_table(reads),
        f"{AT_ONCE} `count_tokens` at once, of {COUNTED_MESSAGES} messages and {COUNTED_BYTES // 1000} KB each, until "
        f"the last is answered, idle and beside one long generation, {rounds * 3} rounds in turn:",
        _count_table(counts),
        _verdict(streams, reads, counts),
    )


def loop_seconds(running: Running) -> float:
    """Processor time of the event loop's thread so far."""
    return int(Path(f"/proc/{running.pid}/task/{running.pid}/schedstat").read_text().split()[0]) / 1e9


def median_ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(one / other for one, other in zip(ours, theirs, strict=True))


# ---- streams ------------------------------------------------------------------------------------


def _stream_bodies(client: httpx.Client, tokens: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """Path and body of the same request in each dialect."""
    talk = [{"role": "user", "content": STORY}]
    prompt = client.post("/apply-template", json={"messages": talk}).raise_for_status().json()["prompt"]
    return {
        "chat": (CHAT, {"messages": talk, "max_tokens": tokens, **SAME}),
        "completions": (COMPLETIONS, {"prompt": prompt, "max_tokens": tokens, **SAME}),
        "responses": (RESPONSES, {"input": STORY, "max_output_tokens": tokens, **SAME}),
        "messages": (MESSAGES, {"messages": talk, "max_tokens": tokens, **SAME}),
        "native": (NATIVE, {"prompt": prompt, "n_predict": tokens, **SAME}),
    }


def _streams(running: Running, rounds: int) -> dict[str, list[float]]:
    """Seconds of the event loop for one stream, by dialect; who begins changes from round to round."""
    found: dict[str, list[float]] = {}
    with httpx.Client(base_url=running.url, timeout=600) as client:
        bodies = _stream_bodies(client, STREAM_TOKENS)
        for path, body in _stream_bodies(client, WARM_TOKENS).values():
            _streamed(running, client, path, body)
        for number in range(rounds):
            names = list(bodies)
            for name in names[number % len(names) :] + names[: number % len(names)]:
                path, body = bodies[name]
                seconds, text = _streamed(running, client, path, body)
                if f'"predicted_n":{STREAM_TOKENS},' not in text:
                    raise RuntimeError(f"{name} did not answer with {STREAM_TOKENS} tokens: {text[-500:]}")
                found.setdefault(name, []).append(seconds)
    return found


def _streamed(running: Running, client: httpx.Client, path: str, body: Mapping[str, Any]) -> tuple[float, str]:
    before = loop_seconds(running)
    answer = client.post(path, json=body).raise_for_status()
    time.sleep(SETTLE_SECONDS)
    return loop_seconds(running) - before, answer.text


def _stream_table(streams: Mapping[str, list[float]]) -> str:
    rows = [
        [
            name,
            f"{statistics.median(seconds) * 1e3:.0f}",
            f"{statistics.median(seconds) / STREAM_TOKENS * 1e6:.0f}",
            f"{min(seconds) / STREAM_TOKENS * 1e6:.0f}",
            f"{median_ratio(seconds, streams['chat']):.2f}x",
        ]
        for name, seconds in streams.items()
    ]
    return table(["dialect", "event loop, ms", "µs a token", "least", "÷ chat"], rows)


# ---- long conversations -------------------------------------------------------------------------


def conversation(size: int, messages: int) -> list[dict[str, str]]:
    """A conversation of about `size` bytes as JSON, user and assistant in turn."""
    text = ("The quick brown fox jumps over the lazy dog. " * (size // 45))[: size // messages - 44]
    return [{"role": ("user", "assistant")[index % 2], "content": text} for index in range(messages - 1)] + [
        {"role": "user", "content": text}
    ]


def _count_body(name: str, talk: list[dict[str, str]]) -> bytes:
    return json.dumps({"input" if name == "responses" else "messages": talk}).encode()


def _reads(running: Running, rounds: int) -> Reads:
    """Per dialect and 100 KB: seconds of the event loop, and of the whole server, for one request; and of reading,
    validating and translating its body, measured here with nothing beside it."""
    found: Reads = {name: ([], [], []) for name in COUNTS}
    talk = conversation(CONVERSATION_BYTES, MESSAGES_IN_ALL)
    with httpx.Client(base_url=running.url, timeout=600, headers={"Content-Type": "application/json"}) as client:
        for _ in range(rounds):
            for name, path in COUNTS.items():
                body = _count_body(name, talk)
                client.post(path, content=body).raise_for_status()
                time.sleep(SETTLE_SECONDS)
                loop, whole = loop_seconds(running), running.cpu_seconds()
                for _ in range(READS):
                    client.post(path, content=body).raise_for_status()
                time.sleep(SETTLE_SECONDS)
                scale = READS * len(body) / 100_000
                found[name][0].append((loop_seconds(running) - loop) / scale)
                found[name][1].append((running.cpu_seconds() - whole) / scale)
                found[name][2].append(_translation_seconds(name, body) * 100_000 / len(body))
    return found


def _translation_seconds(name: str, body: bytes) -> float:
    """The median of some translations of this body, from its bytes to what the corridor is asked."""
    model, read = TRANSLATIONS[name]
    contract, seconds = Contract(), []
    contract.prepare(model)
    for _ in range(READS):
        started = time.process_time()
        read(parsed := model.model_validate_json(body), contract.enforce(parsed))
        seconds.append(time.process_time() - started)
    return statistics.median(seconds)


def _read_table(reads: Reads) -> str:
    rows = [
        [
            name,
            f"`{COUNTS[name]}`",
            f"{statistics.median(loop) * 1e3:.2f}",
            f"{min(loop) * 1e3:.2f}",
            f"{statistics.median(whole) * 1e3:.0f}",
            f"{statistics.median(translations) * 1e3:.2f}",
        ]
        for name, (loop, whole, translations) in reads.items()
    ]
    return table(["dialect", "route", "event loop, ms", "least", "all threads, ms", "translation alone, ms"], rows)


# ---- counting beside a busy engine ----------------------------------------------------------------


def _counts(running: Running, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds for all counts, idle and busy, by round."""
    body = _count_body("messages", conversation(COUNTED_BYTES, COUNTED_MESSAGES))
    asyncio.run(_all_at_once(running, body))
    idle, busy = [], []
    for _ in range(rounds):
        idle.append(asyncio.run(_all_at_once(running, body)))
        with _generation(running):
            busy.append(asyncio.run(_all_at_once(running, body)))
        time.sleep(SETTLE_SECONDS)
    return idle, busy


async def _all_at_once(running: Running, body: bytes) -> float:
    limits = httpx.Limits(max_connections=AT_ONCE, max_keepalive_connections=AT_ONCE)
    headers = {"Content-Type": "application/json"}
    async with httpx.AsyncClient(base_url=running.url, timeout=600, limits=limits, headers=headers) as client:
        await asyncio.gather(*(client.get("/ping") for _ in range(AT_ONCE)))  # the connections are open
        started = time.perf_counter()
        answers = await asyncio.gather(*(client.post(COUNTS["messages"], content=body) for _ in range(AT_ONCE)))
        seconds = time.perf_counter() - started
    for answer in answers:
        answer.raise_for_status()
    return seconds


@contextmanager
def _generation(running: Running) -> Iterator[None]:
    """A long answer is being written while the block runs."""
    body = {"messages": [{"role": "user", "content": STORY}], "max_tokens": 4000, **SAME}
    with httpx.stream("POST", running.url + CHAT, json=body, timeout=600) as answer:
        lines = answer.iter_lines()  # held on to: losing it would close the stream
        next(lines)
        yield


def _count_table(counts: tuple[list[float], list[float]]) -> str:
    rows = [
        [name, f"{statistics.median(seconds) * 1e3:.0f}", f"{min(seconds) * 1e3:.0f}", f"{max(seconds) * 1e3:.0f}"]
        for name, seconds in zip(("idle", "beside a generation"), counts, strict=True)
    ]
    return table(["engine", "ms", "least", "most"], rows)


def _verdict(
    streams: Mapping[str, list[float]],
    reads: Reads,
    counts: tuple[list[float], list[float]],
) -> str:
    lines = []
    for name, seconds in streams.items():
        ratio = median_ratio(seconds, streams["chat"])
        if name != "chat":
            lines.append(
                f"- a stream of {name}: {_word(ratio <= STREAM_RATIO_MAX)} ({ratio:.2f}x, at most {STREAM_RATIO_MAX})"
            )
    for name, (_, _, translations) in reads.items():
        ms = statistics.median(translations) * 1e3
        is_met = ms <= TRANSLATION_MS_MAX
        lines.append(f"- translating {name}: {_word(is_met)} ({ms:.2f} ms per 100 KB, at most {TRANSLATION_MS_MAX})")
    ratio = median_ratio(counts[1], counts[0])
    lines.append(
        f"- counting beside a generation: {_word(ratio <= COUNT_RATIO_MAX)} ({ratio:.2f}x, at most {COUNT_RATIO_MAX})"
    )
    return "\n".join(["Target:", "", *lines])


def _word(is_met: bool) -> str:
    return "met" if is_met else "MISSED"
