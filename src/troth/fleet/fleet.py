"""All slots together: who is asked, who is loaded when, and who has to go for another.

A request names a model; `ready` gives its engine, loading it first where that is wanted. A sweep looks after the
slots: engines that died are started again, quiet ones are unloaded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from troth.engines.base import Engine
from troth.errors import EngineFault, Refusal, Unavailable
from troth.fleet.slot import Slot
from troth.fleet.states import SlotState

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 0.5
ROOM_RETRY_SECONDS = 5
NO_MEMORY = "no_memory"
GRACE_SECONDS = 2.0  # a slot that was wanted so recently is not unloaded for another: its request may be on its way
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSettings:
    """What the operator decided for all slots."""

    memory_bytes: int | None = None  # of all loaded models together; None: no budget
    when_loading: Literal["refuse", "wait"] = "refuse"
    wait_seconds: float = 60.0


class Fleet:
    """The slots by the id of their model. Everything here runs on the event loop."""

    def __init__(self, slots: Sequence[Slot], settings: FleetSettings) -> None:
        self.slots: Mapping[str, Slot] = {slot.facts.model: slot for slot in slots}
        self._settings = settings
        self._room = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopping = False
        for slot in slots:
            slot.admit = self._admit

    @property
    def memory_bytes(self) -> int | None:
        """The budget of all models together; None: there is none."""
        return self._settings.memory_bytes

    def named(self, name: str) -> Slot | None:
        """The slot of this name."""
        return next((slot for slot in self.slots.values() if slot.name == name), None)

    # ---- life -------------------------------------------------------------------------------------

    async def run(self, give_up: Callable[[str, str], object]) -> None:
        """Every model that is not lazy is loaded, and the slots are looked after until this is cancelled.

        `give_up(model, words)` is called when one of these cannot be loaded.
        """
        for slot in self.slots.values():
            if not slot.facts.lazy:
                self._spawn(self._first_load(slot, give_up))
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.sweep()

    async def _first_load(self, slot: Slot, give_up: Callable[[str, str], object]) -> None:
        try:
            await self.load(slot)
        except Unavailable as refusal:
            if refusal.code == NO_MEMORY:
                give_up(slot.facts.model, refusal.message)
            # otherwise the server stops before the model was there
        except Refusal:
            give_up(slot.facts.model, slot.message)

    async def stop(self) -> None:
        """Whatever ran has ended with a fault, no memory is held, and nothing is loaded any more."""
        self._is_stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*(slot.stop() for slot in self.slots.values()))
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def sweep(self) -> None:
        """One look at every slot."""
        if self._is_stopping:
            return
        for slot in self.slots.values():
            try:
                await self._look_after(slot)
            except Exception:  # the boundary of a look: one slot's fault must not end the care for the others
                logger.exception("event=sweep_failed slot=%s", slot.name)

    async def _look_after(self, slot: Slot) -> None:
        if slot.look():
            await slot.mourn()
        if slot.state is SlotState.ERROR and not slot.facts.lazy and _may_start(slot):
            self._spawn(self._load_quietly(slot))
        elif slot.is_due_for_sleep:
            await slot.unload(why=f"quiet for {slot.quiet_seconds:.0f} s")

    async def _load_quietly(self, slot: Slot) -> None:
        with suppress(Refusal):  # it is in the slot's state and in the log
            await self.load(slot)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ---- asked ------------------------------------------------------------------------------------

    async def ready(self, model: str) -> Engine:
        """The engine of a model that answers.

        A lazy one is loaded now; whether the request waits for it or is told to come back, the settings say.
        Raises Unavailable, LoadFailed.
        """
        slot = self.slots[model]
        if not slot.is_dispatchable or slot.look():
            await self._wake(slot)
        slot.touch()
        if slot.engine is None:  # it went in the moment between its load and this
            raise slot.unavailable()
        return slot.engine

    async def _wake(self, slot: Slot) -> None:
        if slot.engine is not None and slot.look():
            await slot.mourn()
        if not slot.is_coming:
            self._check_room(slot)  # whoever may not wait hears nothing of what a load comes to
        loading = asyncio.ensure_future(self.load(slot))
        loading.add_done_callback(_retrieve)
        patience = 0 if self._settings.when_loading == "refuse" else self._settings.wait_seconds
        done, _ = await asyncio.wait([loading], timeout=patience)
        if not done:
            raise slot.unavailable()
        loading.result()  # raises what kept it from being loaded

    async def load(self, slot: Slot, *, by_hand: bool = False) -> None:
        """The slot's model answers, and others made room for it. Raises Unavailable, LoadFailed."""
        if self._is_stopping:
            raise Unavailable("The server is shutting down.", retry_seconds=ROOM_RETRY_SECONDS, code="stopping")
        await slot.load(by_hand=by_hand)

    async def _admit(self, slot: Slot, enter: Callable[[], None]) -> None:
        """There is memory for the slot, and it is counted."""
        async with self._room:
            await self._make_room(slot)
            enter()

    async def _make_room(self, wanted: Slot) -> None:
        """The memory budget has room for the slot: the least recently used of the others have gone."""
        budget, need = self._settings.memory_bytes, wanted.memory_bytes
        if budget is not None and need > budget:
            raise EngineFault(
                f"The model {wanted.facts.model} takes {_mb(need)}, and slots.memory_mb allows {_mb(budget)} for all."
            )
        while self._missing(wanted) > 0:
            going = self._check_room(wanted)
            leaving = next((slot for slot in self.slots.values() if slot.is_leaving and slot is not wanted), None)
            if leaving is not None:
                await leaving.left()
            else:
                await going[0].unload(why=f"room for {wanted.name}")

    def _check_room(self, wanted: Slot) -> list[Slot]:
        """Who could go for this slot, the least recently used first; nobody, where there is room or soon will be.

        Raises Unavailable when there would be no room without all of them: then nobody goes.
        """
        missing = self._missing(wanted, soon=True)
        if missing <= 0:
            return []
        going = sorted((slot for slot in self.slots.values() if slot is not wanted and _can_go(slot)), key=_last_use)
        if sum(slot.memory_bytes for slot in going) < missing:
            budget, need = self._settings.memory_bytes or 0, wanted.memory_bytes
            raise Unavailable(
                f"No memory is free for the model {wanted.facts.model}: it takes {_mb(need)}, "
                f"{_mb(missing + budget - need)} of {_mb(budget)} are in use, and no other model can go now that would "
                "make room.",
                retry_seconds=ROOM_RETRY_SECONDS,
                code="no_memory",
                details={"slot": wanted.name, "state": str(wanted.state)},
            )
        return going

    def _missing(self, wanted: Slot, *, soon: bool = False) -> int:
        """Bytes that the slot lacks; `soon`: once those that are leaving have left. A slot that could never fit lacks
        none: its load says so."""
        budget, need = self._settings.memory_bytes, wanted.memory_bytes
        if budget is None or need > budget:
            return 0
        others = (slot for slot in self.slots.values() if slot.takes_memory and slot is not wanted)
        return sum(slot.memory_bytes for slot in others if not (soon and slot.is_leaving)) + need - budget


def _may_start(slot: Slot) -> bool:
    """True when the breaker lets a slot that has been loaded before start again."""
    return slot.is_wanted and slot.loads > 0 and not slot.breaker.is_parked and slot.breaker.wait_seconds == 0


def _can_go(slot: Slot) -> bool:
    is_free = slot.is_dispatchable and not slot.facts.pinned and not slot.is_busy
    return is_free and slot.memory_bytes > 0 and slot.quiet_seconds >= GRACE_SECONDS


def _last_use(slot: Slot) -> float:
    return slot.used_at


def _mb(count: int) -> str:
    return f"{count / MEBIBYTE:.0f} MB"


def _retrieve(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()
