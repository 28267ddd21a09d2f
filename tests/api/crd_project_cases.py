"""Objects of other projects, of which some break the rules of their definitions."""

from typing import Any

from jobferry.objects import Obj

_POD: Obj = {
    "spec": {
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
    }
}


def _job_set(**spec: Any) -> Obj:
    job = {"name": "workers", "replicas": 2, "template": {"spec": {"template": _POD}}}
    return {"spec": {"replicatedJobs": [job], **spec}}


def _after(name: str) -> list[Obj]:
    first = {"name": "a", "template": {"spec": {"template": _POD}}}
    depends = [{"name": name, "status": "Complete"}]
    return [first, {**first, "name": "b", "dependsOn": depends}]


def _flavor(**spec: Any) -> Obj:
    return {"spec": spec}


def _workload(**pod_set: Any) -> Obj:
    return {"spec": {"podSets": [{"name": "main", "count": 2, "template": _POD, **pod_set}]}}


def _levels(*labels: str) -> Obj:
    return {"spec": {"levels": [{"nodeLabel": label} for label in labels]}}


def _train(**spec: Any) -> Obj:
    return {"spec": {"runtimeRef": {"name": "torch"}, **spec}}


CASES: tuple[tuple[str, str, dict[str, Obj]], ...] = (
    (
        "jobset",
        "jobsets",
        {
            "fine": _job_set(),
            "depends": _job_set(replicatedJobs=_after("a")),
            "depends in order": _job_set(
                replicatedJobs=_after("a"), startupPolicy={"startupPolicyOrder": "InOrder"}
            ),
            "unknown manager": _job_set(managedBy="nobody"),
            "wrong policy": _job_set(
                failurePolicy={"maxRestarts": "x", "restartStrategy": "y"}
            ),
            "unknown field": _job_set(colour="red"),
        },
    ),
    (
        "kueue",
        "resourceflavors",
        {
            "fine": _flavor(nodeLabels={"a": "b"}),
            "topology without labels": _flavor(topologyName="t"),
            "effect": _flavor(nodeTaints=[{"key": "a", "effect": "Sometimes"}]),
            "toleration": _flavor(tolerations=[{"operator": "Equal"}]),
            "toleration seconds": _flavor(
                tolerations=[{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}]
            ),
            "toleration operator": _flavor(tolerations=[{"key": "a", "operator": "Like"}]),
            "toleration value": _flavor(
                tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]
            ),
        },
    ),
    (
        "kueue",
        "topologies",
        {
            "fine": _levels("rack", "kubernetes.io/hostname"),
            "host first": _levels("kubernetes.io/hostname", "rack"),
            "twice": _levels("rack", "rack"),
            "none": _levels(),
            "bad label": _levels("-"),
        },
    ),
    (
        "kueue",
        "workloads",
        {
            "fine": _workload(),
            "too few": _workload(minCount=5),
            "enough": _workload(minCount=1),
            "no count": _workload(count=-1),
            "bad name": _workload(name="Main"),
        },
    ),
    (
        "trainer",
        "trainjobs",
        {
            "fine": _train(),
            "long name": {**_train(), "metadata": {"name": "a" * 70}},
            "name with a dot": {**_train(), "metadata": {"name": "a.b"}},
            "manager": _train(managedBy="somebody"),
            "model": _train(initializer={"model": {"storageUri": "nowhere"}}),
            "right model": _train(initializer={"model": {"storageUri": "hf://a/b"}}),
        },
    ),
    (
        "lws",
        "leaderworkersets",
        {
            "fine": {"spec": {"leaderWorkerTemplate": {"workerTemplate": _POD, "size": 2}}},
            "size": {"spec": {"leaderWorkerTemplate": {"workerTemplate": _POD, "size": "x"}}},
            "missing": {"spec": {}},
        },
    ),
    (
        "mpi-operator",
        "mpijobs",
        {
            "fine": {"spec": {"mpiReplicaSpecs": {"Launcher": {"replicas": 1}}}},
            "wrong": {
                "spec": {
                    "mpiReplicaSpecs": {"Launcher": {"replicas": "x"}},
                    "slotsPerWorker": "y",
                }
            },
        },
    ),
)
