"""How nodes are judged, and which taints follow."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobferry.localkube.controllers import node_health, taints
from jobferry.localkube.controllers.taints import Taint, Toleration
from jobferry.objects import Obj, conditions

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SINCE = "2026-01-01T00:00:00Z"


def node(taints: list[Obj] | None = None, *, unschedulable: bool = False, **states: str) -> Obj:
    return {
        "metadata": {"name": "n", "creationTimestamp": SINCE},
        "spec": {"taints": taints or [], "unschedulable": unschedulable},
        "status": {
            "conditions": [{"type": type, "status": status} for type, status in states.items()]
        },
    }


def taint(key: str, effect: str = "NoSchedule", **more: str) -> Obj:
    return {"key": f"node.kubernetes.io/{key}", "effect": effect, **more}


def new(key: str, effect: str = "NoSchedule") -> Obj:
    return taint(key, effect, timeAdded=SINCE)


FOREIGN = {"key": "example.com/mine", "effect": "NoSchedule", "value": "x"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (node(Ready="True"), None),
        (node([FOREIGN], Ready="True"), None),
        (node([taint("not-ready")], Ready="True"), []),
        (node([taint("not-ready"), FOREIGN], Ready="True"), [FOREIGN]),
        (node([taint("not-ready")]), None),
        (node(Ready="False"), [new("not-ready", "NoExecute"), new("not-ready")]),
        (node(Ready="Unknown"), [new("unreachable", "NoExecute"), new("unreachable")]),
        (
            node([taint("not-ready"), taint("not-ready", "NoExecute")], Ready="False"),
            None,
        ),
        (
            node([taint("not-ready"), taint("not-ready", "NoExecute")], Ready="Unknown"),
            [new("unreachable", "NoExecute"), new("unreachable")],
        ),
        (
            node(Ready="True", MemoryPressure="True", DiskPressure="Unknown"),
            [new("memory-pressure")],
        ),
        (
            node(Ready="True", PIDPressure="True", NetworkUnavailable="True"),
            [new("network-unavailable"), new("pid-pressure")],
        ),
        (node(Ready="True", unschedulable=True), [new("unschedulable")]),
        (node([taint("unschedulable")], Ready="True"), []),
    ],
)
def test_taints_follow_from_conditions(found: Obj, expected: list[Obj] | None) -> None:
    assert node_health.taints(found, NOW, others_are_ready=True) == expected


def test_pods_are_not_driven_away_where_no_node_is_ready() -> None:
    found = node([taint("unreachable", "NoExecute")], Ready="Unknown")

    assert node_health.taints(found, NOW, others_are_ready=False) == [new("unreachable")]


def test_of_a_silent_node_nothing_is_known() -> None:
    found = node(Ready="True", MemoryPressure="False")

    after = node_health.silenced(found, NOW)

    assert after
    assert {each["status"] for each in after} == {"Unknown"}
    assert {each["type"]: each["reason"] for each in after} == {
        "Ready": "NodeStatusUnknown",
        "MemoryPressure": "NodeStatusUnknown",
        "DiskPressure": "NodeStatusNeverUpdated",
        "PIDPressure": "NodeStatusNeverUpdated",
    }
    ready = conditions.find(after, "Ready")
    assert ready
    assert ready["message"] == "Kubelet stopped posting node status."
    assert node_health.silenced({**found, "status": {"conditions": after}}, NOW) is None


EVICTING = Taint(key="k", effect="NoExecute", time_added=NOW - timedelta(seconds=30))
OTHER = Taint(key="o", effect="NoExecute", time_added=NOW - timedelta(seconds=10))


def tolerates(key: str, seconds: int | None = None, **more: Any) -> Toleration:
    return Toleration(key=key, operator="Exists", toleration_seconds=seconds, **more)


@pytest.mark.parametrize(
    ("found", "tolerations", "expected"),
    [
        ([], [], None),
        ([Taint(key="k", effect="NoSchedule")], [], None),
        ([EVICTING], [], 0),
        ([EVICTING], [tolerates("o")], 0),
        ([EVICTING], [tolerates("k")], None),
        ([EVICTING], [tolerates("k", 100)], 70),
        ([EVICTING], [tolerates("k", 0)], -30),
        ([EVICTING], [tolerates("k", -5)], -30),
        ([EVICTING], [tolerates("k", 100), tolerates("k")], 70),
        ([EVICTING, OTHER], [tolerates("k", 100)], 0),
        ([EVICTING, OTHER], [tolerates("k", 100), tolerates("o", 60)], 30),
        ([EVICTING], [tolerates("k", 100), tolerates("o", 60)], 70),
        ([EVICTING], [tolerates("k", 100, effect="NoSchedule")], 0),
    ],
)
def test_a_pod_leaves_when_its_tolerations_have_run_out(
    found: list[Taint], tolerations: list[Toleration], expected: int | None
) -> None:
    due = taints.eviction_time(found, tolerations, NOW)

    assert due == (None if expected is None else NOW + timedelta(seconds=expected))
