"""llama.cpp's own server tests: fetched when they are wanted, from the source archive of llama-cpp-python.

They are never part of this repository. The archive is the one that the engine was built from, so that tests and
engine are of one version; it is kept beside the fetched models, and used only while its hash is the known one.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from troth.sources.store import default_folder

REQUIREMENT = "llama-cpp-python==0.3.36"
FILE_NAME = "llama_cpp_python-0.3.36.tar.gz"
SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
SOURCE_TREE = "llama_cpp_python-0.3.36/vendor/llama.cpp/"
TESTS = "tools/server/tests"
WANTED = (f"{TESTS}/", "models/templates/")  # the tests name templates by paths that are relative to them


def archive() -> Path:
    """The archive on disk, fetched through pip when it is not there. Raises RuntimeError with pip's words."""
    kept = default_folder().parent / "peers" / FILE_NAME
    if kept.is_file() and digest(kept) == SHA256:
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".fetch-") as folder:
        fetched = _download(Path(folder))
        found = digest(fetched)
        if found != SHA256:
            raise RuntimeError(f"{REQUIREMENT}: the archive has the SHA-256 {found}, not {SHA256}; it was not kept")
        fetched.replace(kept)
    return kept


def unpack(source: Path, folder: Path) -> Path:
    """The folder of the tests, with what they read beside it, under `folder`."""
    with tarfile.open(source) as tree:
        for member in tree:
            path = member.name.removeprefix(SOURCE_TREE)
            if member.isfile() and path != member.name and path.startswith(WANTED):
                member.name = path
                tree.extract(member, folder, filter="data")
    return folder / TESTS


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(folder: Path) -> Path:
    """The archive in `folder`, from pip's cache or index. pip prepares its metadata, and compiles nothing."""
    command = [
        *(sys.executable, "-P", "-m", "pip", "download", REQUIREMENT, "--no-deps"),
        *("--no-binary", REQUIREMENT.partition("==")[0], "--dest", str(folder)),
        *("--no-input", "--disable-pip-version-check", "--quiet"),
    ]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    path = folder / FILE_NAME
    if done.returncode != 0 or not path.is_file():
        raise RuntimeError(f"pip gave no source archive of {REQUIREMENT}: {done.stderr.strip()[-2000:]}")
    return path
