"""The seam to another server that reads conversations by itself. `base.py` names it too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from troth.domain import Plan, Prompt, Ticket, TokenIds
from troth.engines.reports import EngineReport


class Relays(ABC):
    """Another server, which reads conversations by itself: a plan goes there as it stands, and events come back.

    A class, and no protocol: every request asks whether its engine is one, and that must cost nothing.
    """

    honours: frozenset[str]

    @abstractmethod
    async def start(self, progress: Callable[[float], bool | None]) -> None:
        """Every replica has been asked once, whether it answered or not."""

    @abstractmethod
    async def stop(self) -> None:
        """Every answer under way has ended with a fault. Safe to call twice."""

    @abstractmethod
    def report(self) -> EngineReport:
        """What is known of that server now, without asking it."""

    @property
    @abstractmethod
    def context_tokens(self) -> int:
        """Tokens of one sequence there; 0 when that is not known."""

    @abstractmethod
    def check(self, plan: Plan) -> None:
        """Nothing of the plan would be dropped there. Raises Unsupported or NotImplementedHere, without asking it."""

    @abstractmethod
    def relay(self, plan: Plan, prompt: Prompt) -> Ticket:
        """The plan is on its way. Called on the event loop."""

    @abstractmethod
    async def read(self, plan: Plan) -> tuple[TokenIds, str]:
        """What that server would read: the tokens, and the same as text. Raises NotImplementedHere."""

    @abstractmethod
    def lists(self, name: str) -> bool:
        """True when the server's own list of models, as it was last seen, has this name."""

    @abstractmethod
    async def refresh(self) -> None:
        """That list has been looked at again. Raises nothing: what failed is in the report."""
