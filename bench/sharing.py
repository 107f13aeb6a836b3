"""What prefix sharing is worth: common system prompts, conversations in turn, choices, copied text."""

from __future__ import annotations

import asyncio
import random
import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.engine import CONTEXT_TOKENS, ENVIRONMENT, THREADS, servers
from bench.measure import Series, peer_command, said, together, words
from bench.report import table, write
from bench.servers import Running, free_port, server, troth
from tests.conftest import fetch_embedded_model

SYSTEM_TOKENS = 1500
CLIENTS, AT_ONCE = 24, 8
CONVERSATIONS, TURNS, SLOTS = 12, 6, 4
CHOICES = 8
CHOICE_TOKENS = 64
CHOICE_PROMPTS = (64, 512)
COPY_TOKENS = 300


def run(llama_server: Path, *, rounds: int, models: Sequence[Path]) -> None:
    """The measures beside llama-server, and speculation beside itself, written to bench/results/sharing.md.

    `models`: files that speculation is measured with, the embedded one aside.
    """
    model = fetch_embedded_model()
    beside: list[tuple[Series, Callable[[Running], float], int]] = [
        (Series(f"{CLIENTS} requests, common prompt of {SYSTEM_TOKENS}", "s in all"), _common_prompt, AT_ONCE),
        (
            Series(f"{CONVERSATIONS} conversations of {TURNS} turns, {SLOTS} slots", "prompt tokens"),
            _conversations,
            SLOTS,
        ),
    ]
    rows = []
    names: list[str] = []
    for series, measure, slots in beside:
        for number in range(rounds):
            with ExitStack() as stack:  # new servers for every round: their caches must be empty
                running = [stack.enter_context(each) for each in servers(llama_server, model, slots)]
                running.append(stack.enter_context(_without_host_cache(llama_server, model, slots)))
                names = [each.name for each in running]
                for each in running if number % 2 == 0 else running[::-1]:
                    series.add(each.name, measure(each))
        rows.append(series.row(names))
    write(
        "sharing",
        "Sharing prefixes, and speculation",
        f"SmolLM2-135M-Instruct Q4_1, {THREADS} threads, {rounds} interleaved rounds, medians. Lower is better.",
        table(["measure", *names], rows),
        "Speculation on and off, the same server otherwise; higher is better.",
        table(
            ["measure", "draft_tokens_max=8", "off"],
            [row for path in (model, *models) for row in _speculation(path, rounds)],
        ),
        "`n: 8` beside eight requests of one choice whose prompt was read before; lower is better. `n: 8` reads its "
        "prompt once, which takes the seconds in the last column.",
        table(
            ["measure", "n: 8", "8 x n: 1, warm", "reading the prompt"],
            [_choices(tokens, rounds) for tokens in CHOICE_PROMPTS],
        ),
    )


def _without_host_cache(llama_server: Path, model: Path, slots: int) -> Any:
    """llama-server as it was before it kept prompts in ordinary memory: only its slots remember."""
    port = free_port()
    command = peer_command(llama_server, model, port, threads=THREADS, slots=slots, context_tokens=CONTEXT_TOKENS)
    return server("llama-server --cache-ram 0", [*command, "--cache-ram", "0"], port, env=ENVIRONMENT)


def _common_prompt(running: Running) -> float:
    """Seconds until all clients of one system prompt are served."""
    chance = random.Random(2)
    system = words(chance, SYSTEM_TOKENS)
    bodies = [
        {"messages": said(system, f"Question {number}: {words(chance, 12)}"), "max_tokens": 8, "temperature": 0}
        for number in range(CLIENTS)
    ]
    seconds, _ = asyncio.run(together(running, bodies, at_once=AT_ONCE))
    return seconds


def _conversations(running: Running) -> float:
    """Prompt tokens computed by conversations that take turns on fewer slots."""
    chance = random.Random(3)
    texts = [[words(chance, 60), words(chance, 30)] for _ in range(CONVERSATIONS)]
    computed = 0
    for _ in range(TURNS):
        for turns in texts:
            body = {"messages": said(*turns), "max_tokens": 24, "temperature": 0, "ignore_eos": True}
            _, (answer,) = asyncio.run(together(running, [body], at_once=1))
            computed += answer["timings"]["prompt_n"]
            turns += [answer["choices"][0]["message"]["content"], words(chance, 30)]
    return float(computed)


def _speculation(model: Path, rounds: int) -> list[list[str]]:
    chance = random.Random(4)
    text = words(chance, COPY_TOKENS)
    tasks: dict[str, dict[str, Any]] = {
        "copy a text": {"messages": said(f"Repeat this text exactly:\n{text}"), "max_tokens": COPY_TOKENS},
        "tell a story": {"messages": said("Tell a long story about a lighthouse."), "max_tokens": 200},
    }
    series = {name: Series(f"{model.stem}: {name}") for name in tasks}
    with ExitStack() as stack:
        pair = [stack.enter_context(_alone(f"drafts {count}", model, draft_tokens_max=count)) for count in (8, 0)]
        for _ in range(rounds + 1):
            for name, task in tasks.items():
                bodies = [{**task, "temperature": 0, "ignore_eos": True}]
                answers = [asyncio.run(together(each, bodies, at_once=1))[1][0] for each in pair]
                assert len({answer["choices"][0]["message"]["content"] for answer in answers}) == 1, "answers differ"
                for each, answer in zip(pair, answers, strict=True):
                    series[name].add(each.name, answer["timings"]["predicted_per_second"])
    return [each.row([pair[0].name, pair[1].name]) for each in series.values()]


def _choices(prompt_tokens: int, rounds: int) -> list[str]:
    chance = random.Random(5)
    series = Series(f"{CHOICES} answers of {CHOICE_TOKENS} tokens to one prompt of {prompt_tokens}", "s")
    reading: list[float] = []
    with _alone("troth", slots=CHOICES) as running:
        for _ in range(rounds):
            body = {
                "messages": said(words(chance, prompt_tokens - 32)),
                "max_tokens": CHOICE_TOKENS,
                "ignore_eos": True,
            }
            seconds, (answer,) = asyncio.run(together(running, [{**body, "n": CHOICES}], at_once=1))
            series.add("n", seconds)
            reading.append(answer["timings"]["prompt_ms"] / 1e3)
            prime = {**body, "max_tokens": 0, "messages": said(words(chance, prompt_tokens - 32))}
            asyncio.run(together(running, [prime], at_once=1))
            warm = [{**prime, "max_tokens": CHOICE_TOKENS}] * CHOICES
            again, _ = asyncio.run(together(running, warm, at_once=CHOICES))
            series.add("1", again)
    return [*series.row(["n", "1"]), f"{statistics.median(reading):.1f}"]


def _alone(name: str, model: Path | None = None, **options: Any) -> Any:
    settings = {"threads": THREADS, "context_tokens": 2048, "slots": 4, **options}
    sets = [f"--set=models.0.options.{key}={value}" for key, value in settings.items()]
    if model is not None:
        sets.append(f"--set=models.0.source={model}")
    command, port = troth(*sets, "--set=log.level=warning")
    return server(name, command, port, env=ENVIRONMENT)
