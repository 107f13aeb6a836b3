"""Several prompts in one request: prepared before any is worked on, worked on a few at a time, one stream of events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from troth.conversation import Conversation, Opened, Prepared
from troth.domain import Account, Ask, Event, Finished, Progress
from troth.errors import QueueFull, Refusal
from troth.reply.totals import total_timings, total_usage

News = asyncio.Queue[tuple[int, Event] | Refusal]  # with the number of the prompt

AT_ONCE = 8  # prompts of one request that wait or run


class Together:
    """Answers under way to the prompts of one request; choices are counted over all of them, prompt by prompt."""

    def __init__(self, conversation: Conversation, prepared: Sequence[Prepared], account: Account) -> None:
        """Raises QueueFull when not even the first has a place. Whoever made it reads `events`, or cancels."""
        self._conversation = conversation
        self._account = account
        self.prepared = prepared
        self._working = 0
        self._ended = asyncio.Event()
        self._opened: list[Opened] = [conversation.submit(prepared[0], account)]

    @classmethod
    async def open(cls, conversation: Conversation, asks: Sequence[Ask], account: Account) -> Together:
        """Every prompt has been read, the first has a place in the line. Raises any Refusal that needs no waiting."""
        prepared = []
        for index, ask in enumerate(asks):
            try:
                prepared.append(await conversation.prepare(ask, account))
            except Refusal as refusal:
                if len(asks) > 1:
                    refusal.message = f"Prompt {index}: {refusal.message}"
                raise
        return cls(conversation, prepared, account)

    async def wait_started(self, seconds: float) -> bool:
        """True once the first prompt has left the queue; False when `seconds` passed first. Raises Refusal."""
        return await self._opened[0].wait_started(seconds)

    async def events(self) -> AsyncIterator[Event]:
        """The events of all prompts as they come; one Finished at the end, over all of them."""
        if len(self.prepared) == 1:
            async for event in self._opened[0].events():
                yield event
            return
        news: News = asyncio.Queue()
        gate = asyncio.Semaphore(AT_ONCE)
        tasks = [asyncio.create_task(self._answer(number, gate, news)) for number in range(len(self.prepared))]
        finished: list[Finished] = []
        offsets = self._offsets()
        try:
            while len(finished) < len(tasks):
                told = await news.get()
                if isinstance(told, Refusal):
                    raise told
                number, event = told
                if isinstance(event, Finished):
                    finished.append(event)
                elif not isinstance(event, Progress):  # of one prompt among many it would tell nothing
                    yield replace(event, choice=event.choice + offsets[number])
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.cancel()
        yield self._total(finished)

    async def _answer(self, number: int, gate: asyncio.Semaphore, news: News) -> None:
        """The events of one prompt, once it is its turn."""
        try:
            async with gate:
                opened = self._opened[0] if not number else await self._place(number)
                self._working += 1
                try:
                    async for event in opened.events():
                        news.put_nowait((number, event))
                finally:
                    self._working -= 1
                    self._ended.set()
        except Refusal as refusal:
            news.put_nowait(refusal)

    async def _place(self, number: int) -> Opened:
        """A place in the line. While it is full and others of this request have places, it waits for one of those."""
        while True:
            try:
                opened = self._conversation.submit(self.prepared[number], self._account)
            except QueueFull:
                if not self._working:
                    raise
                self._ended.clear()
                await self._ended.wait()
            else:
                self._opened.append(opened)
                return opened

    def _offsets(self) -> list[int]:
        offsets = [0]
        for each in self.prepared:
            offsets.append(offsets[-1] + each.plan.ask.choices)
        return offsets

    def _total(self, finished: Sequence[Finished]) -> Finished:
        usage = total_usage([each.usage for each in finished])
        self._account.prompt_tokens, self._account.cached_tokens = usage.prompt_tokens, usage.cached_tokens
        self._account.answer_tokens = usage.answer_tokens
        return Finished(usage, total_timings([each.timings for each in finished]))

    def cancel(self) -> None:
        """The engine works on none of it any more. Safe to call twice."""
        for opened in self._opened:
            opened.cancel()
