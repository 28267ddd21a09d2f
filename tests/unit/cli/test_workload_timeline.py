"""The lives of workloads of other kinds than Jobs, as `jobferry describe -k` tells them."""

from collections.abc import Sequence

import pytest

from jobferry.cli import describe, other_kinds, workload_timeline
from jobferry.cli.workload_facts import Workload
from jobferry.core import times
from jobferry.dispatch import switches
from jobferry.objects import Obj, merge_patch
from jobferry.settings import DEFAULTS
from tests.unit.cli.hub_objects import NOW, at, event, job, placed
from tests.unit.cli.test_other_kinds import JOB_SET, job_set, record
from tests.workloads.examples import ADAPTERS, EXAMPLES
from tests.workloads.lives import ENDS, LIVES

MOVED = event("Placed", "Placed on worker west, attempt 2: worker east is lost", age=20)


def whats(seen: Workload, events: Sequence[Obj] = ()) -> list[str]:
    return [moment.what for moment in workload_timeline.life(seen, events)]


def recorded(obj: Obj, *, attempt: int, age: float = 50) -> Obj:
    """Its Placement, which was made so many seconds ago, and tells of that attempt."""
    changes = {"metadata": {"creationTimestamp": at(-age)}, "spec": {"attempt": attempt}}
    return dict(merge_patch.apply(record(obj), changes))


def test_a_life_over_two_attempts_is_told_in_order() -> None:
    ended = {
        "type": "Completed",
        "status": "True",
        "reason": "AllJobsCompleted",
        "message": "jobset completed",
        "lastTransitionTime": at(-5),
    }
    obj = job_set(status={"conditions": [ended], "terminalState": "Completed"})
    lost = event("WorkerLost", "Worker east cannot be reached", age=30, type="Warning")

    assert whats(Workload(JOB_SET, obj, recorded(obj, attempt=2)), [MOVED, lost]) == [
        "made on the hub",
        "placed for the first time",
        "WorkerLost: Worker east cannot be reached",
        "Placed on worker west, attempt 2: worker east is lost",
        "Completed (AllJobsCompleted: jobset completed)",
        "ended: Complete",
    ]


def test_without_events_the_placement_tells_where_it_is() -> None:
    obj = job_set()

    first = whats(Workload(JOB_SET, obj, recorded(obj, attempt=1)))
    again = whats(Workload(JOB_SET, obj, recorded(obj, attempt=2)))

    assert first == ["made on the hub", "Placed on worker east"]
    assert again == ["made on the hub", "placed; by now: attempt 2 on east"]


def test_an_event_of_the_first_placement_is_not_told_twice() -> None:
    obj = job_set()
    told = event("Placed", "Placed on worker east", age=49)

    assert whats(Workload(JOB_SET, obj, recorded(obj, attempt=1)), [told]) == [
        "made on the hub",
        "Placed on worker east",
    ]


def test_what_waits_was_made_and_no_more() -> None:
    assert whats(Workload(JOB_SET, job_set())) == ["made on the hub"]


def test_conditions_that_do_not_hold_are_told_as_such() -> None:
    said = {"lastTransitionTime": at(-9), "reason": "Failed", "message": "1 task failed"}
    conditions = [
        {"type": "Suspended", "status": "False", "lastTransitionTime": at(-10)},
        {"type": "Succeeded", "status": "False", **said},
        {"type": "Ready", "status": "Unknown", "lastTransitionTime": "yesterday"},
    ]
    obj = job_set(status={"conditions": conditions, "startTime": at(-11)})

    assert whats(Workload(JOB_SET, obj)) == [
        "made on the hub",
        "started",
        "resumed",
        "Succeeded is False (Failed: 1 task failed)",
    ]


@pytest.mark.parametrize("kind", LIVES)
def test_the_end_of_every_kind_is_the_end_of_its_life(kind: str) -> None:
    meta = {"name": "x", "namespace": "ml", "uid": "u", "creationTimestamp": at(-60)}
    obj = {**EXAMPLES[kind], "metadata": meta, "status": LIVES[kind][-1]}

    life = workload_timeline.life(Workload(ADAPTERS[kind], obj), [])

    assert [each.at for each in life] == sorted(each.at for each in life)
    assert (life[-1].what == f"ended: {ENDS[kind]}") is (ENDS[kind] is not None)


def test_the_life_of_a_job_is_the_same_whether_its_kind_is_named_or_not() -> None:
    seen = Workload(switches.known(DEFAULTS)["Job.batch"], placed(job(), "east"))

    assert whats(seen) == ["made on the hub", "Placed on worker east"]


def test_a_description_has_the_form_of_that_of_a_job() -> None:
    obj = job_set()
    seen = Workload(JOB_SET, obj, recorded(obj, attempt=2))
    life = workload_timeline.life(seen, [MOVED])
    summary = other_kinds.summary(seen, NOW)

    shown, data = describe.text(summary, life), describe.data(summary, life)

    assert "Worker:     east (attempt 2)\n" in shown
    assert f"Life:\n  {at(-60)}      +0s  made on the hub\n" in shown
    assert (data["kind"], data["worker"]) == ("JobSet.jobset.x-k8s.io", "east (attempt 2)")
    assert [times.instant(each["at"]) for each in data["life"]] == [each.at for each in life]
