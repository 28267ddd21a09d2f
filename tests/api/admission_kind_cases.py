"""Quotas, limit ranges and priority classes, good and bad."""

from typing import Any

from jobferry.objects import Obj
from tests.api.admission_cases import GPU, limit, scoped


def hard(**more: Any) -> Obj:
    return {"spec": {"hard": more.pop("hard", {"pods": "1"})} | more}


def ranged(*items: Obj) -> Obj:
    return {"spec": {"limits": list(items)}}


BODIES: dict[str, list[Obj]] = {
    "resourcequotas": [
        {"spec": {}},
        hard(),
        hard(hard={"cpu": "0.5", "memory": "1.0000001", "pods": 3, "requests.cpu": "1e3"}),
        hard(hard={"foo": "1", "bar/baz": "1", "a b": "1", "storage": "1", "count/x.y": "2"}),
        hard(hard={"pods": "1.5", "services": "-1", GPU: "0.5", f"requests.{GPU}": "0.5"}),
        hard(
            hard={
                "hugepages-2Mi": "1",
                "requests.hugepages-1Gi": "1",
                "limits.hugepages-1": "1",
            }
        ),
        hard(
            hard={"requests.cpu": "2", "limits.cpu": "1", "memory": "2", "limits.memory": "1"}
        ),
        hard(
            hard={
                "requests.storage": "2",
                "limits.ephemeral-storage": "1",
                "requests.ephemeral-storage": "2",
            }
        ),
        hard(scopes=["Terminating", "NotTerminating", "What"]),
        hard(scopes=["BestEffort", "NotBestEffort"], hard={"cpu": "1", "pods": "1"}),
        hard(scopes=["BestEffort"], hard={"services": "1", "count/jobs.batch": "1"}),
        hard(scopes=["PriorityClass"], hard={"configmaps": "1", "limits.cpu": "1"}),
        hard(scopes=["CrossNamespacePodAffinity"], hard={"requests.storage": "1"}),
        hard(
            scopes=["VolumeAttributesClass"], hard={"pods": "1", "persistentvolumeclaims": "1"}
        ),
        hard(**scoped({"scopeName": "Terminating", "operator": "In"})),
        hard(**scoped({"scopeName": "What", "operator": "Exists", "values": ["a"]})),
        hard(**scoped({"scopeName": "PriorityClass", "operator": "NotIn"})),
        hard(**scoped({"scopeName": "PriorityClass", "operator": "Gt"})),
        hard(
            **scoped(
                {"scopeName": "PriorityClass", "operator": "DoesNotExist", "values": ["a"]}
            )
        ),
        hard(**scoped({"scopeName": "PriorityClass", "operator": "In", "values": ["a"]})),
        hard(
            hard={"services": "1"}, **scoped({"scopeName": "BestEffort", "operator": "Exists"})
        ),
        hard(
            hard={"services": "1"},
            **scoped({"scopeName": "PriorityClass", "operator": "In", "values": ["a", "b"]}),
        ),
        hard(
            **scoped(
                {"scopeName": "BestEffort", "operator": "Exists"},
                {"scopeName": "NotBestEffort", "operator": "Exists"},
            )
        ),
        hard() | {"status": {"hard": {"pods": "7"}}},
    ],
    "limitranges": [
        ranged({}),
        ranged(limit("Container")),
        ranged(limit("What"), limit("a/b"), limit("a/b/c"), limit("Pod"), limit("Pod")),
        ranged(limit(max={"cpu": "2", "memory": "1.5Gi"}, min={"cpu": "0.1"})),
        ranged(limit(max={"cpu": "2"}, default={"cpu": "1"}, min={"memory": "0.0001"})),
        ranged(limit(max={"cpu": "1"}, min={"cpu": "2"})),
        ranged(limit(default={"cpu": "3"}, max={"cpu": "2"}, min={"cpu": "1"})),
        ranged(limit(default={"cpu": "1"}, defaultRequest={"cpu": "2"}, min={"cpu": "3"})),
        ranged(limit(defaultRequest={"cpu": "3"}, max={"cpu": "2"})),
        ranged(
            limit("Pod", default={"cpu": "1"}, defaultRequest={"cpu": "2"}, max={"cpu": "0.5"})
        ),
        ranged(limit(max={"foo": "1", "pods": "1", GPU: "1", "requests.a/b": "1"})),
        ranged(limit("Pod", min={"storage": "1", "hugepages-2Mi": "2Mi"})),
        ranged(limit("PersistentVolumeClaim")),
        ranged(limit("PersistentVolumeClaim", min={"cpu": "1"})),
        ranged(limit("PersistentVolumeClaim", min={"storage": "2"}, max={"storage": "1"})),
        ranged(limit("PersistentVolumeClaim", max={"storage": "1Gi"}, default={"foo": "1"})),
        ranged(limit(maxLimitRequestRatio={"cpu": "0.5", "memory": "1"})),
        ranged(limit(maxLimitRequestRatio={"cpu": "3"}, min={"cpu": "1"}, max={"cpu": "2"})),
        ranged(limit(maxLimitRequestRatio={"cpu": "1.5"}, min={"cpu": "1"}, max={"cpu": "2"})),
        ranged(limit(default={GPU: "2"}, defaultRequest={GPU: "1"})),
        ranged(
            limit(
                "Container",
                max={"memory": "8Ei"},
                min={"memory": "1"},
                maxLimitRequestRatio={"memory": "9E"},
            )
        ),
    ],
    "priorityclasses": [
        {"value": 0},
        {"value": 10, "description": "d"},
        {"value": 1_000_000_000},
        {"value": 1_000_000_001, "preemptionPolicy": "Maybe"},
        {"value": -5, "preemptionPolicy": "Never"},
        {"value": 1, "preemptionPolicy": ""},
        {"metadata": {"name": "system-x"}, "value": 1},
        {"metadata": {"name": "system-node-critical"}, "value": 1},
        {
            "metadata": {"name": "system-cluster-critical"},
            "value": 2_000_000_000,
            "globalDefault": True,
        },
        {"metadata": {"name": "Bad_Name"}, "value": 1},
    ],
}

UPDATES: list[tuple[str, Obj, Obj, str]] = [
    ("resourcequotas", hard(), hard(hard={"pods": "2", "cpu": "0.5"}), ""),
    ("resourcequotas", hard(), hard(scopes=["BestEffort"]), ""),
    ("resourcequotas", hard(scopes=["BestEffort"]), hard(), ""),
    (
        "resourcequotas",
        hard(scopes=["Terminating", "BestEffort"]),
        hard(scopes=["BestEffort", "Terminating"]),
        "",
    ),
    (
        "resourcequotas",
        hard(),
        hard(hard={"foo": "1"}) | {"status": {"hard": {"pods": "9"}}},
        "",
    ),
    (
        "resourcequotas",
        hard(),
        {"status": {"hard": {"pods": "1"}, "used": {"pods": "0.0001"}}},
        "status",
    ),
    (
        "resourcequotas",
        hard(),
        {"status": {"hard": {"foo": "1"}, "used": {"pods": "-1"}}},
        "status",
    ),
    ("resourcequotas", hard(), {"status": {"used": {"cpu": "0.0001"}}, "spec": {}}, "status"),
    ("limitranges", ranged(limit()), ranged(limit(max={"cpu": "1"}, min={"cpu": "2"})), ""),
    ("limitranges", ranged(limit()), ranged(limit(max={"cpu": "1"})), ""),
    ("priorityclasses", {"value": 1}, {"value": 2, "preemptionPolicy": "Never"}, ""),
    ("priorityclasses", {"value": 3}, {"description": "d"}, ""),
    ("priorityclasses", {"value": 3}, {"preemptionPolicy": "Maybe"}, ""),
]
"""(resource, before, what is changed, subresource)."""
