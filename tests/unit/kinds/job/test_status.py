import pytest

from jobferry.kinds.job import status
from jobferry.objects import Obj
from tests.unit.kinds.job.jobs import condition


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ({}, None),
        ({"conditions": [condition("Complete", "False"), condition("FailureTarget")]}, None),
        ({"conditions": [condition("SuccessCriteriaMet"), condition("Complete")]}, "Complete"),
        ({"conditions": [condition("Failed"), condition("Complete")]}, "Failed"),
    ],
)
def test_a_job_has_ended_as_its_first_true_condition_says(said: Obj, how: str | None) -> None:
    ended = status.end(said)

    assert (ended["type"] if ended else None) == how


@pytest.mark.parametrize(("value", "counted"), [(3, 3), (0, 0), (None, 0), (-1, 0)])
def test_what_is_no_amount_counts_as_zero(value: int | None, counted: int) -> None:
    assert status.count({"failed": value}, "failed") == counted


def test_indexes_are_read_without_knowing_how_many_there_are() -> None:
    assert list(status.read_indexes({"failedIndexes": "3,70-71"}, "failedIndexes")) == [
        3,
        70,
        71,
    ]


@pytest.mark.parametrize("text", [None, "", "2,1", "x"])
def test_indexes_that_make_no_sense_are_none(text: str | None) -> None:
    assert not status.read_indexes({"completedIndexes": text}, "completedIndexes")
