"""How long an engine that dies has to wait."""

from __future__ import annotations

from troth.fleet.backoff import BackOff, BackOffLimits

LIMITS = BackOffLimits(first_seconds=1, seconds_max=4, crashes_max=4, healthy_seconds=300)


class Clock:
    """A time that tests turn forward."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_each_crash_in_a_row_waits_twice_as_long_up_to_a_bound() -> None:
    breaker, waits = BackOff(LIMITS, Clock()), []
    for _ in range(4):
        breaker.note_crash()
        waits.append(breaker.wait_seconds)

    assert waits == [1, 2, 4, 4]


def test_after_so_many_crashes_only_the_operator_starts_it() -> None:
    breaker = BackOff(LIMITS, Clock())
    for crash in range(1, 5):
        breaker.note_crash()
        assert breaker.is_parked == (crash == 4)

    breaker.reset()

    assert (breaker.is_parked, breaker.wait_seconds, breaker.crashes) == (False, 0, 0)


def test_a_healthy_life_ends_a_row_of_crashes() -> None:
    clock = Clock()
    breaker = BackOff(LIMITS, clock)
    breaker.note_crash()
    breaker.note_crash()
    breaker.note_ready()
    clock.now += 299
    breaker.note_crash()
    assert breaker.crashes == 3

    breaker.note_ready()
    clock.now += 300
    breaker.note_crash()

    assert breaker.crashes == 1


def test_the_wait_passes() -> None:
    clock = Clock()
    breaker = BackOff(LIMITS, clock)
    breaker.note_crash()
    clock.now += 1.5

    assert breaker.wait_seconds == 0


def test_however_many_crashes_there_were_the_wait_is_a_number() -> None:
    breaker = BackOff(BackOffLimits(first_seconds=1, seconds_max=60, crashes_max=10_000), Clock())
    for _ in range(2000):
        breaker.note_crash()

    assert breaker.wait_seconds == 60
