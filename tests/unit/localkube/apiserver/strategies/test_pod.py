"""Pods: how they begin, what selectors see, how long they stay."""

import pytest

from jobferry.localkube.apiserver.strategies import pod
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.strategies.job_world import found
from tests.unit.localkube.apiserver.strategies.pod_world import (
    MAIN,
    NOW,
    new_pod,
    stored,
    with_status,
)


def wanting(limits: Obj | None = None, requests: Obj | None = None) -> list[Obj]:
    return [MAIN | {"resources": {"limits": limits, "requests": requests}}]


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([MAIN], "BestEffort"),
        (wanting(FULL), "Guaranteed"),
        (wanting(FULL, {"cpu": "500m"}), "Burstable"),
        (wanting({"cpu": "1"}), "Burstable"),
        (wanting({"cpu": "0"}), "BestEffort"),
        ([*wanting(FULL), {"name": "b", "image": "b"}], "Burstable"),
    ],
)
def test_a_pod_has_a_class_by_its_resources(containers: list[Obj], expected: str) -> None:
    assert new_pod(containers=containers)["status"]["qosClass"] == expected


def test_the_resources_of_the_whole_pod_count_for_its_class() -> None:
    assert new_pod(resources={"limits": FULL})["status"]["qosClass"] == "Guaranteed"
    assert new_pod(resources={"requests": FULL})["status"]["qosClass"] == "Burstable"


def test_a_new_pod_is_pending_whatever_it_says() -> None:
    made = {"metadata": {}, "spec": {"containers": [MAIN]}, "status": {"phase": "Running"}}
    pod.STRATEGY.default(made)
    pod.STRATEGY.prepare_create(made)
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}


def test_a_gated_pod_says_so() -> None:
    (condition,) = new_pod(schedulingGates=[{"name": "a.b/c"}])["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("PodScheduled", "SchedulingGated")
    assert condition["lastTransitionTime"] == NOW


def test_keys_of_labels_become_part_of_selectors() -> None:
    constraint = {"matchLabelKeys": ["a", "x"], "labelSelector": {}}
    made = new_pod({"labels": {"a": "b"}}, topologySpreadConstraints=[constraint])
    (spread,) = made["spec"]["topologySpreadConstraints"]
    added = {"key": "a", "operator": "In", "values": ["b"]}
    assert spread["labelSelector"] == {"matchExpressions": [added]}


def test_a_pod_is_checked_more_strictly_than_a_template() -> None:
    token = {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}
    made = new_pod(containers=[MAIN | {"image": " a"}], volumes=[token])
    assert found(pod.STRATEGY.validate_create(made)) == [
        ("spec.volumes[0].projected.sources[0].serviceAccountToken", "Forbidden"),
        ("spec.containers[0].image", "Invalid"),
    ]


def test_a_gated_pod_has_no_node_yet() -> None:
    made = new_pod(schedulingGates=[{"name": "a.b/c"}], nodeName="n")
    assert found(pod.STRATEGY.validate_create(made)) == [("spec.nodeName", "Forbidden")]


def test_selectors_see_where_a_pod_is() -> None:
    seen = pod.STRATEGY.fields(stored({"podIPs": [{"ip": "10.0.0.1"}]}, nodeName="n"))
    assert (seen["spec.nodeName"], seen["status.phase"]) == ("n", "Pending")
    assert (seen["status.podIP"], seen["spec.hostNetwork"]) == ("10.0.0.1", "false")
    assert seen.keys() <= pod.STRATEGY.field_names


@pytest.mark.parametrize(
    ("node", "phase", "wanted", "expected"),
    [
        ("n", "Running", None, 30),
        ("n", "Running", 5, 5),
        ("n", "Running", 0, 0),
        ("n", "Running", -3, 1),
        ("", "Pending", 5, 0),
        ("n", "Succeeded", None, 0),
        ("n", "Failed", 9, 0),
    ],
)
def test_a_deleted_pod_stays_only_while_it_may_run(
    node: str, phase: str, wanted: int | None, expected: int
) -> None:
    assert pod.grace_period(stored({"phase": phase}, nodeName=node), wanted) == expected


def test_a_status_update_keeps_the_rest() -> None:
    old = stored(
        {"observedGeneration": 3, "conditions": [{"type": "A", "observedGeneration": 2}]}
    )
    old["metadata"]["ownerReferences"] = [{"name": "o"}]
    new = with_status(old, {"phase": "Running", "conditions": [{"type": "A"}], "resources": {}})
    assert new["status"] == {
        "phase": "Running",
        "qosClass": "BestEffort",
        "observedGeneration": 3,
        "conditions": [{"type": "A", "observedGeneration": 2}],
    }
    assert new["metadata"]["ownerReferences"] == [{"name": "o"}]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"podIP": "10.0.0.1"}, ["10.0.0.1"]),
        ({"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.2"}]}, ["10.0.0.1"]),
        ({"podIPs": [{"ip": "10.0.0.2"}]}, ["10.0.0.2"]),
    ],
)
def test_one_address_and_the_list_of_them_agree(given: Obj, expected: list[str]) -> None:
    status = with_status(stored(), given)["status"]
    assert [each["ip"] for each in status["podIPs"]] == expected
    assert status["podIP"] == expected[0]


def test_a_name_with_dots_is_warned_of() -> None:
    (warning,) = pod.STRATEGY.warn_create(new_pod({"name": "a.b"}))
    assert warning.startswith("metadata.name: this is used in the Pod's hostname")
