from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.kinds.job.base import BadBase, Base, read, write
from jobferry.objects import Obj
from jobferry.objects.indexes import IndexSet
from tests.unit.kinds.job.jobs import INDEXED, PER_INDEX

PLAIN = {"completions": 5}

index_sets = st.sets(st.integers(0, 9)).map(IndexSet.of)
bases = st.builds(
    Base,
    succeeded=st.integers(0, 9),
    failed=st.integers(0, 9),
    completed_indexes=index_sets,
    failed_indexes=index_sets,
    seconds=st.integers(0, 9),
)
statuses = st.fixed_dictionaries(
    {},
    optional={
        "succeeded": st.integers(0, 9),
        "failed": st.integers(0, 9),
        "completedIndexes": index_sets.map(str),
        "failedIndexes": index_sets.map(str),
    },
)


@settings(deadline=None)
@given(bases)
def test_a_base_survives_its_way_through_json(base: Base) -> None:
    assert Base.from_json(base.to_json()) == base


def test_no_base_is_written_as_nothing() -> None:
    assert Base().to_json() == {}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "a base is an object, not None"),
        ([], "a base is an object, not []"),
        ({"failed": -1}, "failed of a base is a number from 0, not -1"),
        ({"failed": "3"}, "failed of a base is a number from 0, not '3'"),
        ({"seconds": 1.5}, "seconds of a base is a number from 0, not 1.5"),
        ({"succeeded": True}, "succeeded of a base is a number from 0, not True"),
        ({"completedIndexes": 3}, "completedIndexes of a base is text, not 3"),
        (
            {"failedIndexes": "2,1"},
            "failedIndexes of a base: non-increasing order, previous: 2, current: 1",
        ),
    ],
)
def test_an_edited_base_is_refused_with_the_reason(data: Any, problem: str) -> None:
    with pytest.raises(BadBase) as caught:
        Base.from_json(data)

    assert str(caught.value) == problem


def test_counters_add_up_and_pods_that_are_not_counted_yet_are_earned_too() -> None:
    uncounted = {"succeeded": ["a"], "failed": ["b", "c"]}
    status = {"succeeded": 1, "failed": 2, "uncountedTerminatedPods": uncounted}

    base = Base(succeeded=2, failed=1, seconds=9).plus(status, PLAIN)

    assert base == Base(succeeded=4, failed=5, seconds=9)


def test_an_index_that_failed_once_and_completed_later_is_completed() -> None:
    base = Base(failed_indexes=IndexSet.of([0, 1])).plus({"completedIndexes": "1,2"}, INDEXED)

    assert base.counters(PER_INDEX) == {
        "succeeded": 2,
        "failed": 0,
        "completedIndexes": "1,2",
        "failedIndexes": "0",
    }


def test_an_index_that_completed_twice_succeeded_once() -> None:
    first = Base().plus({"succeeded": 2, "completedIndexes": "0,1"}, INDEXED)

    both = first.plus({"succeeded": 2, "completedIndexes": "1,2"}, INDEXED)

    assert (both.succeeded, str(both.completed_indexes)) == (3, "0-2")


def test_indexes_beyond_the_completions_are_forgotten() -> None:
    scaled = {**INDEXED, "completions": 2}

    base = Base(completed_indexes=IndexSet.of([0, 3])).plus({"failedIndexes": "1,2"}, scaled)

    assert (str(base.completed_indexes), str(base.failed_indexes)) == ("0", "1")


def test_only_what_a_job_has_is_shown() -> None:
    assert Base(succeeded=1).counters(PLAIN) == {"succeeded": 1, "failed": 0}


@settings(deadline=None)
@given(bases, bases)
def test_of_two_accounts_the_most_counts(one: Base, other: Base) -> None:
    most = one | other

    assert most.failed == max(one.failed, other.failed)
    assert most.succeeded >= max(one.succeeded, other.succeeded)
    assert set(most.completed_indexes) == {*one.completed_indexes, *other.completed_indexes}
    assert most | one == most == most | other


@settings(deadline=None)
@given(bases, statuses, st.sampled_from([PLAIN, INDEXED, PER_INDEX]))
def test_nothing_that_was_earned_within_the_completions_is_lost(
    base: Base, status: Obj, spec: Obj
) -> None:
    before, after = base.plus({}, spec), base.plus(status, spec)

    assert after.succeeded >= before.succeeded
    assert after.failed >= before.failed
    assert not before.completed_indexes - after.completed_indexes
    assert not after.failed_indexes & after.completed_indexes


@given(bases)
def test_a_base_is_read_as_it_was_written(base: Base) -> None:
    assert read(write(base)) == base


def test_the_text_of_a_base_is_as_in_the_records_that_are_on_hubs() -> None:
    base = Base(2, 1, IndexSet.of([0, 2]), IndexSet.of([1]), 30)

    text = (
        '{"succeeded":2,"failed":1,"completedIndexes":"0,2","failedIndexes":"1","seconds":30}'
    )
    assert write(base) == text
    assert write(Base()) == ""


@pytest.mark.parametrize("text", ["{", "[]", "1", '{"succeeded":-1}', '{"failedIndexes":"x"}'])
def test_nonsense_is_no_base(text: str) -> None:
    assert read(text) == Base()
