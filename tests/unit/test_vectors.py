"""The short corridor: what an engine may not do while a request is made ready for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from tests.support.picture_forms import FORM
from troth.domain import Account
from troth.domain.vectors import PictureForm, Planes, Rows
from troth.engines.base import VectorFacts
from troth.policy.decide import Policy
from troth.policy.vectors import VectorLimits
from troth.vectors import Engines, Vectors


class OneEngine:
    """A model of pictures, and who holds it."""

    facts = VectorFacts(tokens_max=0, picture=FORM)

    def __init__(self) -> None:
        self.holds = 0
        self.holds_seen: list[int] = []

    async def classifier(self, model: str) -> Any:
        return self

    @contextmanager
    def held(self, model: str) -> Iterator[None]:
        self.holds += 1
        yield
        self.holds -= 1

    async def classify(self, pictures: Sequence[Planes]) -> Rows:
        self.holds_seen.append(self.holds)
        return Rows(np.zeros((len(pictures), 1), np.float32), 0, (None,) * len(pictures))


def test_an_engine_is_held_while_pictures_are_made_ready_for_it() -> None:
    engine = OneEngine()

    async def show(form: PictureForm) -> list[Planes]:
        assert form is FORM
        engine.holds_seen.append(engine.holds)
        return [np.zeros((1, 1, 3), np.float32)]

    async def run() -> Rows:
        vectors = Vectors(cast(Policy, None), cast(Engines, engine), VectorLimits(1, 1), lambda *_: None)
        return await vectors.look("pictures", show, Account())

    rows = asyncio.run(run())

    assert rows.values.shape == (1, 1)
    assert (engine.holds_seen, engine.holds) == ([1, 1], 0)
