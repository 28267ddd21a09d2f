"""The status of a workload on the hub: its mirror's, with what belongs to the hub kept, and its end for ever."""

from typing import Any

import pytest

from jobferry.objects import Obj, conditions, merge_patch
from tests.workloads.examples import (
    ADAPTERS,
    NAMES,
    NOW,
    example,
    mirror_of,
    shown,
    suspension,
)
from tests.workloads.lives import ENDS, LIVES, condition

JOB_SET = "JobSet.jobset.x-k8s.io"
RAY_JOB = "RayJob.ray.io"
TASK_RUN = "TaskRun.tekton.dev"
TRAIN_JOB = "TrainJob.trainer.kubeflow.org"
PIPELINE_RUN = "PipelineRun.tekton.dev"
PYTORCH_JOB = "PyTorchJob.kubeflow.org"


def reported(name: str, hub: Obj, status: Obj, **metadata: Any) -> Obj:
    """Return the hub object after it was told of a mirror's status, until there is nothing more to tell."""
    for _ in range(3):
        report = ADAPTERS[name].report(hub, mirror_of(hub, status, **metadata), "", NOW)
        if report is None:
            return hub
        hub = shown(hub, report.patch)
    raise AssertionError("it is never done telling")


@pytest.mark.parametrize("name", NAMES)
def test_the_hub_shows_the_whole_life_of_a_mirror_and_its_end_last(name: str) -> None:
    adapter, hub, ends = ADAPTERS[name], example(name), []

    for status in LIVES[name]:
        report = adapter.report(hub, mirror_of(hub, status), "", NOW)
        assert report is not None
        ends.append(report.end)
        hub = reported(name, hub, status)
        assert adapter.finish(hub) == report.end == adapter.finish(mirror_of(hub, status))
        told = {key: value for key, value in hub["status"].items() if value not in (0, "", [])}
        assert told.keys() >= {
            key for key in status if key != "lastReconcileTime" and status[key]
        }

    assert ends == [None] * (len(ends) - 1) + [ENDS[name]]


@pytest.mark.parametrize("name", NAMES)
def test_a_status_that_was_told_is_not_told_again(name: str) -> None:
    for status in LIVES[name]:
        hub = reported(name, example(name), status)

        assert ADAPTERS[name].report(hub, mirror_of(hub, status), "", NOW) is None


@pytest.mark.parametrize("name", [name for name in NAMES if ENDS[name]])
def test_what_has_ended_on_the_hub_stays_so(name: str) -> None:
    adapter, hub = ADAPTERS[name], reported(name, example(name), LIVES[name][-1])

    for status in LIVES[name]:
        assert adapter.report(hub, mirror_of(hub, status), "", NOW) is None
    assert adapter.waiting(hub, NOW) is None
    assert adapter.fail(hub, "NoWorker", "None.", NOW) is None
    assert adapter.finished_at(hub) is not None


@pytest.mark.parametrize("name", NAMES)
def test_a_mirror_without_a_status_tells_nothing(name: str) -> None:
    hub = example(name)

    assert ADAPTERS[name].report(hub, mirror_of(hub), "", NOW) is None
    assert ADAPTERS[name].report(hub, mirror_of(hub, {}), "", NOW) is None


@pytest.mark.parametrize("name", NAMES)
def test_what_a_mirror_no_longer_says_is_no_longer_shown(name: str) -> None:
    first, second = LIVES[name][0], LIVES[name][1]
    hub = reported(name, example(name), {**second, "message": "x", "stale": {"a": 1}})

    hub = reported(name, hub, first)

    assert "stale" not in hub["status"]
    left = hub["status"].keys() - first.keys()
    assert all(not hub["status"][key] for key in left)


@pytest.mark.parametrize("name", NAMES)
def test_a_workload_that_we_give_up_has_failed_in_its_own_words(name: str) -> None:
    adapter, hub = ADAPTERS[name], example(name)

    report = adapter.fail(hub, "NoWorker", "No worker took it", NOW)

    assert report is not None
    assert report.end == "Failed"
    failed = shown(hub, report.patch)
    assert adapter.finish(failed) == "Failed"
    assert "No worker took it" in str(failed["status"])
    assert adapter.fail(failed, "NoWorker", "No worker took it", NOW) is None


def test_the_words_of_those_without_conditions_are_members() -> None:
    ray_job = example(RAY_JOB)
    report = ADAPTERS[RAY_JOB].fail(ray_job, "NoWorker", "None took it", NOW)

    assert report is not None
    assert report.patch["status"] == {
        "jobDeploymentStatus": "Failed",
        "jobStatus": "FAILED",
        "reason": "NoWorker",
        "message": "None took it",
        "endTime": "2026-11-17T12:00:00Z",
    }


def test_one_that_ran_runs_no_more_once_it_failed() -> None:
    hub = reported(PYTORCH_JOB, example(PYTORCH_JOB), LIVES[PYTORCH_JOB][1])

    report = ADAPTERS[PYTORCH_JOB].fail(hub, "MirrorDeleted", "It is gone", NOW)

    assert report is not None
    listed = shown(hub, report.patch)["status"]["conditions"]
    assert [(each["type"], each["status"]) for each in listed] == [
        ("Created", "True"),
        ("Running", "False"),
        ("Failed", "True"),
    ]
    assert listed[1]["lastUpdateTime"] == listed[2]["lastUpdateTime"] == "2026-11-17T12:00:00Z"


def test_of_an_app_wrapper_that_failed_nothing_is_deployed() -> None:
    name = "AppWrapper.workload.codeflare.dev"
    hub = reported(name, example(name), LIVES[name][2])

    report = ADAPTERS[name].fail(hub, "MirrorDeleted", "It is gone", NOW)

    assert report is not None
    assert report.end == "Failed"
    listed = shown(hub, report.patch)["status"]["conditions"]
    assert {each["type"]: each["status"] for each in listed} == {
        "ResourcesDeployed": "False",
        "PodsReady": "True",
        "Unhealthy": "True",
    }


def test_a_ray_job_that_was_stopped_is_no_success() -> None:
    hub = example(RAY_JOB)
    stopped = {"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED"}

    assert ADAPTERS[RAY_JOB].finish(mirror_of(hub, stopped)) == "Failed"


def test_an_app_wrapper_that_failed_has_ended_once_it_is_cleaned_up() -> None:
    name = "AppWrapper.workload.codeflare.dev"
    cleaning, clean = LIVES[name][-2:]

    assert ADAPTERS[name].finish({"status": cleaning}) is None
    assert ADAPTERS[name].finish({"status": clean}) == "Failed"
    assert ADAPTERS[name].finish({"status": {"phase": "Failed"}}) == "Failed"


# What belongs to the hub


def test_conditions_of_others_stay_on_the_hub_and_those_of_a_worker_do_not_come_over() -> None:
    hub = example(JOB_SET)
    hub["status"] = {"conditions": [condition("example.com/Seen"), condition("Suspended")]}
    status = {"conditions": [condition("example.com/There"), condition("Completed")]}

    hub = reported(JOB_SET, hub, status)

    types = [each["type"] for each in hub["status"]["conditions"]]
    assert types == ["Completed", "example.com/Seen"]


@pytest.mark.parametrize(
    ("observed", "mirror_generation", "shown_generation"),
    [(4, 4, 7), (3, 4, 6), (None, 4, None)],
)
def test_the_generation_that_was_observed_is_that_of_the_hub(
    observed: int | None, mirror_generation: int, shown_generation: int | None
) -> None:
    said = {} if observed is None else {"observedGeneration": observed}
    status: Obj = {"jobDeploymentStatus": "Running", **said}
    hub = example(RAY_JOB, generation=7)

    hub = reported(RAY_JOB, hub, status, generation=mirror_generation)

    assert hub["status"].get("observedGeneration") == shown_generation


def test_the_generation_of_a_condition_is_that_of_the_hub_too() -> None:
    hub = reported(JOB_SET, example(JOB_SET, generation=7), LIVES[JOB_SET][-1])

    assert {each["observedGeneration"] for each in hub["status"]["conditions"]} == {7}


def test_an_edit_that_is_not_forwarded_yet_was_not_observed() -> None:
    hub = example(JOB_SET)
    mirror = mirror_of(hub, LIVES[JOB_SET][1])
    edited = {**hub, "metadata": {**hub["metadata"], "generation": 2}}
    edited = {**edited, "spec": {**hub["spec"], "suspend": True}}

    report = ADAPTERS[JOB_SET].report(edited, mirror, "", NOW)

    assert report is not None
    assert report.patch["status"]["conditions"][0]["observedGeneration"] == 1


def test_what_newer_crds_write_by_default_may_stay() -> None:
    hub = example(RAY_JOB)
    hub["status"] = {"failed": 0, "succeeded": 0, "jobDeploymentStatus": "Initializing"}
    status = {"jobDeploymentStatus": "Initializing"}

    assert ADAPTERS[RAY_JOB].report(hub, mirror_of(hub, status), "", NOW) is None


def test_nulls_that_servers_show_are_nothing() -> None:
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    hub = example("Pod")
    hub["status"] = {"phase": "Running", "conditions": [scheduled]}

    assert ADAPTERS["Pod"].report(hub, mirror_of(hub, hub["status"]), "", NOW) is None
    gated = {**scheduled, "status": "False"}
    waits = {**hub, "status": {"phase": "Pending", "conditions": [gated]}}
    assert ADAPTERS["Pod"].report(waits, mirror_of(hub, waits["status"]), "", NOW) is None


def test_moments_that_change_all_the_time_are_not_shown() -> None:
    hub = reported(PYTORCH_JOB, example(PYTORCH_JOB), LIVES[PYTORCH_JOB][1])

    assert "lastReconcileTime" not in hub["status"]


# What some kinds demand of a status


def test_a_task_run_always_names_a_pod() -> None:
    hub = example(TASK_RUN)
    status = {"conditions": [condition("Succeeded", "Unknown")]}
    report = ADAPTERS[TASK_RUN].report(hub, mirror_of(hub, status), "", NOW)
    failed = ADAPTERS[TASK_RUN].fail(hub, "NoWorker", "None", NOW)

    assert report is not None
    assert failed is not None
    assert report.patch["status"]["podName"] == failed.patch["status"]["podName"] == ""


@pytest.mark.parametrize("name", [TASK_RUN, PIPELINE_RUN])
def test_a_run_that_is_pending_on_the_hub_shows_no_start(name: str) -> None:
    hub = example(name)
    hub["spec"]["status"] = f"{name.partition('.')[0]}Pending"

    assert ADAPTERS[name].is_suspended(hub)
    assert ADAPTERS[name].report(hub, mirror_of(hub, LIVES[name][0]), "", NOW) is None


def test_the_class_of_a_pod_stays_and_it_is_gated_until_it_has_a_node() -> None:
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    hub = example("Pod")
    hub["status"] = {"phase": "Pending", "qosClass": "BestEffort", "conditions": [gated]}

    first = reported("Pod", hub, LIVES["Pod"][0])
    second = reported("Pod", first, LIVES["Pod"][1])

    assert first["status"]["qosClass"] == second["status"]["qosClass"] == "BestEffort"
    assert conditions.find(first["status"]["conditions"], "PodScheduled") == gated
    assert conditions.is_true(second["status"]["conditions"], "PodScheduled")


def test_containers_of_a_pod_that_ended_and_run_again_elsewhere_go_before_they_come_back() -> (
    None
):
    hub = reported("Pod", example("Pod"), LIVES["Pod"][-1] | {"phase": "Running"})
    mirror = mirror_of(hub, LIVES["Pod"][2])

    first = ADAPTERS["Pod"].report(hub, mirror, "", NOW)
    assert first is not None
    assert first.patch["status"]["containerStatuses"] is None
    second = ADAPTERS["Pod"].report(shown(hub, first.patch), mirror, "", NOW)
    assert second is not None
    assert second.patch["status"]["containerStatuses"] == mirror["status"]["containerStatuses"]


# Suspended on the hub, and nowhere else

SUSPENDABLE = [
    name for name in NAMES if name.partition(".")[0] not in ("PipelineRun", "TaskRun", "Pod")
]


def suspended(name: str, value: bool = True) -> Obj:
    found: Obj = merge_patch.apply(example(name), suspension(ADAPTERS[name], value))
    return found


@pytest.mark.parametrize("name", SUSPENDABLE)
def test_one_that_waits_suspended_says_so_and_unsays_it(name: str) -> None:
    adapter, hub = ADAPTERS[name], suspended(name)
    assert adapter.is_suspended(hub)
    assert not adapter.is_suspended(example(name))

    report = adapter.waiting(hub, NOW)

    assert report is not None
    assert report.end is None
    hub = shown(hub, report.patch)
    assert adapter.waiting(hub, NOW) is None
    assert not adapter.has_run(hub)
    resumed = {**hub, "spec": example(name)["spec"]}
    back = adapter.waiting(resumed, NOW)
    assert back is not None
    assert adapter.waiting(shown(resumed, back.patch), NOW) is None


@pytest.mark.parametrize("name", NAMES)
def test_one_that_waits_and_never_was_suspended_says_nothing(name: str) -> None:
    assert ADAPTERS[name].waiting(example(name), NOW) is None
