"""Where sequences live: the slots of a decoder, and the saved states that fill them.

A choice is *seated* in the lowest free slot, with as much of its prompt as a sibling, a parked copy of
itself or the prefix cache can give. It is *unseated* when it ends, *parked* when a more urgent request
needs its slot, and *moved* down when a hole below it would split the batch step after step: a decoder
with one memory per sequence computes neighbouring slots together.
"""

from __future__ import annotations

import heapq
import logging
import time

from troth.domain import Adapters
from troth.engines.base import Decoder, EngineGone, State
from troth.scheduler.counters import Counters
from troth.scheduler.prefix_cache import PrefixCache
from troth.scheduler.prefix_tree import common_length
from troth.scheduler.request import Choice, Request

logger = logging.getLogger(__name__)

HOLE_STEPS_MAX = 3  # a hole that lives longer than this is filled
FOLLOW_TOKENS_MIN = 64  # a shared beginning shorter than this is not worth waiting for


class Slots:
    """The slots of one decoder. The scheduler's thread alone uses it."""

    def __init__(self, decoder: Decoder, cache: PrefixCache, counters: Counters) -> None:
        self.decoder = decoder
        self.cache = cache
        self.running: dict[int, Choice] = {}
        self._counters = counters
        self._free = list(range(decoder.slots))  # heap: the lowest slot first
        self._hole_steps = 0
        self._unclean: set[int] = set()  # free slots whose memory is not empty yet
        self._seen_last = -1  # the slot whose pictures were computed last
        self._others_wait: set[Adapters] = set()  # of these the batch before was of pictures alone

    @property
    def is_full(self) -> bool:
        """True when nobody can be seated."""
        return not self._free

    def requests(self) -> list[Request]:
        """The requests that hold at least one slot."""
        return list({id(choice.request): choice.request for choice in self.running.values()}.values())

    # ---- in -------------------------------------------------------------------------------------

    def seat(self, choice: Choice, sibling_state: State | None = None) -> None:
        """The choice has a slot. `sibling_state` is the memory of a sibling that has just read the prompt."""
        request = choice.request
        choice.slot = heapq.heappop(self._free)
        self.running[choice.slot] = choice
        request.running.append(choice)  # from here on whoever fails finds it and can end it
        self._wipe()
        if choice.parked is not None:
            self.decoder.restore(choice.slot, choice.parked, choice.held)
            choice.parked = None
        elif sibling_state is not None:
            self.decoder.restore(choice.slot, sibling_state, request.prompt_tokens)
            choice.held = request.prompt_tokens
        else:
            self._begin(choice)

    def _begin(self, choice: Choice) -> None:
        """The choice holds the longest beginning of its prompt that is saved; one token is always computed."""
        request = choice.request
        wanted = request.job.prompt.tokens[:-1]
        saved, length = self.cache.match(wanted, request.job.tag.realm)
        uncut = request.job.prompt.uncut(length)
        if uncut < length:  # half a picture is of no use: its tokens may look at each other
            saved, length = (saved, uncut) if self.decoder.can_cut and uncut > 0 else (None, 0)
        started = time.perf_counter()
        state = self.cache.load(saved) if saved is not None else None
        is_first = not request.is_started
        if is_first:
            self.cache.use(saved if state is not None else None, length, request.prompt_tokens)
        if state is None:
            return
        self.decoder.restore(choice.slot, state, length)
        self.cache.counters.restore_seconds += time.perf_counter() - started
        choice.held = length
        if is_first:
            request.cached_tokens = length
            self._counters.prompt_tokens_cached += length

    def is_following(self, request: Request) -> bool:
        """True while the request had better wait: somebody is reading the beginning that it shares.

        Once the shared beginning has been read it is saved, and the follower starts from there.
        """
        if request.is_started or not self.cache.is_on or not self.decoder.can_cut:
            return False
        if request.follows is None:
            request.follows = self._leader(request)
        if request.follows is None:
            return False
        leader, shared = request.follows
        if leader.is_reading and leader.slot >= 0:
            if leader.held < shared:
                return True
            if self.cache.wants(leader.held_tokens(), leader.request.job.tag):
                self._keep(leader, self.decoder.save(leader.slot))
        request.follows = None
        return False

    def _leader(self, request: Request) -> tuple[Choice, int] | None:
        """The choice that reads the longest beginning of this prompt which is not saved yet, and its length."""
        prompt = request.job.prompt.tokens[:-1]
        _, known = self.cache.match(prompt, request.job.tag.realm)
        best: tuple[Choice, int] | None = None
        for reader in self.running.values():
            if not reader.is_reading or reader.request.job.tag.realm != request.job.tag.realm:
                continue
            shared = common_length(prompt, reader.request.job.prompt.tokens)
            if shared >= known + FOLLOW_TOKENS_MIN and (best is None or shared > best[1]):
                best = reader, shared
        return best

    # ---- what is kept ---------------------------------------------------------------------------

    def prompt_read(self, choice: Choice, *, forks: bool) -> State | None:
        """The choice holds its whole prompt: its state is kept, and returned when siblings fork from it."""
        request = choice.request
        is_wanted = self.cache.wants(request.job.prompt.tokens, request.job.tag)
        if not is_wanted and not forks:
            return None
        state = self.decoder.save(choice.slot)
        if is_wanted:
            self._keep(choice, state)
        return state

    def _keep(self, choice: Choice, state: State) -> None:
        started = time.perf_counter()
        self.cache.store(choice.held_tokens(), state, choice.request.job.tag)
        self.cache.counters.store_seconds += time.perf_counter() - started

    # ---- out ------------------------------------------------------------------------------------

    def unseat(self, choice: Choice, *, keep: bool) -> None:
        """The choice has no slot and no sampler. `keep` saves its state for whoever continues from here."""
        if keep and self.cache.wants(choice.held_tokens(), choice.request.job.tag):
            try:
                if self.decoder.can_cut:
                    self.decoder.forget(choice.slot, choice.held)  # a draft may reach further than what was said
                self._keep(choice, self.decoder.save(choice.slot))
            except EngineGone as gone:  # the answer that has ended is whole, and the next step says what happened
                logger.info("event=state_not_kept error=%s", gone)
            except Exception:  # whoever continues from here reads it again; the answer that has ended is whole
                logger.exception("event=state_not_kept")
        if choice.sampler is not None:
            choice.sampler.close()
            choice.sampler = None
        self._leave(choice)

    def park(self, choice: Choice) -> None:
        """The choice waits again, with its memory beside it: it will go on as if nothing had happened."""
        choice.parked = self.decoder.save(choice.slot)
        self._leave(choice)
        choice.request.waiting.insert(0, choice)
        self._counters.preemptions += 1

    def _leave(self, choice: Choice) -> None:
        slot, choice.slot = choice.slot, -1
        del self.running[slot]
        heapq.heappush(self._free, slot)
        choice.request.running.remove(choice)
        self._empty(slot)

    def _empty(self, slot: int) -> None:
        """The slot, which is free, holds nothing, or will not when the next sequence is seated."""
        self._unclean.add(slot)
        try:
            self._wipe()
        except Exception:  # the boundary of what ended here: it is not at fault
            logger.exception("event=slot_not_emptied")

    def _wipe(self) -> None:
        """Every free slot is empty."""
        for slot in sorted(self._unclean):
            self.decoder.forget(slot, 0)
            self._unclean.discard(slot)

    def least_urgent(self, than: Request) -> Choice | None:
        """The running choice that should give way to a request of lower priority number; None if none should."""
        worst = max(self.running.values(), key=lambda choice: choice.request.order, default=None)
        return worst if worst is not None and worst.request.job.priority > than.job.priority else None

    def close_holes(self) -> None:
        """The highest sequence has moved into the lowest hole, if that hole has lived for some steps."""
        if not self._free or not self.running or self._free[0] > max(self.running):
            self._hole_steps = 0
            return
        self._hole_steps += 1
        if self._hole_steps <= HOLE_STEPS_MAX:
            return
        self._hole_steps = 0
        source, target = max(self.running), self._free[0]
        choice = self.running[source]
        state = self.decoder.save(source)
        self._wipe()
        self._unclean.add(target)  # until it is known to hold the sequence
        self.decoder.restore(target, state, choice.held)
        self._unclean.discard(target)
        heapq.heapreplace(self._free, source)
        del self.running[source]
        choice.slot, self.running[target] = target, choice
        self._empty(source)
        self._counters.moves += 1

    def occupants(self) -> list[Choice]:
        """The running choices by ascending slot."""
        return [self.running[slot] for slot in sorted(self.running)]

    def turn_to_see(self, adapters: Adapters) -> tuple[Choice | None, list[Choice]]:
        """Of the choices with these adapters: whose picture is read next, if it is time for one, and else who takes
        part in the next batch.

        A picture needs a batch of its own. Whoever speaks or reads words has every second one, and pictures of
        several choices take turns.
        """
        everybody = [each for each in self.occupants() if each.request.job.adapters == adapters]
        seeing = [each for each in everybody if each.is_reading and each.request.job.prompt.sight_at(each.held)]
        if not seeing:
            self._others_wait.discard(adapters)
            return None, everybody
        others = [each for each in everybody if each not in seeing]
        if others and adapters in self._others_wait:
            self._others_wait.discard(adapters)
            return None, others
        self._others_wait.add(adapters)
        turn = next((each for each in seeing if each.slot > self._seen_last), seeing[0])
        self._seen_last = turn.slot
        return turn, others
