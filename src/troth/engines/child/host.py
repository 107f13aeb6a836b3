"""The child's side: one decoder, and a thread for each channel that has questions for it.

steps      the decoder's own thread, as in any server: batches, samplers, states
texts      texts as tokens; never behind a batch
grammars   grammars compiled; never in front of a text
orders     a piece of work is to be cut short; the end of this channel is the end of the process
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from troth.domain import Grammar, GrammarSource
from troth.engines.base import DecodeInterrupted, Decoder, Sampler
from troth.engines.child.channel import Channel, ChannelClosed, Shelf
from troth.engines.child.words import (
    Adds,
    Answer,
    Charge,
    Facts,
    Failed,
    GuideState,
    Pick,
    Picked,
    Progress,
    SamplerOrder,
)

logger = logging.getLogger(__name__)

PROGRESS_MIN = 0.01  # smaller steps of a load are not told
AGAIN_SECONDS = 0.02  # until an interrupt that came too early is given once more


class Work:
    """The piece of work that runs, by number, and up to which number work is to be cut short."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._running = 0
        self._cut = 0

    def begin(self, number: int) -> bool:
        """The piece runs, unless it was cut short before it began."""
        with self._condition:
            if number <= self._cut:
                return False
            self._running = number
            return True

    def end(self) -> None:
        """Nothing runs."""
        with self._condition:
            self._running = 0
            self._condition.notify_all()

    def cut(self, number: int, interrupt: Callable[[], None]) -> None:
        """The piece has ended, if it ran, or will not begin."""
        with self._condition:
            self._cut = max(self._cut, number)
            while self._running == number:  # a decoder may hear nothing in the moment in which it begins
                interrupt()
                self._condition.wait(AGAIN_SECONDS)


class Host:
    """Serves one decoder to the process at the other end."""

    def __init__(self, channels: Mapping[str, Channel], shelf: Shelf) -> None:
        self._shelf = shelf
        self._channels = channels
        self._work = Work()
        self._decoder: Decoder | None = None
        self._samplers: dict[int, Sampler] = {}
        self._grammars: dict[int, Grammar] = {}
        self._numbers = itertools.count(1)  # of grammars
        self._told = 0.0

    def run(self) -> int:
        """The exit code, once the channel of steps is closed."""
        threading.Thread(target=self._obey, name="orders", daemon=True).start()
        steps = self._channels["steps"]
        try:
            decoder = self._load(steps)
        except ChannelClosed:
            return 0  # nobody waits for the model any more
        if decoder is not None:
            for name, answer in (("texts", self._tokens), ("grammars", self._grammar)):
                arguments = (self._channels[name], answer)
                threading.Thread(target=_serve, args=arguments, name=name, daemon=True).start()
            _serve(steps, self._step)
        return 0

    def _load(self, steps: Channel) -> Decoder | None:
        """The decoder that was asked for; without one the reason has been told. Raises ChannelClosed."""
        sys.path[:] = steps.receive()  # first, for without it the engine may not be found
        try:
            charge: Charge = steps.receive()
            logging.getLogger("troth").setLevel(charge.log_level)
            decoder = charge.engine.load(self._progress)
            facts = Facts.of(decoder)
        except ChannelClosed:
            raise
        except Exception as error:  # the boundary of the process: the operator reads it in the server's words
            steps.send(Failed.of(error, logger))
            return None
        self._decoder = decoder  # before anybody can ask for it
        steps.send(facts)
        return decoder

    def _progress(self, done: float) -> bool:
        if done - self._told >= PROGRESS_MIN or done < self._told:
            self._told = done
            self._channels["steps"].send(Progress(done))
        return True  # who wants no more of it ends the process

    def _obey(self) -> None:
        try:
            while True:
                number: int = self._channels["orders"].receive()
                if self._decoder is not None:
                    self._work.cut(number, self._decoder.interrupt)
        except ChannelClosed:
            os._exit(0)  # whatever the other threads are doing: the kernel gives everything back

    # ---- questions ------------------------------------------------------------------------------

    def _tokens(self, question: tuple[str, bool, bool]) -> Any:
        text, special, bos = question
        assert self._decoder is not None
        return self._decoder.vocabulary.tokenize(text, special=special, bos=bos)

    def _grammar(self, question: tuple[GrammarSource, Sequence[int]]) -> int:
        source, unneeded = question
        for number in unneeded:
            del self._grammars[number]
        assert self._decoder is not None
        assert self._decoder.grammars is not None
        grammar = self._decoder.grammars.compile(source)
        number = next(self._numbers)
        self._grammars[number] = grammar
        return number

    def _step(self, question: tuple[Sequence[tuple[Any, ...]], str, tuple[Any, ...]]) -> Any:
        """What the question gives, after everything that was posted before it."""
        posts, name, arguments = question
        fault: Exception | None = None
        for post, *told in posts:
            try:
                self._do(post, *told)
            except Exception as error:  # of what had no question of its own; the others are done nevertheless
                fault = fault or error
        if fault is not None:
            raise fault
        return self._do(name, *arguments)

    def _do(self, name: str, *arguments: Any) -> Any:
        decoder = self._decoder
        assert decoder is not None
        match name:
            case "decode":
                return self._decode(decoder, *arguments)
            case "adapt":
                return decoder.adapt(*arguments)
            case "pick":
                return [self._pick(decoder, *each) for each in arguments[0]]
            case "sampler":
                return self._make_sampler(decoder, *arguments)
            case "close_sampler":
                return self._samplers.pop(arguments[0]).close()
            case "logprobs":
                return decoder.logprobs(*arguments)
            case "drawn":
                number, token, alternatives = arguments
                return decoder.drawn(self._samplers[number], token, alternatives)
            case "propose":
                return self._propose(decoder, *arguments)
            case "forget":
                return decoder.forget(*arguments)
            case "save":
                return self._shelf.put(decoder.save(*arguments))
            case "restore":
                slot, size, tokens = arguments
                return decoder.restore(slot, self._shelf.take(size), tokens)
        raise AssertionError(f"nobody asks {name!r}")

    def _decode(self, decoder: Decoder, number: int, adds: Adds, foreseen: Sequence[Pick]) -> list[Picked]:
        decoder.begin()
        for slot, tokens, position, rows in adds:
            decoder.add(slot, tokens, position, rows=rows)
        if not self._work.begin(number):
            raise DecodeInterrupted
        try:
            decoder.decode()
        finally:
            self._work.end()
        return [self._pick(decoder, *each) for each in foreseen]

    def _propose(self, decoder: Decoder, number: int, tokens: list[int], count: int) -> list[int] | None:
        assert decoder.proposer is not None
        if not self._work.begin(number):
            return None
        try:
            return decoder.proposer.propose(tokens, count)
        finally:
            self._work.end()

    def _pick(self, decoder: Decoder, number: int, row: int, draft: Sequence[int]) -> Picked:
        """The row's token, and the tokens of the rows behind it for as long as the draft has foreseen them."""
        sampler, picked = self._samplers[number], Picked()
        for further in range(1 + len(draft)):
            (token,) = decoder.pick([(sampler, row + further)])
            guide = sampler.guide
            state = (
                None if guide is None else GuideState(guide.fault, guide.fault_field, guide.is_complete, guide.thoughts)
            )
            picked.append((token, state))
            if further == len(draft) or token != draft[further]:
                break
        return picked

    def _make_sampler(self, decoder: Decoder, order: SamplerOrder) -> None:
        steering = order.steering
        if steering is not None and order.grammar is not None:
            steering = replace(steering, grammar=self._grammars[order.grammar])
        self._samplers[order.number] = decoder.sampler(
            order.sampling,
            seed=order.seed,
            prompt=order.prompt,
            bias=order.bias,
            steering=steering,
            tells=order.tells,
        )


def _serve(channel: Channel, answer: Callable[[Any], Any]) -> None:
    """Every question of the channel has been answered, until it was closed."""
    try:
        while True:
            question = channel.receive()
            try:
                said: Answer = (answer(question), None)
            except Exception as error:  # the boundary of the process: whoever asked is told
                said = (None, Failed.of(error, logger))
            channel.send(said)
    except ChannelClosed:
        return
