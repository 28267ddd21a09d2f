from itertools import chain
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.core import placement
from jobferry.core.placement import Placement, Shard
from jobferry.objects import Obj, indexes, merge_patch
from tests.unit.core.worlds import NOW, hub_job

DECISION = Placement("uid-1", 2, (Shard("east", "east-uid", '{"succeeded":3}'),))


def placed(decision: Placement = DECISION) -> Obj:
    job: Obj = merge_patch.apply(hub_job(), placement.patch(hub_job(), decision, NOW))
    return job


def test_a_placement_is_read_as_it_was_written() -> None:
    assert placement.read(placed()) == DECISION
    assert placement.last_attempt(placed()) == 2
    assert placement.told("uid-1", str(DECISION)) == DECISION


def test_the_write_is_guarded_by_the_version_it_was_decided_on() -> None:
    assert placement.patch(hub_job(), DECISION, NOW)["metadata"]["resourceVersion"] == "1"


def test_other_conditions_are_kept() -> None:
    job = {**hub_job(), "status": {"conditions": [{"type": "Other", "status": "True"}]}}

    patch = placement.patch(job, DECISION, NOW)

    assert [each["type"] for each in patch["status"]["conditions"]] == ["Other", "Placed"]


def test_a_placement_without_its_condition_does_not_count() -> None:
    job = placed() | {"status": {}}

    assert placement.read(job) is None
    assert placement.last_attempt(job) == 0


def test_a_placement_copied_from_another_job_does_not_count() -> None:
    job = placed()
    job = {**job, "metadata": {**job["metadata"], "uid": "another"}}

    assert placement.read(job) is None


def test_an_altered_placement_does_not_count_but_the_condition_still_tells() -> None:
    for forged in (Shard("west", "west-uid"), Shard("east", "east-uid", '{"succeeded":9}')):
        note = placed(Placement("uid-1", 2, (forged,)))["metadata"]["annotations"]
        job = merge_patch.apply(placed(), {"metadata": {"annotations": note}})

        assert placement.read(job) is None
        assert placement.vouched(job) == DECISION


EARNED = st.dictionaries(
    st.sampled_from(["succeeded", "completedIndexes", "seconds"]),
    st.integers(0, 99) | st.sets(st.integers(0, 40)).map(indexes.IndexSet.of).map(str),
)
BASES = EARNED.map(lambda members: orjson.dumps(members).decode() if members else "")
SHARDS = st.builds(
    Shard, st.from_regex(r"[a-z][a-z0-9.-]{0,9}", fullmatch=True), st.uuids().map(str), BASES
)


@given(st.lists(SHARDS, min_size=1, max_size=3).map(tuple), st.integers(1, 99))
def test_the_condition_alone_tells_all_of_a_placement(
    shards: tuple[Shard, ...], attempt: int
) -> None:
    decision = Placement("uid-1", attempt, shards)

    assert placement.vouched(placed(decision)) == decision


@pytest.mark.parametrize(
    "message",
    [
        "",
        "attempt 2 on ",
        "attempt 2 on east",
        'attempt 2 on east (east-uid) after {"succeeded": 1}',
        "attempt 2 on east (east-uid) after {]}",
        "attempt 2 on east (east-uid) and more",
    ],
)
def test_a_condition_that_tells_something_else_vouches_for_nothing(message: str) -> None:
    job = placed()
    job["status"]["conditions"][0]["message"] = message

    assert placement.vouched(job) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "1",
        "{}",
        '{"format":1}',
        '{"format":9,"uid":"uid-1","attempt":1,"shards":[]}',
    ],
)
def test_whatever_a_user_writes_there_is_no_placement(text: str) -> None:
    job = merge_patch.apply(
        placed(), {"metadata": {"annotations": {placement.ANNOTATION: text}}}
    )

    assert placement.read(job) is None


def test_a_base_that_no_condition_could_tell_makes_no_placement() -> None:
    data: Any = {"format": 1, "uid": "uid-1", "attempt": 2}
    data["shards"] = [{"worker": "east", "cluster": "east-uid", "base": {"a": {"b": 1}}}]
    note = {placement.ANNOTATION: orjson.dumps(data).decode()}

    assert (
        placement.read(merge_patch.apply(placed(), {"metadata": {"annotations": note}})) is None
    )


def test_a_record_fits_if_all_annotations_together_are_not_too_large() -> None:
    patch = placement.patch(hub_job(), DECISION, NOW)
    size = len("".join([*chain(*patch["metadata"]["annotations"].items())]))
    note = {"\u00e4": "-" * (256 * 1024 - size - 2)}
    assert placement.fits({"metadata": {"annotations": note}}, patch)

    note["\u00e4"] += "-"
    assert not placement.fits({"metadata": {"annotations": note}}, patch)


def test_a_record_takes_the_place_of_the_one_before() -> None:
    note = {placement.ANNOTATION: "-" * 256 * 1024}

    patch = placement.patch(hub_job(), DECISION, NOW)

    assert placement.fits({"metadata": {"annotations": note}}, patch)
