"""Programs of other people, run where nothing of this machine's user is seen."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SECONDS_MAX = 120.0


@dataclass(frozen=True, slots=True)
class Ran:
    """A program that has ended."""

    code: int
    out: str
    err: str


def run(
    command: Sequence[str | Path], home: Path, variables: Mapping[str, str], *, seconds: float = SECONDS_MAX
) -> Ran:
    """The program has ended. `home` is its home and its folder; it sees these variables and a path, and no input.

    Raises TimeoutError with what it had said when it took longer than `seconds`.
    """
    seen = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", **variables}
    try:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=home,
            env=seen,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"") + (late.stderr or b"")
        raise TimeoutError(f"{command[0]} took over {seconds} s; it said {said.decode('utf-8', 'replace')}") from late
    return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))
