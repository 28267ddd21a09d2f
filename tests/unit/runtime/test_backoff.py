from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.runtime.backoff import Backoff, Failures

STEADY = Backoff(first=1, factor=2, cap=10, jitter=0)
RANDOM = Random(0)


def test_each_wait_is_longer_by_the_factor_until_the_cap() -> None:
    assert [STEADY.delay(failures, 0.5) for failures in range(1, 7)] == [1, 2, 4, 8, 10, 10]


@settings(deadline=None)
@given(st.integers(1, 10**9), st.floats(0, 1), st.floats(1, 10))
def test_no_number_of_failures_exceeds_the_cap_or_overflows(
    failures: int, chance: float, factor: float
) -> None:
    backoff = Backoff(first=0.1, factor=factor, cap=30, jitter=0.3)

    assert 0.1 * 0.7 - 1e-9 <= backoff.delay(failures, chance) <= 30


def test_chance_takes_away_at_most_the_share_that_it_may() -> None:
    backoff = Backoff(first=8, cap=100, jitter=0.25)

    assert backoff.delay(1, 0.0) == 8
    assert backoff.delay(1, 0.5) == 7
    assert backoff.delay(1, 1.0) == 6


def test_each_key_fails_for_itself() -> None:
    failures: Failures[str] = Failures(STEADY, RANDOM)

    assert [failures.delay("a"), failures.delay("a"), failures.delay("b")] == [1, 2, 1]
    assert (failures.count("a"), failures.count("b"), failures.count("c")) == (2, 1, 0)


def test_a_key_that_is_forgotten_starts_anew() -> None:
    failures: Failures[str] = Failures(STEADY, RANDOM)
    failures.delay("a")
    failures.delay("a")

    failures.forget("a")
    failures.forget("never seen")

    assert failures.count("a") == 0
    assert failures.delay("a") == 1


def test_many_keys_that_fail_together_do_not_come_back_together() -> None:
    failures: Failures[int] = Failures(Backoff(), RANDOM)

    assert len({failures.delay(key) for key in range(100)}) > 90
