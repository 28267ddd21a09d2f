"""How pods look."""

from datetime import UTC, datetime
from typing import Any

import pytest

from jobferry.localkube.apiserver.printing.pods import PODS
from jobferry.objects import Obj

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
CREATED = "2026-11-16T11:00:00Z"


def state(reason: str = "", **more: Any) -> Obj:
    return {"terminated": {"reason": reason, **more}}


def container(name: str = "a", **more: Any) -> Obj:
    return {"name": name, "restartCount": 0, **more}


def ended(at: str) -> Obj:
    return {"terminated": {"exitCode": 1, "finishedAt": at}}


RUNNING = container(ready=True, state={"running": {}})
DONE = container("b", state=state("Completed", exitCode=0))
READY = [{"type": "Ready", "status": "True"}]
GATED = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
INITIALIZED = [{"type": "Initialized", "status": "True"}]


def cells(status: Obj, *, deleted: bool = False, **spec: Any) -> list[Any]:
    meta = {"name": "p", "creationTimestamp": CREATED}
    if deleted:
        meta["deletionTimestamp"] = CREATED
    containers = [{"name": "a"}, {"name": "b"}]
    pod = {"metadata": meta, "spec": {"containers": containers, **spec}, "status": status}
    return PODS.cells(pod, NOW)


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Pending"}, "Pending"),
        ({"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"phase": "Pending", "conditions": GATED}, "SchedulingGated"),
        ({"containerStatuses": [container(state={"waiting": {"reason": "X"}}), DONE]}, "X"),
        ({"containerStatuses": [container(state=state(signal=9, exitCode=137))]}, "Signal:9"),
        ({"containerStatuses": [container(state=state(exitCode=3))]}, "ExitCode:3"),
        ({"containerStatuses": [container(state=state("OOMKilled", exitCode=1))]}, "OOMKilled"),
        ({"containerStatuses": [DONE]}, "Completed"),
        ({"containerStatuses": [RUNNING, DONE]}, "NotReady"),
        ({"containerStatuses": [RUNNING, DONE], "conditions": READY}, "Running"),
        (
            {"containerStatuses": [DONE, container(state=state("Error", exitCode=1))]},
            "Error",
        ),
    ],
)
def test_the_state_of_a_pod_in_one_word(status: Obj, word: str) -> None:
    assert cells(status)[2] == word


INIT = [{"name": "i"}, {"name": "side", "restartPolicy": "Always"}, {"name": "j"}]


@pytest.mark.parametrize(
    ("statuses", "word"),
    [
        ([container("i", state={"running": {}})], "Init:0/3"),
        ([container("i", state=state(exitCode=0)), container("side")], "Init:1/3"),
        ([container("i", state=state(exitCode=2))], "Init:ExitCode:2"),
        ([container("i", state=state(exitCode=2, signal=9))], "Init:Signal:9"),
        ([container("i", state=state("Error", exitCode=2))], "Init:Error"),
        ([container("i", state={"waiting": {"reason": "ErrImagePull"}})], "Init:ErrImagePull"),
        ([container("i", state={"waiting": {"reason": "PodInitializing"}})], "Init:0/3"),
        ([container("side", started=True), container("j", state=state(exitCode=0))], "Pending"),
    ],
)
def test_pods_that_are_not_initialized_say_what_they_wait_for(
    statuses: list[Obj], word: str
) -> None:
    status = {"phase": "Pending", "initContainerStatuses": statuses}

    assert cells(status, initContainers=INIT)[2] == word


def test_init_containers_that_run_again_do_not_hide_the_containers() -> None:
    status = {
        "conditions": INITIALIZED,
        "initContainerStatuses": [container("i", state={"running": {}}, restartCount=5)],
        "containerStatuses": [{**RUNNING, "restartCount": 2}],
    }

    shown = cells(status, initContainers=INIT)

    assert shown[1:4] == ["1/3", "Init:0/3", "2"]


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
    ],
)
def test_pods_that_are_being_deleted_say_so_unless_they_are_done(
    status: Obj, word: str
) -> None:
    assert cells(status, deleted=True)[2] == word


def test_restarts_say_when_the_last_one_was() -> None:
    first = container(restartCount=2, lastState=ended("2026-11-16T11:00:00Z"))
    second = container("b", restartCount=1, lastState=ended("2026-11-16T11:55:00Z"))

    assert cells({"containerStatuses": [first, second]})[3] == "3 (5m ago)"
    assert cells({"containerStatuses": [container(restartCount=2)]})[3] == "2"
    assert cells({"containerStatuses": [{**second, "restartCount": 0}]})[3] == "0"


def test_sidecars_count_as_containers() -> None:
    sidecar = container("side", started=True, ready=True, restartCount=4)
    status = {"initContainerStatuses": [sidecar], "containerStatuses": [RUNNING]}

    assert cells(status, initContainers=INIT)[1] == "2/3"
    assert cells(status, initContainers=INIT)[3] == "4"


def test_wide_columns_say_where_a_pod_is() -> None:
    gates = [{"conditionType": "x"}, {"conditionType": "y"}]
    status = {
        "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
        "nominatedNodeName": "n2",
        "conditions": [{"type": "x", "status": "True"}, {"type": "y", "status": "False"}],
    }

    assert cells(status, nodeName="n1", readinessGates=gates)[5:] == [
        *("10.0.0.1", "n1", "n2", "1/2")
    ]
    assert cells({})[4:] == ["60m", "<none>", "<none>", "<none>", "<none>"]
