"""What holds for the legal status of any Job, whatever any worker says."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.core import times
from jobferry.kinds.job import legal
from jobferry.kinds.job.status import end, is_suspended
from jobferry.objects import Obj, conditions, merge_patch
from jobferry.objects.indexes import IndexSet
from tests.unit.kinds.job.jobs import ELASTIC, INDEXED, NOW, PER_INDEX, at, condition, hub_job

counts = st.integers(0, 9)
moments = st.integers(-600, 600).map(at)
indexes = st.sets(st.integers(0, 7)).map(lambda each: str(IndexSet.of(each)))
types = ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended", "Placed"]
listed = st.lists(
    st.builds(condition, st.sampled_from(types), st.sampled_from(["True", "False"])),
    max_size=4,
)
statuses = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("active", "ready", "terminating", "succeeded", "failed"), counts),
        **dict.fromkeys(("startTime", "completionTime"), moments),
        **dict.fromkeys(("completedIndexes", "failedIndexes"), indexes),
        "conditions": listed,
    },
)
shapes: list[Obj] = [{}, {"completions": None}, INDEXED, ELASTIC, PER_INDEX]
specs = st.builds(
    lambda shape, on: shape | {"suspend": on}, st.sampled_from(shapes), st.booleans()
)


def written(job: Obj, wanted: Obj) -> Obj:
    """The hub Job after the legal status was written, through the patch that is sent."""
    patch = legal.patch(job, legal.legalise(job, wanted, NOW)) or {"status": {}}
    changed: Obj = merge_patch.apply(job, {"status": patch["status"]})
    return changed


@settings(deadline=None)
@given(specs, statuses, statuses)
def test_the_same_wish_again_changes_nothing(spec: Obj, first: Obj, wanted: Obj) -> None:
    job = written(written(hub_job(**spec), first), wanted)

    again = legal.legalise(job, wanted, NOW + timedelta(hours=1))

    assert legal.patch(job, again) is None


@settings(deadline=None)
@given(specs, st.lists(statuses, min_size=2, max_size=5))
def test_what_was_shown_once_is_never_taken_back(spec: Obj, wishes: list[Obj]) -> None:
    job = hub_job(**spec)
    for wanted in wishes:
        before, job = job["status"], written(job, wanted)
        after = job["status"]

        for counter in ("succeeded", "failed"):
            assert after.get(counter, 0) >= before.get(counter, 0)
        assert not end(before) or after == before
        if "startTime" in before and not spec["suspend"]:
            assert after["startTime"] == before["startTime"]


@settings(deadline=None)
@given(specs, statuses, statuses)
def test_an_end_is_told_at_once_and_never_made_up(spec: Obj, first: Obj, wanted: Obj) -> None:
    job = written(hub_job(**spec), first)

    after = written(job, wanted)["status"]

    assert bool(end(after)) == bool(end(first) or end(wanted))
    if ended := end(after):
        assert "startTime" in after
        if ended["type"] == "Complete":
            start, completion = after["startTime"], after["completionTime"]
            assert times.instant(completion) >= times.instant(start)


@settings(deadline=None)
@given(specs, statuses)
def test_a_job_is_suspended_on_the_hub_only_if_somebody_says_so(spec: Obj, wanted: Obj) -> None:
    after = written(hub_job(**spec), wanted)["status"]

    assert is_suspended(after) == conditions.is_true(wanted.get("conditions"), "Suspended")
