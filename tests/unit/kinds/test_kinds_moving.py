"""How workloads of every kind stop, go on, and begin anew elsewhere."""

from datetime import UTC, datetime

import pytest

from jobferry.core.kind import Stillness
from jobferry.kinds import declared, registry
from jobferry.objects import Obj, merge_patch
from tests.workloads.examples import (
    ADAPTERS,
    CONTEXT,
    DECLARED,
    NAMES,
    NOW,
    example,
    mirror_of,
)
from tests.workloads.lives import LIVES, condition

STOPPABLE = [name for name in NAMES if ADAPTERS[name].stop(example(name))]
RAY_JOB = "RayJob.ray.io"
SIMULATION = "Simulation.example.com"

SUSPENDED: dict[str, Obj] = {
    "AppWrapper.workload.codeflare.dev": {"phase": "Suspended"},
    "RayCluster.ray.io": {"state": "suspended"},
    "RayJob.ray.io": {"jobDeploymentStatus": "Suspended"},
    "Simulation.example.com": {"phase": "Paused"},
}
"""What a status says of one that has stopped; others have a condition."""


def stopped_status(name: str) -> Obj:
    return SUSPENDED.get(name) or {"conditions": [condition("Suspended")]}


def stopped(name: str, status: Obj) -> Obj:
    """Return a mirror that was told to stop."""
    mirror = mirror_of(example(name), status)
    found: Obj = merge_patch.apply(mirror, ADAPTERS[name].stop(mirror))
    return found


def test_these_leave_by_deletion() -> None:
    assert set(NAMES) - set(STOPPABLE) == {
        "Pod",
        "PipelineRun.tekton.dev",
        "TaskRun.tekton.dev",
        RAY_JOB,
    }
    for name in set(NAMES) - {*STOPPABLE, RAY_JOB}:
        mirror = mirror_of(
            example(name), LIVES[name][1], deletionTimestamp="2026-11-17T11:50:00Z"
        )
        assert ADAPTERS[name].stillness(mirror) is Stillness.RUNS
        assert ADAPTERS[name].resume(example(name), mirror, "", NOW) == {}


@pytest.mark.parametrize("name", STOPPABLE)
def test_one_that_is_told_to_stop_runs_until_it_says_that_it_has_stopped(name: str) -> None:
    adapter = ADAPTERS[name]
    running = next(
        each
        for each in LIVES[name]
        if adapter.waits_since(mirror_of(example(name), each)) is None
    )

    assert adapter.stillness(stopped(name, running)) is Stillness.RUNS
    assert adapter.stillness(stopped(name, stopped_status(name))) is Stillness.QUIET
    assert (
        adapter.stillness(mirror_of(example(name), stopped_status(name))) is Stillness.RESUMES
    )
    assert adapter.stopped_at(stopped(name, stopped_status(name))) is None


@pytest.mark.parametrize("name", STOPPABLE)
def test_one_that_nobody_has_looked_at_need_not_say_that_it_has_stopped(name: str) -> None:
    # Its operator may not run there at all: then nobody ever says so.
    assert ADAPTERS[name].stillness(stopped(name, {})) is Stillness.QUIET


def test_one_of_a_kind_that_never_says_that_it_has_stopped_leaves_by_deletion() -> None:
    silent = {key: value for key, value in DECLARED[0].items() if key != "suspended"}
    adapter = registry.make(CONTEXT, declared.rows([silent]))[SIMULATION]
    mirror = mirror_of(example(SIMULATION), LIVES[SIMULATION][1])

    assert adapter.stop(mirror) is None
    assert ADAPTERS[SIMULATION].stop(mirror) == {"spec": {"paused": True}}


@pytest.mark.parametrize("name", STOPPABLE)
def test_one_that_was_stopped_goes_on_as_the_hub_wants_it(name: str) -> None:
    adapter, hub = ADAPTERS[name], example(name)
    mirror = stopped(name, stopped_status(name))

    on = merge_patch.apply(mirror, adapter.resume(hub, mirror, "", NOW))
    suspended = merge_patch.apply(hub, adapter.stop(hub))
    off = merge_patch.apply(mirror, adapter.resume(suspended, mirror, "", NOW))

    assert not adapter.is_suspended(on)
    assert adapter.is_suspended(off)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("JobSet.jobset.x-k8s.io", {"replicatedJobsStatus": [{"name": "a", "active": 1}]}),
        ("TrainJob.trainer.kubeflow.org", {"jobsStatus": [{"name": "a", "active": 1}]}),
        ("PyTorchJob.kubeflow.org", {"replicaStatuses": {"Worker": {"active": 1}}}),
        ("RayCluster.ray.io", {"readyWorkerReplicas": 1}),
    ],
)
def test_one_that_says_it_stopped_and_still_has_pods_runs(name: str, status: Obj) -> None:
    mirror = stopped(name, {**stopped_status(name), **status})

    assert ADAPTERS[name].stillness(mirror) is Stillness.RUNS


@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("JobSet.jobset.x-k8s.io", "replicatedJobsStatus"),
        ("TrainJob.trainer.kubeflow.org", "jobsStatus"),
    ],
)
def test_pods_that_have_succeeded_keep_nothing_from_leaving_its_worker(
    name: str, member: str
) -> None:
    # JobSets count a Job as ready, also one that is suspended, if as many of its pods have succeeded as run at a time.
    status = {member: [{"name": "a", "active": 0, "ready": 1, "suspended": 1}]}
    mirror = stopped(name, {**stopped_status(name), **status})

    assert ADAPTERS[name].stillness(mirror) is Stillness.QUIET


# What ran


@pytest.mark.parametrize("name", NAMES)
def test_a_status_tells_whether_anything_ran(name: str) -> None:
    adapter, hub = ADAPTERS[name], example(name)

    assert not adapter.has_run(hub)
    assert not adapter.has_run({**hub, "status": stopped_status(name)}) or name not in STOPPABLE
    for status in LIVES[name][1:]:
        assert adapter.has_run({**hub, "status": status})


@pytest.mark.parametrize("name", NAMES)
def test_what_is_left_of_the_attempt_before_is_not_taken_for_this_one(name: str) -> None:
    adapter = ADAPTERS[name]
    hub = {**example(name), "status": LIVES[name][1]}

    base = adapter.carried(hub, None, "", NOW)

    assert base
    assert "(" not in base
    assert not adapter.has_run_since(hub, base)
    assert adapter.has_run_since(hub, "")
    assert adapter.has_run_since(hub, '{"seen":"other"}')
    assert adapter.has_run_since({**hub, "status": LIVES[name][-1]}, base)
    assert not adapter.has_run_since({**hub, "status": {}}, base)


@pytest.mark.parametrize("name", NAMES)
def test_one_of_which_nothing_ran_carries_nothing(name: str) -> None:
    adapter, hub = ADAPTERS[name], example(name)

    assert adapter.carried(hub, mirror_of(hub), "", NOW) == ""
    assert adapter.earlier(hub, mirror_of(hub)) == ""
    assert adapter.outcome(hub, None, "", NOW) is None
    assert adapter.idle(hub) == {}
    assert not adapter.is_about_to_end(mirror_of(hub))
    assert not adapter.carries_record


def test_that_it_waits_suspended_is_no_sign_that_it_ran() -> None:
    for name in STOPPABLE:
        hub = example(name)
        told = {"conditions": [condition("Suspended", "False"), condition("example.com/Seen")]}
        assert not ADAPTERS[name].has_run({**hub, "status": told})


# How long it waits

MADE = datetime(2026, 11, 17, 11, 30, tzinfo=UTC)
UNTOLD = {"PipelineRun.tekton.dev"}
"""Of these nothing tells whether any of it runs."""


@pytest.mark.parametrize("name", sorted(set(NAMES) - UNTOLD))
def test_a_mirror_waits_since_it_was_made_until_some_of_it_runs(name: str) -> None:
    adapter, hub = ADAPTERS[name], example(name)

    assert adapter.waits_since(mirror_of(hub)) == MADE
    assert adapter.waits_since(mirror_of(hub, LIVES[name][-2])) is None
    if name in STOPPABLE:
        assert adapter.waits_since(stopped(name, {})) is None


def test_a_mirror_that_was_resumed_waits_since_then() -> None:
    mirror = mirror_of(
        example("JobSet.jobset.x-k8s.io"), {"conditions": [condition("Suspended", "False")]}
    )

    since = ADAPTERS["JobSet.jobset.x-k8s.io"].waits_since(mirror)

    assert since == datetime(2026, 11, 17, 11, 31, tzinfo=UTC)


def test_of_a_pipeline_run_nobody_can_tell_whether_it_waits() -> None:
    assert (
        ADAPTERS["PipelineRun.tekton.dev"].waits_since(
            mirror_of(example("PipelineRun.tekton.dev"))
        )
        is None
    )
