"""A decoder in a process of its own: what it says and what becomes of it, without a model."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tests.support.live import wait_until
from tests.support.mortal import ABORT, HANG, SEGFAULT, UNTIL_CUT, MortalEngine
from troth.domain import Sampling
from troth.engines.base import DecodeInterrupted, Decoder, Distant, EngineGone, Sampler
from troth.engines.child import Isolated, channel
from troth.engines.child.channel import Channel, ChannelClosed, Shelf
from troth.engines.child.remote import RemoteDecoder
from troth.errors import EngineFault, Unavailable


def load(engine: MortalEngine | None = None) -> RemoteDecoder:
    return Isolated(engine or MortalEngine()).load(lambda fraction: None)


def pid_of(decoder: Decoder) -> int:
    pid: int = decoder.describe()["process"]
    return pid


def is_there(pid: int) -> bool:
    """False when the process has ended and has been reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def decoder() -> Iterator[RemoteDecoder]:
    loaded = load()
    yield loaded
    loaded.close()


def read(decoder: Decoder, tokens: list[int]) -> tuple[Sampler, int]:
    """The tokens are held by slot 0, and there is a sampler to pick with."""
    decoder.begin()
    row = decoder.add(0, tokens, 0, rows=1)
    decoder.decode()
    return decoder.sampler(Sampling(), seed=1, prompt=np.array(tokens, np.int32), bias={}), row


def test_what_the_decoder_says_of_itself_is_known_here(decoder: RemoteDecoder) -> None:
    assert isinstance(decoder, Distant)
    assert (decoder.slots, decoder.context_tokens, decoder.batch_tokens) == (4, 256, 32)
    assert decoder.can_cut
    assert decoder.state_key == "scripted"
    assert decoder.vocabulary.piece(1) == decoder.vocabulary.spoken(1) == b"a"
    assert decoder.describe()["isolation"] == "process"
    assert decoder.vocabulary.tokenize("cab", special=False, bos=False).tolist() == [3, 1, 2]


def test_a_slot_is_read_picked_from_saved_emptied_and_restored(decoder: RemoteDecoder) -> None:
    sampler, row = read(decoder, [3, 4, 5])
    assert decoder.pick([(sampler, row)]) == [1]
    state = decoder.save(0)

    decoder.forget(0, 0)
    decoder.restore(0, state, 2)

    assert decoder.save(0).tolist() == [3, 4]
    sampler.close()
    sampler.close()


def test_foreseen_picks_follow_their_draft_as_long_as_it_comes_true(decoder: RemoteDecoder) -> None:
    sampler, _ = read(decoder, [3])
    decoder.begin()
    row = decoder.add(0, [2, 1, 1, 9], 1, rows=4)
    decoder.foresee([(sampler, row)])

    decoder.decode()
    decoder.kill()

    assert [decoder.pick([(sampler, row + further)]) for further in range(3)] == [[1], [1], [1]]
    with pytest.raises(EngineGone):  # the draft did not foresee a further one, and nobody is left to ask
        decoder.pick([(sampler, row + 3)])


def test_a_batch_that_was_cut_short_is_not_computed(decoder: RemoteDecoder) -> None:
    decoder.begin()
    decoder.add(0, [UNTIL_CUT], 0, rows=1)
    decoder.interrupt()  # it and the batch take two ways

    with pytest.raises(DecodeInterrupted):
        decoder.decode()
    read(decoder, [3])
    assert decoder.save(0).tolist() == [3]


def test_a_batch_can_be_cut_short_while_it_is_computed(decoder: RemoteDecoder) -> None:
    with ThreadPoolExecutor(1) as threads:
        computing = threads.submit(read, decoder, [UNTIL_CUT])
        while not computing.done():
            decoder.interrupt()

    with pytest.raises(DecodeInterrupted):
        computing.result()


@pytest.mark.parametrize(("letter", "name"), [(SEGFAULT, "SIGSEGV"), (ABORT, "SIGABRT")])
def test_a_crash_is_a_fault_that_names_its_signal(decoder: RemoteDecoder, letter: int, name: str) -> None:
    told: list[EngineGone] = []
    heard = threading.Event()

    def tell(gone: EngineGone) -> None:
        told.append(gone)
        heard.set()

    decoder.when_gone(tell)

    with pytest.raises(EngineGone, match=name):
        read(decoder, [1, letter])

    assert heard.wait(5)
    assert [gone.message for gone in told] == [f"The engine failed: its process was ended by signal {_number(name)}."]
    with pytest.raises(EngineGone, match=name):
        decoder.vocabulary.tokenize("a", special=False, bos=False)
    decoder.forget(0, 0)  # nothing to say to anybody
    decoder.interrupt()
    assert not is_there(pid_of(decoder))


def _number(name: str) -> str:
    return f"{signal.Signals[name].value} ({name})"


def test_who_waits_for_tokens_is_told_at_once(decoder: RemoteDecoder) -> None:
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(decoder.vocabulary.tokenize, "for ever", special=False, bos=False)
        read(decoder, [1])  # tokenising does not hold up a batch
        os.kill(pid_of(decoder), signal.SIGKILL)

        with pytest.raises(EngineGone, match="SIGKILL"):
            waiting.result(10)


def test_a_signal_that_is_meant_for_the_server_does_not_end_the_child(decoder: RemoteDecoder) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        os.kill(pid_of(decoder), number)

    read(decoder, [1])
    assert os.getsid(pid_of(decoder)) == pid_of(decoder)  # Ctrl-C at the terminal does not reach it at all


def test_a_closed_decoder_leaves_no_process_behind_and_nobody_is_told() -> None:
    decoder = load()
    told: list[EngineGone] = []
    decoder.when_gone(told.append)

    decoder.close()
    decoder.close()

    assert not is_there(pid_of(decoder))
    assert told == []
    with pytest.raises(Unavailable, match="was unloaded"):
        decoder.vocabulary.tokenize("a", special=False, bos=False)


def test_a_child_that_hangs_can_be_ended(decoder: RemoteDecoder) -> None:
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(read, decoder, [HANG])

        decoder.kill()

        with pytest.raises(EngineGone, match="SIGKILL"):
            waiting.result(10)


def test_a_load_that_fails_says_so_in_the_engine_s_words() -> None:
    with pytest.raises(EngineFault, match=r"^the file is broken$"):
        load(MortalEngine(load_fault="the file is broken"))


def test_a_crash_while_the_model_is_loaded_is_a_fault_that_names_its_signal() -> None:
    with pytest.raises(EngineFault, match=r"SIGSEGV\) while the model was loaded\.$"):
        load(MortalEngine(load_signal=signal.SIGSEGV))


def test_a_load_that_is_no_longer_wanted_ends_even_if_it_hangs() -> None:
    heard: list[float] = []

    def progress(done: float) -> bool:
        heard.append(done)
        return done < 0.5

    with pytest.raises(EngineFault, match="given up"):
        Isolated(MortalEngine(hangs_at_load=True)).load(progress)
    assert heard[-1] == 0.5


def test_an_engine_that_does_not_pickle_is_refused_and_leaves_no_process_behind() -> None:
    class Local(MortalEngine):
        pass

    with pytest.raises((AttributeError, pickle.PicklingError), match="Local"):
        Isolated(Local()).load(lambda fraction: None)


PARENT = """
import sys, time
from tests.support.mortal import MortalEngine
from troth.engines.child import Isolated
decoder = Isolated(MortalEngine()).load(lambda fraction: None)
print(decoder.describe()["process"], flush=True)
sys.stdin.read()
"""


def test_a_server_that_is_killed_leaves_no_child_behind() -> None:
    root = Path(__file__).parents[3]
    with subprocess.Popen([sys.executable, "-c", PARENT], cwd=root, stdin=-1, stdout=-1, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_running(pid)
        parent.kill()

        wait_until(lambda: not is_running(pid), "the child has ended too", 10)


def is_running(pid: int) -> bool:
    """False when the process has ended, reaped or not: an orphan is reaped by whoever adopts it."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    return False


def test_a_shelf_takes_any_size_and_gives_large_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel, "KEPT_BYTES", 3 << 20)
    here = Shelf.make()
    there = Shelf(os.dup(here.number))
    for size in (0, 1, 5000, 3 << 20, (3 << 20) + 1, 2 << 20, 7):
        state = np.random.default_rng(size).integers(0, 256, size, np.uint8)
        for giver, taker in ((here, there), (there, here)):
            taken = taker.take(giver.put(state))
            assert np.array_equal(taken, state)
            taken[:1] = 0  # it is a copy, to be written to
        assert os.fstat(here.number).st_size <= 3 << 20

    for shelf in (here, there):
        shelf.close()
        shelf.close()


def test_messages_of_any_size_arrive_as_they_were_sent() -> None:
    ends = socket.socketpair()
    here, there = (Channel(end) for end in ends)
    with ThreadPoolExecutor(1) as threads:
        for size in (0, 1, 65_527, 65_528, 65_529, 3_000_000):
            sending = [threads.submit(here.send, message) for message in (b"x" * size, "next")]
            assert there.receive() == b"x" * size
            assert there.receive() == "next"
            assert [each.result(10) for each in sending] == [None, None]
    assert not there.is_waiting(0)
    here.send(1)
    assert there.is_waiting(5)

    here.shut()
    assert there.receive() == 1
    with pytest.raises(ChannelClosed):
        there.receive()
    with pytest.raises(ChannelClosed):
        there.send(1)
    for each in (here, there):
        each.close()
