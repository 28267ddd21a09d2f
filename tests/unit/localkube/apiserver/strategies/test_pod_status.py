"""What is wrong with changed statuses of pods."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies import pod
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.strategies.job_world import Found, found
from tests.unit.localkube.apiserver.strategies.pod_world import MAIN, stored, with_status


def having(**state: Any) -> Obj:
    return {"containerStatuses": [{"name": "main", "state": state}]}


ENDED, RUNNING = having(terminated={"exitCode": 7}), having(running={})
RULE = {"action": "Restart", "exitCodes": {"operator": "In", "values": [7]}}
BY_RULE = [MAIN | {"restartPolicy": "Never", "restartPolicyRules": [RULE]}]
STATE = [("status.containerStatuses[0].state", "Forbidden")]

CASES: dict[str, tuple[Obj, Obj, Obj, Found]] = {
    "phase": ({}, {}, {"phase": "Running"}, []),
    "condition": (
        {},
        {},
        {"conditions": [{"type": "a b"}, {"type": "Ready"}]},
        [("status.conditions[0].Type", "Invalid")],
    ),
    "class": ({}, {}, {"qosClass": "Guaranteed"}, [("status.qosClass", "Invalid")]),
    "nominated": (
        {"nodeName": "n"},
        {},
        {"nominatedNodeName": "m"},
        [("status.nominatedNodeName", "Forbidden")],
    ),
    "address": ({}, {}, {"podIP": "x"}, [("status.podIPs[0]", "Invalid")]),
    "addresses": (
        {},
        {},
        {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]},
        [("status.podIPs", "Invalid")],
    ),
    "user of windows": (
        {"os": {"name": "windows"}},
        {},
        {"containerStatuses": [{"name": "main", "user": {"linux": {"uid": 1}}}]},
        [("status.containerStatuses[0].user.linux", "Forbidden")],
    ),
    "host addresses": (
        {},
        {},
        {"hostIPs": [{"ip": "10.0.0.1"}]},
        [("status.hostIPs[0].ip", "Invalid")],
    ),
    "never restarts": ({"restartPolicy": "Never"}, ENDED, RUNNING, STATE),
    "restarts on failure": ({"restartPolicy": "OnFailure"}, ENDED, RUNNING, []),
    "succeeded": (
        {"restartPolicy": "OnFailure"},
        having(terminated={"exitCode": 0}),
        RUNNING,
        STATE,
    ),
    "restarts by rule": (
        {"restartPolicy": "Never", "containers": BY_RULE},
        ENDED,
        RUNNING,
        [],
    ),
    "claims": (
        {},
        {},
        {"resourceClaimStatuses": [{"name": "a"}]},
        [("status.resourceClaimStatuses[0].name", "Invalid")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_changed_status_is_checked(name: str) -> None:
    members, status, new, expected = CASES[name]
    old = stored(status, **members)
    assert found(pod.STATUS.validate_update(with_status(old, new), old)) == expected
