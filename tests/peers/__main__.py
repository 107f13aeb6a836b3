"""Runs llama.cpp's own server tests against this server: `python -m tests.peers [pytest's arguments]`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conftest import fetch_embedded_model
from tests.peers.archive import archive, unpack

ROOT = Path(__file__).parents[2]
FILES = (
    "test_basic",
    "test_completion",
    "test_chat_completion",
    "test_tokenize",
    "test_template",
    "test_infill",
    "test_compat_anthropic",
    "test_compat_oai_responses",
    "test_ignore_eos",
)
OPTIONS = ("-p", "tests.peers.plugin", "-p", "no:randomly", "-p", "no:cacheprovider", "-m", "not slow", "--no-header")


def main(arguments: list[str]) -> int:
    """The tests have run; pytest's exit code."""
    fetch_embedded_model()
    with tempfile.TemporaryDirectory(prefix="troth-peers-") as folder:
        tests = unpack(archive(), Path(folder))
        files = [] if any(argument.startswith("unit/") for argument in arguments) else [f"unit/{x}.py" for x in FILES]
        command = [sys.executable, "-m", "pytest", *OPTIONS, *files, *arguments]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), str(tests), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=tests, env=environment, stdin=subprocess.DEVNULL, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
