"""Of every kind, only what changed on the hub is forwarded; what others change on the worker stays, and is told."""

import copy
from typing import Any

import pytest

from jobferry.core import marks
from jobferry.kinds.forwarding import NOTHING
from jobferry.objects import Obj, merge_patch
from tests.workloads.examples import ADAPTERS, NAMES, example, mirror_of

JOB_SET = "JobSet.jobset.x-k8s.io"
RAY_CLUSTER = "RayCluster.ray.io"
RAY_JOB = "RayJob.ray.io"
TRAIN_JOB = "TrainJob.trainer.kubeflow.org"
PYTORCH_JOB = "PyTorchJob.kubeflow.org"
PIPELINE_RUN = "PipelineRun.tekton.dev"


def edited(hub: Obj, spec: Obj) -> Obj:
    """Return a hub object after an edit of its spec."""
    generation = hub["metadata"]["generation"] + 1
    changed = merge_patch.apply(hub["spec"], spec)
    return {**hub, "metadata": {**hub["metadata"], "generation": generation}, "spec": changed}


def patched(mirror: Obj, patch: Obj | None) -> Obj:
    """Return a mirror after it was patched."""
    assert patch is not None
    assert patch["metadata"]["resourceVersion"] == mirror["metadata"]["resourceVersion"]
    found: Obj = merge_patch.apply(mirror, patch)
    found["metadata"] |= {
        "generation": mirror["metadata"]["generation"] + 1,
        "resourceVersion": "6",
    }
    return found


@pytest.mark.parametrize("name", NAMES)
def test_between_a_workload_and_its_new_mirror_nothing_differs(name: str) -> None:
    hub = example(name)
    mirror = mirror_of(hub)

    assert ADAPTERS[name].edits(hub, mirror, "") == NOTHING
    assert (
        ADAPTERS[name].edits(
            hub, {**mirror, "metadata": {**mirror["metadata"], "generation": 2}}, ""
        )
        == NOTHING
    )


EDITS: list[tuple[str, Obj, Obj]] = [
    (JOB_SET, {"suspend": True}, {"suspend": True}),
    (TRAIN_JOB, {"suspend": True}, {"suspend": True}),
    (RAY_JOB, {"suspend": True}, {"suspend": True}),
    (RAY_JOB, {"jobId": "by-hand"}, {"jobId": "by-hand"}),
    (PYTORCH_JOB, {"runPolicy": {"suspend": True}}, {"runPolicy": {"suspend": True}}),
    (
        PYTORCH_JOB,
        {"pytorchReplicaSpecs": {"Worker": {"replicas": 5}}},
        {"pytorchReplicaSpecs": {"Worker": {"replicas": 5}}},
    ),
    (
        "MPIJob.kubeflow.org",
        {"mpiReplicaSpecs": {"Worker": {"replicas": 5}}},
        {"mpiReplicaSpecs": {"Worker": {"replicas": 5}}},
    ),
    (PIPELINE_RUN, {"status": "CancelledRunFinally"}, {"status": "CancelledRunFinally"}),
    (
        "TaskRun.tekton.dev",
        {"status": "TaskRunCancelled", "statusMessage": "enough"},
        {"status": "TaskRunCancelled", "statusMessage": "enough"},
    ),
    ("Pod", {"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 5}),
    ("Simulation.example.com", {"steps": 7}, {"steps": 7}),
    ("Simulation.example.com", {"steps": None}, {"steps": None}),
    ("Simulation.example.com", {"paused": True}, {"paused": True}),
]


@pytest.mark.parametrize(("name", "change", "sent"), EDITS)
def test_what_changed_on_the_hub_is_forwarded_and_no_more(
    name: str, change: Obj, sent: Obj
) -> None:
    hub = example(name)
    mirror = mirror_of(hub)
    hub = edited(hub, change)

    found = ADAPTERS[name].edits(hub, mirror, "")

    assert found.patch is not None
    assert found.patch["spec"] == sent
    assert (found.refusals, found.drift) == ((), ())
    assert ADAPTERS[name].edits(hub, patched(mirror, found.patch), "") == NOTHING


@pytest.mark.parametrize("name", NAMES)
def test_labels_and_annotations_are_forwarded_but_for_those_of_the_hub(name: str) -> None:
    hub = example(name)
    mirror = mirror_of(hub)
    hub["metadata"] |= {
        "labels": {"team": "b", "argocd.argoproj.io/instance": "x"},
        "annotations": {"note": "c", "jobferry.io/demand": "{}"},
    }

    found = ADAPTERS[name].edits(hub, mirror, "")

    assert found.patch is not None
    assert found.patch["metadata"]["labels"] == {"team": "b"}
    notes = {marks.FORWARDED, marks.HUB_GENERATION}
    assert found.patch["metadata"]["annotations"].keys() == {"note", *notes}
    assert ADAPTERS[name].edits(hub, patched(mirror, found.patch), "") == NOTHING


@pytest.mark.parametrize("name", NAMES)
def test_any_other_edit_is_told_and_not_forwarded(name: str) -> None:
    hub = example(name)
    mirror = mirror_of(hub)
    hub = edited(hub, {"somethingElse": {"a": 1}})

    found = ADAPTERS[name].edits(hub, mirror, "")

    assert found.patch is None
    assert len(found.refusals) == 1
    assert found.refusals[0].startswith("/spec: ")
    assert found.drift == ()


@pytest.mark.parametrize("name", [name for name in NAMES if ADAPTERS[name].stop(example(name))])
def test_what_somebody_stopped_on_the_worker_stays_so_and_is_told(name: str) -> None:
    hub = example(name)
    mirror = mirror_of(hub)
    stopped = merge_patch.apply(mirror, ADAPTERS[name].stop(mirror))
    stopped["metadata"] = {**mirror["metadata"], "generation": 2}

    found = ADAPTERS[name].edits(hub, stopped, "")

    assert found.patch is None
    assert [each.split(":")[1] for each in found.drift] == [" false became true"]


@pytest.mark.parametrize("name", NAMES)
def test_without_the_note_nothing_is_forwarded_but_it_is_noted_anew(name: str) -> None:
    hub = example(name, labels={"team": "a"})
    mirror = mirror_of(hub, generation=2)
    del mirror["metadata"]["annotations"][marks.FORWARDED]
    mirror["metadata"]["labels"]["team"] = "z"

    found = ADAPTERS[name].edits(hub, mirror, "")

    assert found.patch is not None
    assert found.patch.keys() == {"metadata"}
    assert found.drift == ('/metadata/labels/team: "a" became "z"',)


def test_a_ttl_that_changes_stays_on_the_hub() -> None:
    hub = example(JOB_SET)
    mirror = mirror_of(hub)

    assert (
        ADAPTERS[JOB_SET].edits(edited(hub, {"ttlSecondsAfterFinished": 5}), mirror, "")
        == NOTHING
    )


# While it is suspended


def template(hub: Obj, **spec: Any) -> Obj:
    """Return an edit of the pods of a JobSet."""
    jobs = copy.deepcopy(hub["spec"]["replicatedJobs"])
    jobs[0]["template"]["spec"]["template"]["spec"] |= spec
    return {"replicatedJobs": jobs}


def test_where_the_pods_of_a_job_set_may_run_is_forwarded_while_it_is_suspended() -> None:
    hub = example(JOB_SET)
    mirror = mirror_of(hub)
    change = template(hub, nodeSelector={"gpu": "yes"})

    running = ADAPTERS[JOB_SET].edits(edited(hub, change), mirror, "")
    assert running.patch is None
    assert [each.partition(": ")[2] for each in running.refusals] == [
        "the mirror is not suspended"
    ]

    hub = edited(hub, {**change, "suspend": True})
    found = ADAPTERS[JOB_SET].edits(hub, mirror, "")
    assert found.patch is not None
    assert found.patch["spec"]["suspend"] is True
    sent = found.patch["spec"]["replicatedJobs"]
    assert sent[0]["template"]["spec"]["template"]["spec"]["nodeSelector"] == {"gpu": "yes"}
    assert ADAPTERS[JOB_SET].edits(hub, patched(mirror, found.patch), "") == NOTHING


def test_what_webhooks_made_of_a_list_on_the_worker_is_kept_when_it_is_sent() -> None:
    hub = example(JOB_SET)
    mirror = mirror_of(hub)
    mirror["spec"]["replicatedJobs"][0]["groupName"] = "default"
    hub = edited(hub, {**template(hub, nodeSelector={"gpu": "yes"}), "suspend": True})

    patch = ADAPTERS[JOB_SET].edits(hub, mirror, "").patch

    assert patch is not None
    assert patch["spec"]["replicatedJobs"][0]["groupName"] == "default"


def test_another_image_is_never_forwarded() -> None:
    hub = example(JOB_SET)
    mirror = mirror_of(hub)
    containers = [{"name": "main", "image": "other"}]
    hub = edited(hub, {**template(hub, containers=containers), "suspend": True})

    found = ADAPTERS[JOB_SET].edits(hub, mirror, "")

    assert found.patch is not None
    assert found.patch["spec"] == {"suspend": True}
    assert len(found.refusals) == 1


PATCHES: list[Obj] = [
    {"manager": "kueue.x-k8s.io/manager"},
    {"manager": "me", "time": "2026-11-17T11:00:00Z"},
]


def stops(mirror: Obj, *, active: int) -> Obj:
    """Return the mirror of a TrainJob of which so many Jobs still run."""
    return {**mirror, "status": {"jobsStatus": [{"name": "node", "active": active}]}}


def test_patches_of_a_runtime_are_forwarded_without_those_of_the_hub_once_nothing_runs() -> (
    None
):
    """Trainer's webhook on the worker refuses them before, and with them that it is to stop."""
    hub = example(TRAIN_JOB)
    mirror = mirror_of(hub)
    hub = edited(hub, {"suspend": True, "runtimePatches": PATCHES})
    edits = ADAPTERS[TRAIN_JOB].edits

    stop = edits(hub, mirror, "")
    stopping = stops(patched(mirror, stop.patch), active=1)
    still = stops(stopping, active=0)
    change = edits(hub, still, "").patch

    assert stop.patch is not None
    assert stop.patch["spec"] == {"suspend": True}
    assert not stop.refusals
    assert edits(hub, stopping, "") == NOTHING
    assert change is not None
    assert change["spec"] == {"runtimePatches": [{"manager": "me"}]}
    assert edits(hub, patched(still, change), "") == NOTHING


def test_a_train_job_goes_on_with_the_patches_that_it_was_given_or_not_at_all() -> None:
    hub = example(TRAIN_JOB)
    mirror = mirror_of(hub)
    edits = ADAPTERS[TRAIN_JOB].edits
    hub = edited(hub, {"suspend": True})
    stopping = stops(patched(mirror, edits(hub, mirror, "").patch), active=1)
    hub = edited(hub, {"suspend": False, "runtimePatches": PATCHES})

    change = edits(hub, stops(stopping, active=0), "").patch

    assert edits(hub, stopping, "") == NOTHING
    assert change is not None
    assert change["spec"] == {"suspend": False, "runtimePatches": [{"manager": "me"}]}


# Those that grow and shrink by themselves


def groups(hub: Obj, **numbers: int) -> Obj:
    return {
        "workerGroupSpecs": [{**each, **numbers} for each in hub["spec"]["workerGroupSpecs"]]
    }


def test_an_autoscaler_on_the_worker_is_neither_overruled_nor_told_of() -> None:
    hub = example(RAY_CLUSTER)
    hub["spec"]["enableInTreeAutoscaling"] = True
    mirror = mirror_of(hub, generation=4)
    mirror["spec"] |= groups(hub, replicas=4) | {}
    mirror["spec"]["workerGroupSpecs"][0]["scaleStrategy"] = {"workersToDelete": ["a"]}
    assert ADAPTERS[RAY_CLUSTER].edits(hub, mirror, "") == NOTHING

    found = ADAPTERS[RAY_CLUSTER].edits(edited(hub, groups(hub, replicas=1)), mirror, "")
    assert found.patch is None
    assert len(found.refusals) == 1

    found = ADAPTERS[RAY_CLUSTER].edits(edited(hub, groups(hub, maxReplicas=9)), mirror, "")
    assert found.patch is not None
    sent = found.patch["spec"]["workerGroupSpecs"][0]
    assert (sent["maxReplicas"], sent["replicas"]) == (9, 4)
    assert sent["scaleStrategy"] == {"workersToDelete": ["a"]}


def test_without_an_autoscaler_replicas_are_forwarded_and_told_of() -> None:
    hub = example(RAY_CLUSTER)
    mirror = mirror_of(hub, generation=2)
    scaled = {**mirror, "spec": {**mirror["spec"], **groups(hub, replicas=4)}}

    assert ADAPTERS[RAY_CLUSTER].edits(hub, scaled, "").drift == (
        "/spec/workerGroupSpecs/groupName=small/replicas: 2 became 4",
    )


def test_the_replicas_of_an_elastic_job_are_the_workers() -> None:
    hub = example(PYTORCH_JOB)
    hub["spec"]["elasticPolicy"] = {"maxReplicas": 8}
    mirror = mirror_of(hub, generation=2)
    mirror["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] = 7

    assert ADAPTERS[PYTORCH_JOB].edits(hub, mirror, "") == NOTHING


def test_a_ray_job_that_kuberay_cannot_suspend_is_not_suspended() -> None:
    hub = example(RAY_JOB)
    hub["spec"]["shutdownAfterJobFinishes"] = False
    mirror = mirror_of(hub)
    hub = edited(hub, {"suspend": True})

    found = ADAPTERS[RAY_JOB].edits(hub, mirror, "")

    assert found.patch is None
    assert found.refusals == (
        "/spec/suspend: KubeRay suspends only what has shutdownAfterJobFinishes and no clusterSelector",
    )


def test_a_run_that_is_resumed_changes_nothing_on_its_mirror() -> None:
    hub = example(PIPELINE_RUN)
    hub["spec"]["status"] = "PipelineRunPending"
    mirror = mirror_of(hub)
    assert "status" not in mirror["spec"]

    assert ADAPTERS[PIPELINE_RUN].edits(edited(hub, {"status": None}), mirror, "") == NOTHING


def test_what_was_refused_is_told_after_the_rest_was_forwarded_too() -> None:
    hub = example(JOB_SET)
    mirror = mirror_of(hub)
    hub = edited(hub, {"suspend": True, "coordinator": {"replicatedJob": "workers"}})

    first = ADAPTERS[JOB_SET].edits(hub, mirror, "")
    second = ADAPTERS[JOB_SET].edits(hub, patched(mirror, first.patch), "")

    assert second.patch is None
    assert second.refusals == first.refusals
    assert len(second.refusals) == 1
