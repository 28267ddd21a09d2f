"""How the other kinds look."""

from datetime import UTC, datetime
from typing import Any

import pytest

from jobferry.localkube.apiserver.printing import batch, catalog
from jobferry.objects import Obj

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
META = {"name": "x", "creationTimestamp": "2026-11-16T11:58:00Z"}
TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]}}


def cells(group: str, kind: str, obj: Obj) -> list[Any]:
    return catalog.columns_for(group, kind).cells({"metadata": META, **obj}, NOW)


def job(status: Obj, **spec: Any) -> list[Any]:
    return cells("batch", "Job", {"spec": {"template": TEMPLATE, **spec}, "status": status})


def true(*types: str) -> Obj:
    return {"conditions": [{"type": type, "status": "True"} for type in types]}


@pytest.mark.parametrize(
    ("status", "word"),
    [
        ({}, "Running"),
        (true("Complete", "SuccessCriteriaMet"), "Complete"),
        (true("Failed", "FailureTarget"), "Failed"),
        (true("Suspended"), "Suspended"),
        (true("FailureTarget"), "FailureTarget"),
        (true("SuccessCriteriaMet"), "SuccessCriteriaMet"),
        ({"conditions": [{"type": "Complete", "status": "False"}, *true("Complete")["conditions"]]}, "Running"),
    ],
)  # fmt: skip
def test_the_state_of_a_job_in_one_word(status: Obj, word: str) -> None:
    assert job(status)[1] == word


def test_a_job_that_is_being_deleted_says_so_before_anything_but_its_end() -> None:
    meta = {**META, "deletionTimestamp": "2026-11-16T12:00:00Z"}
    shown = catalog.columns_for("batch", "Job")

    assert shown.cells({"metadata": meta, "status": true("Suspended")}, NOW)[1] == "Terminating"
    assert shown.cells({"metadata": meta, "status": true("Failed")}, NOW)[1] == "Failed"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"completions": 5}, "2/5"),
        ({"parallelism": 3}, "2/1 of 3"),
        ({"parallelism": 1}, "2/1"),
        ({}, "2/1"),
    ],
)
def test_completions_of_a_job(spec: Obj, text: str) -> None:
    assert job({"succeeded": 2}, **spec)[2] == text


def test_the_duration_of_a_job_ends_with_its_completion() -> None:
    start = "2026-11-16T11:00:00Z"

    assert job({})[3] == ""
    assert job({"startTime": start})[3] == "60m"
    assert job({"startTime": start, "completionTime": "2026-11-16T11:00:09Z"})[3] == "9s"


def test_wide_columns_of_a_job() -> None:
    selector = {"matchLabels": {"b": "1", "a": "2"}}

    assert job({}, selector=selector)[5:] == ["a,b", "i,j", "a=2,b=1"]


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (None, "<none>"),
        ({}, "<none>"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]}, "a in (x,y)"),
        ({"matchExpressions": [{"key": "a", "operator": "Odd"}]}, "<error>"),
    ],
)  # fmt: skip
def test_selectors_in_words(selector: Obj | None, text: str) -> None:
    assert batch.selector_text(selector) == text


def test_cron_jobs() -> None:
    spec = {"schedule": "* * * * *", "suspend": False, "timeZone": "Etc/UTC"}
    status = {"active": [{}, {}], "lastScheduleTime": "2026-11-16T11:59:00Z"}

    shown = cells("batch", "CronJob", {"spec": spec, "status": status})

    assert shown[1:7] == ["* * * * *", "Etc/UTC", "False", 2, "60s", "2m"]
    assert cells("batch", "CronJob", {"spec": {"schedule": "x"}})[2:6] == [
        *("<none>", "<unset>", 0, "<none>")
    ]


def test_nodes() -> None:
    labels = {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "old"}
    status = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1"},
        "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
    }
    node = {
        "metadata": {**META, "labels": labels},
        "spec": {"unschedulable": True},
        "status": status,
    }

    assert cells("", "Node", node)[1:8] == [
        *("Ready,SchedulingDisabled", "old,worker", "2m", "v1", "10.0.0.1", "<none>"),
        "<unknown>",
    ]
    assert cells("", "Node", {})[1:3] == ["Unknown", "<none>"]


PORTS = [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]


@pytest.mark.parametrize(
    ("spec", "status", "external"),
    [
        ({"type": "ClusterIP"}, {}, "<none>"),
        ({"type": "NodePort", "externalIPs": ["1.1.1.1", "2.2.2.2"]}, {}, "1.1.1.1,2.2.2.2"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        (
            {"type": "LoadBalancer", "externalIPs": ["1.1.1.1"]},
            {"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "9.9.9.9"}]}},
            "9.9.9.9,h,1.1.1.1",
        ),
        ({"type": "ExternalName", "externalName": "a.b"}, {}, "a.b"),
        ({"type": "Odd"}, {}, "<unknown>"),
        ({}, {}, "<none>"),
    ],
)
def test_services(spec: Obj, status: Obj, external: str) -> None:
    shown = cells("", "Service", {"spec": {**spec, "ports": PORTS}, "status": status})

    assert shown[3:5] == [external, "80:30080/TCP,53/UDP"]


def test_services_of_which_little_was_said() -> None:
    spec = {"clusterIP": "10.0.0.1", "ports": [{"port": 443}]}
    shown = cells("", "Service", {"spec": spec})[1:5]
    assert shown == ["ClusterIP", "10.0.0.1", "<none>", "443/TCP"]


def test_volumes_and_claims() -> None:
    volume = {
        "spec": {
            "capacity": {"storage": "1024Mi"},
            "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
            "claimRef": {"namespace": "n", "name": "c"},
        }
    }
    claim = {"spec": {"volumeName": "v"}, "status": {"capacity": {"storage": "1Gi"}}}

    assert cells("", "PersistentVolume", volume)[1:3] == ["1Gi", "RWO,RWX"]
    assert cells("", "PersistentVolume", volume)[5:8] == ["n/c", "", "<unset>"]
    assert cells("", "PersistentVolumeClaim", claim)[2:5] == ["v", "1Gi", ""]
    assert cells("", "PersistentVolumeClaim", {})[2:5] == ["", "", ""]


def test_events_look_the_same_in_both_forms() -> None:
    core = {
        "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "f"},
        "source": {"component": "kubelet", "host": "n"},
        "lastTimestamp": "2026-11-16T11:59:30Z",
        "firstTimestamp": "2026-11-16T11:00:00Z",
        "message": " hello\n",
        "count": 3,
    }
    new = {
        "regarding": core["involvedObject"],
        "deprecatedSource": core["source"],
        "deprecatedLastTimestamp": core["lastTimestamp"],
        "deprecatedFirstTimestamp": core["firstTimestamp"],
        "note": core["message"],
        "deprecatedCount": 3,
    }

    shown = cells("", "Event", core)

    assert shown == ["30s", "", "", "pod/p", "f", "kubelet, n", "hello", "60m", 3, "x"]
    assert cells("events.k8s.io", "Event", new) == shown


def test_series_of_events_count_themselves() -> None:
    series = {"count": 9, "lastObservedTime": "2026-11-16T11:59:59.000000Z"}
    event = {"eventTime": "2026-11-16T11:00:00.000000Z", "series": series}

    shown = cells("", "Event", event)

    assert (shown[0], shown[7], shown[8]) == ("1s", "60m", 9)
    assert cells("", "Event", {})[8] == 1


def test_small_kinds() -> None:
    quota = {
        "status": {
            "hard": {"pods": "4", "limits.cpu": "1000m"},
            "used": {"limits.cpu": "0.5"},
        }
    }
    binding = {
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [
            {"kind": "User", "name": "u"},
            {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
        ],
    }
    rbac = "rbac.authorization.k8s.io"

    assert cells("", "ResourceQuota", quota)[1:3] == ["pods: 0/4", "limits.cpu: 500m/1"]
    assert cells(rbac, "RoleBinding", binding)[1:] == ["Role/r", "2m", "u", "", "n/s"]
    assert cells("", "Secret", {"type": "Opaque", "data": {"a": ""}})[1:3] == ["Opaque", 1]
    assert cells("", "ConfigMap", {"data": {"a": ""}, "binaryData": {"b": ""}})[1] == 2
    assert cells("coordination.k8s.io", "Lease", {"spec": {"holderIdentity": "h"}})[1] == "h"
    assert cells("scheduling.k8s.io", "PriorityClass", {"value": 5})[1:3] == [5, False]
    assert cells("", "LimitRange", {}) == ["x", META["creationTimestamp"]]
