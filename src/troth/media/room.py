"""What do pictures and sounds look like to the model? The door of the media room, and its threads.

    look   reads, limits, decodes and measures them: the prompt can be written and counted
    show   encodes what is not kept from before: the prompt can be computed

Decoding and measuring run on threads of this room, encoding on one thread for each model: never on the event
loop, and never in a step of the scheduler. Whoever gives up waits for no further picture. What was seen is kept by
its content, apart for every realm, as saved states are: how long an answer takes would tell what others have sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import numpy as np

from troth.domain import Embeddings, Medium, Plan, Prompt, Segment, Sight, View
from troth.domain.vectors import PictureForm, Planes
from troth.engines.sight import Looked, Sees, SightFault, SightReport
from troth.errors import BadRequest, EngineFault, QueueFull, Unsupported
from troth.media.fetching import Fetcher
from troth.media.kept import Entry, Kept, Key
from troth.media.pictures import PictureFault, pixels
from troth.media.prepared import prepared
from troth.media.reading import WORDS, Reader, refused
from troth.media.settings import MediaSettings
from troth.media.sounds import SoundFault, samples

T = TypeVar("T")
RETRY_SECONDS = 1
VERBS = {"image": "read pictures", "audio": "hear sound"}


@dataclass(slots=True)
class Gaze:
    """The media of one request as a model will read them."""

    views: dict[Medium, View] = field(default_factory=dict)
    entries: dict[bytes, Entry] = field(default_factory=dict)  # by the digest of the view
    looked: dict[bytes, Looked] = field(default_factory=dict)  # of those that are not encoded yet


@dataclass(slots=True)
class _Desk:
    """What the room keeps of one model."""

    kept: Kept
    thread: ThreadPoolExecutor
    report: SightReport
    waiting: int = 0  # for the thread


class MediaRoom:
    """See the module's docstring. Its methods are called on the event loop."""

    def __init__(self, settings: MediaSettings, fetcher: Fetcher | None = None) -> None:
        self._settings = settings
        self._reader = Reader(fetcher or Fetcher(settings))
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="media")
        self._waiting = 0
        self._desks: defaultdict[str, _Desk] = defaultdict(self._desk)

    def _desk(self) -> _Desk:
        return _Desk(
            Kept(self._settings.cache_bytes),
            ThreadPoolExecutor(1, thread_name_prefix="sight"),
            SightReport(budget_bytes=self._settings.cache_bytes),
        )

    # ---- looking --------------------------------------------------------------------------------

    async def look(self, plan: Plan, sight: Sees | None, *, encodes: bool) -> Gaze:
        """How the model of the plan will read the media of its ask. `encodes`: they will be shown to it, too.

        Raises: Unsupported when the model reads none, BadRequest for what cannot be used, QueueFull.
        """
        gaze = Gaze()
        media = plan.ask.source.media
        if not media:
            return gaze
        self._check(media, sight, plan.model.id)
        assert sight is not None
        desk, realm = self._desks[plan.model.id], plan.ask.tag.realm
        for medium in media:
            fetched = await self._reader.fetch(medium)
            data, digest = await self._aside(partial(self._read, medium, fetched, sight))
            entry = gaze.entries.get(digest) or desk.kept.get((realm, digest))
            if entry is None or (encodes and not _is_encoded(entry) and digest not in gaze.looked):
                looked = await self._aside(partial(self._measured, medium, data, sight))
                # Meanwhile another request may have looked at the same one: they share it from here on.
                entry = entry or desk.kept.get((realm, digest)) or Entry(_view(looked, digest))
                if encodes:
                    gaze.looked[digest] = looked
                desk.kept.put((realm, digest), entry)
            gaze.views[medium], gaze.entries[digest] = entry.view, entry
        return gaze

    def _check(self, media: Sequence[Medium], sight: Sees | None, model: str) -> None:
        for kind, limit in (("image", self._settings.images_max), ("audio", self._settings.sounds_max)):
            of_kind = [medium for medium in media if medium.kind == kind]
            if not of_kind:
                continue
            can = sight is not None and (sight.vision if kind == "image" else sight.audio)
            if not can:
                why = "needs a projector file" if sight is None else "has a projector that does not"
                raise Unsupported(
                    f"{of_kind[0].path}: the model {model} cannot {VERBS[kind]}: it {why}. An operator names one in "
                    "`options.mmproj` of the model.",
                    param=of_kind[0].path,
                )
            self._few_enough(of_kind, kind, limit)

    @staticmethod
    def _few_enough(media: Sequence[Medium], kind: str, limit: int) -> Sequence[Medium]:
        """The media of one kind. Raises BadRequest when there are more of them than a request may have."""
        if len(media) > limit:
            name = "images_max" if kind == "image" else "sounds_max"
            raise BadRequest(
                f"{media[limit].path}: the request has {len(media)} {WORDS[kind]}s; this server takes at most "
                f"{limit} (media.{name}).",
                param=media[limit].path,
            )
        return media

    def _read(self, medium: Medium, fetched: bytes | None, sight: Sees) -> tuple[bytes, bytes]:
        """The bytes of a medium, and what names the view of it. On a thread of this room."""
        data = self._reader.decode(medium) if fetched is None else fetched
        content = hashlib.sha256(data).digest()
        return data, hashlib.sha256(sight.digest + medium.kind.encode() + content).digest()

    def _measured(self, medium: Medium, data: bytes, sight: Sees) -> Looked:
        """On a thread of this room."""
        try:
            if medium.kind == "image":
                return sight.look(pixels(data, self._settings))
            return sight.look(samples(data, sight.audio_rate, self._settings.audio_seconds_max))
        except (PictureFault, SoundFault, SightFault) as fault:
            raise refused(medium, str(fault)) from fault

    async def prepare(self, media: Sequence[Medium], form: PictureForm) -> list[Planes]:
        """The pictures as a classifier wants to be shown them. Raises BadRequest naming what cannot be used, QueueFull.

        Each is made smaller before the next is read, so that a request holds one of full size at a time.
        """
        found = []
        for medium in self._few_enough(media, "image", self._settings.images_max):
            if medium.kind != "image":
                raise refused(medium, "only pictures are judged")
            fetched = await self._reader.fetch(medium)
            found.append(await self._aside(partial(self._prepared, medium, fetched, form)))
        return found

    def _prepared(self, medium: Medium, fetched: bytes | None, form: PictureForm) -> Planes:
        """On a thread of this room."""
        data = self._reader.decode(medium) if fetched is None else fetched
        try:
            return prepared(pixels(data, self._settings), form)
        except PictureFault as fault:
            raise refused(medium, str(fault)) from fault

    async def _aside(self, work: Callable[[], T]) -> T:
        if self._waiting >= self._settings.queue_max + self._settings.threads:
            raise QueueFull(self._waiting, RETRY_SECONDS)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1

    # ---- showing --------------------------------------------------------------------------------

    async def show(self, prompt: Prompt, gaze: Gaze, plan: Plan, sight: Sees | None) -> Prompt:
        """The prompt with the embeddings of all that it shows. Raises EngineFault, QueueFull."""
        if not prompt.views:
            return prompt
        assert sight is not None
        sights: list[Sight] = []
        for start, view in prompt.views:
            arrays = iter(await self._encoded(gaze, view, plan, sight))
            for segment in view.segments:
                if segment.is_seen:
                    sights.append(Sight(start, next(arrays), segment.is_whole))
                start += len(segment.tokens)
        return replace(prompt, sights=tuple(sights))

    async def _encoded(self, gaze: Gaze, view: View, plan: Plan, sight: Sees) -> list[Embeddings]:
        """The embeddings of a view. Several requests that wait for the same one share the work."""
        desk, entry = self._desks[plan.model.id], gaze.entries[view.digest]
        if _is_encoded(entry):
            desk.report = replace(desk.report, hits=desk.report.hits + 1)
        else:
            desk.report = replace(desk.report, misses=desk.report.misses + 1)
        if entry.embeddings is not None:
            return entry.embeddings
        if entry.encoding is None:
            key = (plan.ask.tag.realm, view.digest)
            looked = gaze.looked.pop(view.digest, None)
            if looked is None:  # somebody else began to encode it, and that failed
                raise EngineFault("The engine could not read a picture or a sound.")
            entry.encoding = self._begin(desk, entry, key, looked, sight)
        try:
            return await asyncio.shield(entry.encoding)  # whoever leaves first does not take it from the others
        except SightFault as fault:
            raise EngineFault(f"The engine could not read a picture or a sound: {fault}.") from fault

    def _begin(
        self, desk: _Desk, entry: Entry, key: Key, looked: Looked, sight: Sees
    ) -> asyncio.Future[list[Embeddings]]:
        if desk.waiting > self._settings.queue_max:
            raise QueueFull(desk.waiting, RETRY_SECONDS)
        desk.waiting += 1
        started = time.perf_counter()
        work = asyncio.get_running_loop().run_in_executor(desk.thread, sight.encode, looked)

        def settle(done: asyncio.Future[list[Embeddings]]) -> None:
            desk.waiting -= 1
            entry.encoding = None
            seconds = desk.report.encode_seconds + time.perf_counter() - started
            desk.report = replace(desk.report, encode_seconds=seconds)
            if not done.cancelled() and done.exception() is None:
                entry.embeddings = done.result()
                desk.kept.put(key, entry)

        work.add_done_callback(settle)
        return work

    # ---- what it tells --------------------------------------------------------------------------

    def report(self, model: str) -> SightReport:
        """What was seen by this model so far."""
        desk = self._desks.get(model)
        if desk is None:
            return SightReport(budget_bytes=self._settings.cache_bytes)
        return replace(desk.report, entries=len(desk.kept.entries), size_bytes=desk.kept.size)

    def close(self) -> None:
        """Nothing is looked at any more; what waits is dropped."""
        for pool in (self._threads, *(desk.thread for desk in self._desks.values())):
            pool.shutdown(wait=True, cancel_futures=True)


def seen_ids(digest: bytes, part: int, count: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Ids below 0 that stand for the embeddings of one part of a view, the same after every restart.

    They are drawn from its content, so that whatever compares prompts token by token compares pictures as well.
    """
    stream = hashlib.shake_256(digest + part.to_bytes(4, "little")).digest(4 * count)
    return (-1 - (np.frombuffer(stream, "<u4") & 0x7FFFFFFF).astype(np.int64)).astype(np.int32)


def _view(looked: Looked, digest: bytes) -> View:
    segments = tuple(
        Segment(part.words, False)
        if part.words is not None
        else Segment(seen_ids(digest, number, part.count), True, part.is_whole)
        for number, part in enumerate(looked.parts)
    )
    return View(digest, segments)


def _is_encoded(entry: Entry) -> bool:
    return entry.embeddings is not None or entry.encoding is not None
