"""An engine whose decoder lives in a process of its own."""

from __future__ import annotations

import logging
import sys

from troth.engines.base import Decodes, LoadProgress
from troth.engines.child.channel import ChannelClosed
from troth.engines.child.process import Child
from troth.engines.child.remote import RemoteDecoder
from troth.engines.child.words import Charge, Facts, Failed, Progress
from troth.errors import EngineFault

logger = logging.getLogger(__name__)

LOOK_SECONDS = 0.2  # between two looks at whether a load is still wanted


class Isolated:
    """`engine`, whose decoder lives in a process of its own: a `Decodes` like it."""

    def __init__(self, engine: Decodes) -> None:
        """The engine must be one that pickles: the child unpickles and loads it."""
        self.honours = engine.honours
        self._engine = engine

    def load(self, progress: LoadProgress) -> RemoteDecoder:
        """The model is in the child's memory. Raises EngineFault in the engine's words, or in ours if the child died.

        The child ends with the thread that calls this.
        """
        child = Child()
        try:
            return RemoteDecoder(child, _loaded(child, self._engine, progress))
        except ChannelClosed as closed:
            words = child.fault().message.removesuffix(".")
            child.dismiss()
            raise EngineFault(f"{words} while the model was loaded.") from closed
        except BaseException:
            child.kill()
            child.dismiss()
            raise


def _loaded(child: Child, engine: Decodes, progress: LoadProgress) -> Facts:
    """What the child says of the decoder that it has loaded."""
    channel, done = child.channels["steps"], 0.0
    channel.send(tuple(sys.path))
    channel.send(Charge(engine=engine, log_level=logger.getEffectiveLevel()))
    while True:
        while not channel.is_waiting(LOOK_SECONDS):
            _go_on(progress, done)
        said = channel.receive()
        if isinstance(said, Failed):
            raise EngineFault(said.text)
        if isinstance(said, Facts):
            return said
        assert isinstance(said, Progress)
        done = said.done
        _go_on(progress, done)


def _go_on(progress: LoadProgress, done: float) -> None:
    if progress(done) is False:
        raise EngineFault("The load was given up.")
