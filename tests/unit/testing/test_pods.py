"""What a fake kubelet decides, pod by pod."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import orjson
import pytest

from jobferry.errors import BadInput
from jobferry.testing import pods
from jobferry.testing.pods import Bind, Pod, Remove, Report, Run, Wait

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
FOREVER = Run(float("inf"))


def pod(
    *,
    node: str = "node",
    phase: str = "Pending",
    deleted: bool = False,
    grace: int = 30,
    gated: bool = False,
) -> Pod:
    meta: dict[str, Any] = {"name": "p", "resourceVersion": "1"}
    if deleted:
        meta |= {
            "deletionTimestamp": "2026-01-01T12:00:00Z",
            "deletionGracePeriodSeconds": grace,
        }
    spec: dict[str, Any] = {"containers": [{"name": "a", "image": "x"}, {"name": "b"}]}
    if node:
        spec["nodeName"] = node
    if gated:
        spec["schedulingGates"] = [{"name": "wait"}]
    body = orjson.dumps({"metadata": meta, "spec": spec, "status": {"phase": phase}})
    return msgspec.json.decode(body, type=Pod)


def step(a_pod: Pod, run: Run, ran: float = 0.0) -> pods.Step | None:
    return pods.next_step(a_pod, run, NOW - timedelta(seconds=ran), NOW)


def status_of(a_step: pods.Step | None) -> dict[str, Any]:
    assert isinstance(a_step, Report)
    return a_step.status


def test_a_pod_without_a_node_is_given_one() -> None:
    assert step(pod(node=""), Run()) == Bind()


def test_a_pod_with_scheduling_gates_is_left_alone() -> None:
    assert step(pod(node="", gated=True), Run()) is None


def test_a_pod_starts_all_its_containers() -> None:
    status = status_of(step(pod(), Run(5.0)))

    assert status["phase"] == "Running"
    assert [(it["name"], it["ready"]) for it in status["containerStatuses"]] == [
        ("a", True),
        ("b", True),
    ]
    assert {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": "2026-01-01T12:00:00Z",
    } in (status["conditions"])


@pytest.mark.parametrize(("code", "phase"), [(0, "Succeeded"), (7, "Failed")])
def test_a_pod_that_runs_for_no_time_ends_in_one_write(code: int, phase: str) -> None:
    status = status_of(step(pod(), Run(0.0, code)))

    assert status["phase"] == phase
    codes = [it["state"]["terminated"]["exitCode"] for it in status["containerStatuses"]]
    assert codes == [code, code]


def test_a_running_pod_is_let_run_for_the_rest_of_its_time() -> None:
    assert step(pod(phase="Running"), Run(5.0), ran=1.5) == Wait(3.5)


def test_a_running_pod_ends_when_its_time_is_over() -> None:
    status = status_of(step(pod(phase="Running"), Run(5.0, 3), ran=5.0))

    assert status["phase"] == "Failed"
    assert status["startTime"] == "2026-01-01T11:59:55Z"


def test_a_pod_may_run_for_ever() -> None:
    assert step(pod(phase="Running"), FOREVER, ran=1e9) == Wait(float("inf"))


def test_a_finished_pod_is_left_alone() -> None:
    assert step(pod(phase="Succeeded"), Run()) is None


def test_a_deleted_pod_is_stopped_first_and_then_removed() -> None:
    status = status_of(step(pod(phase="Running", deleted=True), FOREVER))

    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
    assert step(pod(phase="Failed", deleted=True), FOREVER) == Remove()


def test_a_deleted_pod_may_take_its_time_but_not_more_than_its_grace() -> None:
    deleted = pod(phase="Running", deleted=True)  # by now it is killed
    asked = NOW - timedelta(seconds=30)

    def left(stops: float, after: float) -> pods.Step | None:
        now = asked + timedelta(seconds=after)
        return pods.next_step(deleted, Run(float("inf"), stop_seconds=stops), asked, now)

    assert left(4.0, after=1.0) == Wait(3.0)
    assert isinstance(left(4.0, after=4.0), Report)
    assert left(100.0, after=20.0) == Wait(10.0)
    assert isinstance(left(100.0, after=30.0), Report)


def test_a_removed_pod_that_others_still_hold_is_left_to_them() -> None:
    assert step(pod(phase="Failed", deleted=True, grace=0), FOREVER) is None


def test_annotations_say_what_a_pod_does() -> None:
    said = {pods.RUN_SECONDS: "1.5", pods.EXIT_CODE: "42", pods.STOP_SECONDS: "2"}

    assert pods.by_annotations({"metadata": {"annotations": said}}) == Run(1.5, 42, 2.0)
    assert pods.by_annotations({"metadata": {}}) == Run(0.0, 0)


def test_annotations_that_make_no_sense_are_refused() -> None:
    meta = {"name": "p", "annotations": {pods.EXIT_CODE: "well"}}

    with pytest.raises(BadInput, match="pod p cannot be run"):
        pods.by_annotations({"metadata": meta})
