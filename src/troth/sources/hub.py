"""`hf:` sources: one file of a repository on a Hugging Face hub, over HTTP, resumed where it broke off."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import httpx

from troth.sources.address import HubAddress
from troth.sources.faults import SourceFault
from troth.sources.progress import Progress
from troth.sources.transfer import Settled, flush, hash_file

_SHA256 = re.compile(r"[0-9a-f]{64}")
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)")
_RETRIED = (408, 429, 500, 502, 503, 504)


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSettings:
    """Where the hub is and how patiently it is asked."""

    endpoint: str = "https://huggingface.co"
    token: str | None = field(default=None, repr=False)
    attempts: int = 4  # in a row without one new byte
    retry_seconds: float = 1.0  # before the second attempt; doubled for each one after
    timeout_seconds: float = 30.0  # of silence
    sleep: Callable[[float], None] = time.sleep


class _Interrupted(Exception):
    """The transfer broke off and may be tried again."""


@dataclass(slots=True)
class _Transfer:
    address: HubAddress
    part: Path
    settings: HubSettings
    progress: Progress
    size: int | None = None  # of the whole file, as announced
    sha256: str | None = None  # of the whole file, as announced

    @property
    def tag_file(self) -> Path:
        return self.part.with_name(f"{self.part.name}.etag")

    @property
    def url(self) -> str:
        where = self.address
        revision = quote(where.revision, safe="")
        return f"{self.settings.endpoint.rstrip('/')}/{where.repository}/resolve/{revision}/{quote(where.path)}"

    def here(self) -> int:
        """Bytes of the file that are on disk and may be kept."""
        return self.part.stat().st_size if self.part.exists() and self.tag_file.exists() else 0

    def request(self) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity"}
        if self.settings.token:
            headers["Authorization"] = f"Bearer {self.settings.token}"
        if self.here():
            headers["Range"] = f"bytes={self.here()}-"
            headers["If-Range"] = self.tag_file.read_text()
        return headers

    def attempt(self, client: httpx.Client) -> None:
        """The file is complete on disk. Raises: _Interrupted, SourceFault."""
        try:
            with client.stream("GET", self.url, headers=self.request()) as response:
                if response.status_code == 416:
                    return self._past_the_end(response)
                self._judge(response)
                return self._receive(response)
        except httpx.RequestError as error:
            raise _Interrupted(str(error) or type(error).__name__) from error
        except httpx.InvalidURL as error:
            raise SourceFault(f"{self.url} is no address: {error}") from error

    def _judge(self, response: httpx.Response) -> None:
        status = response.status_code
        if status in (200, 206):
            return
        where = f"{self.address.path} in {self.address.repository} at {self.address.revision}"
        if status in _RETRIED:
            raise _Interrupted(f"the hub answers {status}")
        if status in (401, 403):
            raise SourceFault(
                f"the hub answers {status} for {where}: there is no such repository, or it needs an access token "
                "(set HF_TOKEN or hub.token, and accept the model's terms on its page)"
            )
        if status == 404:
            raise SourceFault(f"the hub has no {where}")
        raise SourceFault(f"the hub answers {status} for {where}")

    def _past_the_end(self, response: httpx.Response) -> None:
        total = response.headers.get("content-range", "").rpartition("/")[2]
        if total == str(self.here()):
            self._read_announcements(response, 0)
            self.size = self.here()
            return
        self.discard()
        raise _Interrupted("what was kept does not fit the file of the hub")

    def _receive(self, response: httpx.Response) -> None:
        start = self._start(response)
        self._read_announcements(response, start)
        done = start
        self.progress.begin(self._title(start), self.size)
        try:
            with self.part.open("ab" if start else "wb") as target:
                self.progress.at(done)
                try:
                    for chunk in response.iter_raw():
                        target.write(chunk)
                        done += len(chunk)
                        self.progress.at(done)
                finally:
                    flush(target)
        finally:
            self.progress.end()
        if self.size is not None and done < self.size:
            raise _Interrupted(f"the connection ended after {done} of {self.size} bytes")

    def _start(self, response: httpx.Response) -> int:
        if response.status_code == 200:
            tag = response.headers.get("etag", "")
            self.tag_file.unlink(missing_ok=True)
            if tag and not tag.startswith("W/"):  # only a strong tag may vouch for bytes
                self.tag_file.write_text(tag)
            return 0
        match = _CONTENT_RANGE.fullmatch(response.headers.get("content-range", ""))
        if match is None or int(match[1]) != self.here():
            self.discard()
            raise _Interrupted("the hub sent another part than the one asked for")
        return int(match[1])

    def _read_announcements(self, response: httpx.Response, start: int) -> None:
        for hop in (*response.history, response):
            tag = hop.headers.get("x-linked-etag", "").strip('"')
            if _SHA256.fullmatch(tag):
                self.sha256 = tag
            if hop.headers.get("x-linked-size", "").isdecimal():
                self.size = int(hop.headers["x-linked-size"])
        if self.size is None and response.headers.get("content-length", "").isdecimal():
            self.size = start + int(response.headers["content-length"])

    def _title(self, start: int) -> str:
        name = f"hf:{self.address.repository}/{self.address.path}"
        return f"{name}, resumed at {start} bytes" if start else name

    def discard(self) -> None:
        """Nothing of this transfer is on disk."""
        self.part.unlink(missing_ok=True)
        self.tag_file.unlink(missing_ok=True)


def fetch_from_hub(address: HubAddress, part: Path, settings: HubSettings, progress: Progress) -> Settled:
    """`part` holds the file. What came before a break is kept and used by the next call.

    Raises: SourceFault when the hub refuses, cannot be reached, or sends other bytes than it announced.
    """
    transfer = _Transfer(address, part, settings, progress)
    with httpx.Client(follow_redirects=True, timeout=settings.timeout_seconds) as client:
        _persist(transfer, client)
    settled = hash_file(part)
    if transfer.size is not None and settled.size != transfer.size:
        transfer.discard()
        raise SourceFault(f"the hub announced {transfer.size} bytes of {address.path} and sent {settled.size}")
    if transfer.sha256 is not None and settled.sha256 != transfer.sha256:
        transfer.discard()
        raise SourceFault(
            f"the hub announced the SHA-256 {transfer.sha256} for {address.path} and sent {settled.sha256}; "
            "nothing was kept"
        )
    transfer.tag_file.unlink(missing_ok=True)
    return settled


def _persist(transfer: _Transfer, client: httpx.Client) -> None:
    settings = transfer.settings
    failures = 0
    while True:
        before = transfer.here()
        try:
            transfer.attempt(client)
            return
        except _Interrupted as interruption:
            failures = 1 if transfer.here() > before else failures + 1
            if failures >= settings.attempts:
                raise SourceFault(
                    f"cannot fetch {transfer.address.path} from {settings.endpoint}: {interruption} (is this machine "
                    "offline?). What came so far is kept; connect it once, or name the model file by its path"
                ) from interruption
            transfer.progress.note(f"{interruption}; trying again")
            settings.sleep(settings.retry_seconds * 2 ** (failures - 1))
