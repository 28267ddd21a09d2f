from datetime import timedelta

import pytest

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import backoff, pods
from jobferry.localkube.controllers.job.backoff import NONE, Record
from tests.unit.localkube.controllers.job.passes import NOW, pod


def ago(failures: int, seconds: float) -> Record:
    return Record(failures, NOW - timedelta(seconds=seconds))


def failed(seconds: float) -> Pod:
    return pod("f", "Failed", finished=-seconds)


def succeeded(seconds: float) -> Pod:
    return pod("s", "Succeeded", finished=-seconds)


@pytest.mark.parametrize(
    ("record", "wells", "fails", "following"),
    [
        (NONE, [], [], NONE),
        (NONE, [], [failed(3)], ago(1, 3)),
        (ago(2, 90), [], [failed(3), failed(9)], ago(4, 3)),
        (ago(2, 90), [], [], ago(2, 90)),
        (ago(2, 90), [succeeded(5)], [], NONE),
        (ago(2, 90), [succeeded(5)], [failed(9), failed(5)], NONE),
        (
            ago(2, 90),
            [succeeded(5), succeeded(7)],
            [failed(6), failed(3), failed(4)],
            ago(2, 3),
        ),
    ],
)
def test_failures_since_the_last_success_are_remembered(
    record: Record, wells: list[Pod], fails: list[Pod], following: Record
) -> None:
    assert backoff.after(record, wells, fails) == following


@pytest.mark.parametrize(
    ("failures", "delay"),
    [(0, 0), (1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 320), (7, 600), (10**9, 600)],
)
def test_each_failure_doubles_the_wait(failures: int, delay: float) -> None:
    assert backoff.remaining(ago(failures, 0), NOW) == delay
    assert backoff.remaining(ago(failures, 4), NOW) == max(0, delay - 4)
    assert backoff.remaining(ago(failures, 1000), NOW) == 0


def test_nothing_is_waited_for_where_nothing_failed() -> None:
    assert backoff.remaining(NONE, NOW) == 0
    assert backoff.remaining_for_index(None, NOW) == 0


def test_an_index_waits_by_its_own_failures_also_those_that_are_ignored() -> None:
    counts = {pods.FAILURES: "1", pods.IGNORED_FAILURES: "1"}
    last = pod("f", "Failed", finished=-5, annotations=counts)

    assert backoff.remaining_for_index(last, NOW) == 35
