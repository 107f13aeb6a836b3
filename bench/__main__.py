"""`python -m bench NAME …`: runs one benchmark, or all of them, and writes bench/results/NAME.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench import determinism, dialects, edge, engine, forms, sharing, soak, start, upstream
from tests.conftest import fetch_embedded_model


def main() -> int:
    """The benchmarks asked for have run; their results are files."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        choices=["determinism", "dialects", "edge", "engine", "forms", "sharing", "soak", "start", "upstream", []],
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
    names = arguments.names or ["edge", "dialects", "forms", "start", "soak", "engine", "sharing", "upstream"]
    if "edge" in names:
        edge.run(rounds=arguments.rounds)
    if "dialects" in names:
        dialects.run(rounds=arguments.rounds)
    if "forms" in names:
        forms.run(rounds=arguments.rounds)
    if "start" in names:
        start.run(rounds=arguments.rounds)
    if "soak" in names:
        soak.run()
    if "determinism" in names:
        determinism.run(arguments.model or [fetch_embedded_model()])
    beside = [name for name in ("engine", "sharing", "upstream") if name in names]
    if beside and arguments.llama_server is None:
        print(f"{beside[0]}: needs --llama-server PATH; see bench/README.md", file=sys.stderr)
        return 2
    if "engine" in names:
        engine.run(arguments.llama_server, rounds=arguments.rounds)
    if "sharing" in names:
        sharing.run(arguments.llama_server, rounds=arguments.rounds, models=arguments.model or [])
    if "upstream" in names:
        upstream.run(arguments.llama_server, rounds=arguments.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
