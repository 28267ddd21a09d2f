import pytest

from jobferry.clock import Seconds
from jobferry.core.key import WorkloadKey
from jobferry.dispatch.refusals import ASKING, FIRST, LONGEST, Refusals
from jobferry.testing.clock import ManualClock

A, B = WorkloadKey("Job.batch", "ns", "a"), WorkloadKey("Job.batch", "ns", "b")
ELSEWHERE = WorkloadKey("Job.batch", "other", "a")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def refusals(clock: ManualClock) -> Refusals:
    return Refusals(clock.monotonic)


def refuse(
    refusals: Refusals, key: WorkloadKey, *, reason: str = "Forbidden", is_general: bool = False
) -> Seconds | None:
    """Let east refuse a workload; return for how long."""
    refusals.note(key, "east", "why", reason=reason, is_general=is_general)
    return refusals.next(key)


def test_each_refusal_lasts_longer_than_the_one_before_up_to_an_hour(
    refusals: Refusals, clock: ManualClock
) -> None:
    pauses = []
    for _ in range(8):
        pause = refuse(refusals, A)
        assert pause is not None
        pauses.append(pause)
        assert refusals.of(A) == {"east": "why"}
        clock.advance(pause)
        assert refusals.of(A) == {}

    assert pauses == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert (pauses[0], pauses[-1]) == (FIRST, LONGEST)


def test_another_reason_is_another_refusal(refusals: Refusals, clock: ManualClock) -> None:
    refuse(refusals, A)
    clock.advance(FIRST)

    assert refuse(refusals, A, reason="Invalid") == FIRST


def test_workers_and_workloads_have_refusals_of_their_own(refusals: Refusals) -> None:
    refuse(refusals, A)
    refusals.note(A, "west", "full", reason="Forbidden", is_general=False)

    assert refusals.of(A) == {"east": "why", "west": "full"}
    assert refusals.of(B) == refusals.of(ELSEWHERE) == {}
    assert refusals.next(B) is None


@pytest.mark.parametrize("is_general", [False, True])
def test_a_worker_that_changes_is_asked_at_once(refusals: Refusals, is_general: bool) -> None:
    refuse(refusals, A, is_general=is_general)

    refusals.forgive("east")

    assert refusals.of(A) == {}
    assert refuse(refusals, A, is_general=is_general) == FIRST


def test_a_workload_that_changes_asks_at_once(refusals: Refusals) -> None:
    refuse(refusals, A)

    refusals.forget(A)

    assert refusals.of(A) == {}


def test_what_is_refused_to_a_namespace_is_not_asked_for_each_of_its_workloads(
    refusals: Refusals,
) -> None:
    refuse(refusals, A, is_general=True)

    assert refusals.of(B) == {"east": "why"}
    assert not refusals.ask(B, "east")
    assert refusals.of(ELSEWHERE) == {}
    assert refusals.ask(ELSEWHERE, "east")


def test_several_that_are_refused_at_the_same_time_are_refused_once(
    refusals: Refusals, clock: ManualClock
) -> None:
    refuse(refusals, A, is_general=True)
    clock.advance(1)

    assert refuse(refusals, B, is_general=True) == FIRST - 1


def test_one_asks_for_all_of_its_namespace(refusals: Refusals, clock: ManualClock) -> None:
    refuse(refusals, A, is_general=True)
    clock.advance(FIRST)
    assert refusals.of(A) == refusals.of(B) == {}

    assert refusals.ask(B, "east")
    assert refusals.ask(B, "east")

    assert not refusals.ask(A, "east")
    assert refusals.of(B) == {}
    assert refusals.of(A) == {"east": "why"}
    assert refuse(refusals, B, is_general=True) == 2 * FIRST
    assert refusals.next(A) == 2 * FIRST


def test_one_that_does_not_come_to_ask_is_not_waited_for(
    refusals: Refusals, clock: ManualClock
) -> None:
    refuse(refusals, A, is_general=True)
    clock.advance(FIRST)
    refusals.ask(B, "east")
    clock.advance(ASKING)

    assert refusals.ask(A, "east")
    assert not refusals.ask(B, "east")


def test_who_is_accepted_opens_the_door_for_the_others(
    refusals: Refusals, clock: ManualClock
) -> None:
    refuse(refusals, A, is_general=True)
    clock.advance(FIRST)
    refusals.ask(B, "east")

    assert refusals.accept(B, "east")
    assert not refusals.accept(B, "east")
    assert refusals.of(A) == refusals.of(B) == {}
    assert refusals.ask(A, "east")


def test_who_is_refused_for_itself_has_found_the_door_open(
    refusals: Refusals, clock: ManualClock
) -> None:
    refuse(refusals, A, is_general=True)
    clock.advance(FIRST)
    refusals.ask(B, "east")

    refuse(refusals, B)

    assert refusals.of(A) == {}
    assert refusals.of(B) == {"east": "why"}
