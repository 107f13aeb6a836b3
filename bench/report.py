"""Results as Markdown files, each with the machine they were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
LIBRARIES = ("llama-cpp-python", "connexion", "starlette", "uvicorn", "pydantic", "fastapi")


def machine() -> str:
    """The machine in a few lines: processor, cores, memory, load, versions."""
    processors = Path("/proc/cpuinfo").read_text().splitlines()
    processor = next((line.split(":", 1)[1].strip() for line in processors if line.startswith("model name")), "?")
    memory = Path("/proc/meminfo").read_text().split()[1]
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return "\n".join(
        [
            f"- {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {commit.stdout.strip() or '?'}",
            f"- {processor}, {len(os.sched_getaffinity(0))} cores, {int(memory) // 2**20} GiB, "
            f"load {os.getloadavg()[0]:.1f}, Linux {platform.release()}, Python {platform.python_version()}",
            f"- {libraries}",
        ]
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(name: str, title: str, *parts: str) -> None:
    """The results are in bench/results/NAME.md and on the terminal."""
    text = "\n\n".join([f"# {title}", machine(), *parts]) + "\n"
    (RESULTS / f"{name}.md").write_text(text, "utf-8")
    print(text)
