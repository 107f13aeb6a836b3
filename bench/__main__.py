"""`python -m bench NAME …`: runs one benchmark, or all of them, and writes bench/results/NAME.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import determinism, dialects, edge, engine, forms, isolation, sharing, soak, start, upstream, vectors
from tests.conftest import fetch_embedded_model

ALL = [
    "edge",
    "dialects",
    "forms",
    "isolation",
    "start",
    "soak",
    "engine",
    "sharing",
    "vectors",
    "upstream",
]
BESIDE = ("engine", "sharing", "vectors", "upstream")


def main() -> int:
    """The benchmarks asked for have run; their results are files."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        choices=[*ALL, "determinism", []],
        help="default: all",
    )
    parser.add_argument("--llama-server", type=Path, help="the peer's binary; see bench/README.md")
    parser.add_argument(
        "--model",
        type=Path,
        action="append",
        help="GGUF files for determinism (default: embedded) and for speculation besides",
    )
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds; medians are reported")
    arguments = parser.parse_args()
    names = arguments.names or ALL
    beside = [name for name in BESIDE if name in names]
    if beside and arguments.llama_server is None:
        print(f"{beside[0]}: needs --llama-server PATH; see bench/README.md", file=sys.stderr)
        return 2
    _run_alone(names, arguments)
    _run_beside(names, arguments)
    return 0


def _run_alone(names: list[str], arguments: argparse.Namespace) -> None:
    """What needs nobody to be compared with."""
    runs = {
        "edge": edge.run,
        "dialects": dialects.run,
        "forms": forms.run,
        "isolation": isolation.run,
        "start": start.run,
    }
    for name, run in runs.items():
        if name in names:
            run(rounds=arguments.rounds)
    if "soak" in names:
        soak.run()
    if "determinism" in names:
        determinism.run(arguments.model or [fetch_embedded_model()])


def _run_beside(names: list[str], arguments: argparse.Namespace) -> None:
    """What is compared with llama-server."""
    if "engine" in names:
        engine.run(arguments.llama_server, rounds=arguments.rounds)
    if "sharing" in names:
        sharing.run(arguments.llama_server, rounds=arguments.rounds, models=arguments.model or [])
    if "vectors" in names:
        vectors.run(arguments.llama_server, rounds=arguments.rounds)
    if "upstream" in names:
        upstream.run(arguments.llama_server, rounds=arguments.rounds)


if __name__ == "__main__":
    sys.exit(main())
