"""Objects, and whether quotas have room for them."""

from typing import Any

from jobferry.objects import Obj
from tests.api.admission_cases import (
    GPU,
    INIT,
    SIDECAR,
    Case,
    limit,
    limits,
    one,
    pod,
    quotas,
    scoped,
)
from tests.unit.localkube.apiserver.admission.admission_world import container

SPREAD = {"topologyKey": "zone", "namespaces": ["other"], "labelSelector": {}}

QUOTA_CASES = {
    "too many pods": Case(pod(), [quotas({"pods": "2"}, {"pods": "2"})]),
    "too many objects": Case(pod(), [quotas({"count/pods": "2"}, {"count/pods": "2"})]),
    "a quota that is not counted yet": Case(
        pod(), [quotas({"pods": "2", "count/pods": "1", "configmaps": "1"}, {})]
    ),
    "nothing asked for where there is a quota": Case(
        pod(containers=[container("b"), container("a")], initContainers=[container("i")]),
        [quotas({"cpu": "1", "limits.memory": "1Gi", "requests.memory": "1Gi"})],
    ),
    "ephemeral storage need not be asked for": Case(
        pod(), [quotas({"requests.ephemeral-storage": "1Gi"})], is_refused=False
    ),
    "more than there is": Case(
        one({"cpu": "500m", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}),
        [
            quotas(
                {"requests.cpu": "2", "limits.memory": "2Gi", "pods": "10"},
                {"requests.cpu": "1600m", "limits.memory": "1536Mi", "pods": "3"},
            )
        ],
    ),
    "just enough": Case(
        one({"cpu": "400m"}), [quotas({"cpu": "2"}, {"cpu": "1600m"})], is_refused=False
    ),
    "the second of two quotas": Case(
        one({"cpu": "1"}),
        [quotas({"cpu": "2"}, name="a"), quotas({"requests.cpu": "0.5"}, name="b")],
    ),
    "init containers and sidecars together": Case(
        pod(
            containers=[container(requests={"cpu": "1", "memory": "1Gi"})],
            initContainers=[SIDECAR, INIT],
        ),
        [quotas({"requests.cpu": "2", "requests.memory": "1Gi"})],
    ),
    "pod level resources in a quota": Case(
        pod(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}),
        [quotas({"requests.cpu": "1", "limits.cpu": "3"})],
    ),
    "extended resources": Case(
        one({GPU: "2"}, {GPU: "2"}),
        [quotas({f"requests.{GPU}": "3"}, {f"requests.{GPU}": "2"})],
    ),
    "huge pages": Case(
        one(
            {"hugepages-2Mi": "4Mi", "memory": "1Gi"}, {"hugepages-2Mi": "4Mi", "memory": "1Gi"}
        ),
        [quotas({"hugepages-2Mi": "2Mi", "requests.hugepages-2Mi": "2Mi"})],
    ),
    "pods without an end": Case(pod(), [quotas({"pods": "0"}, scopes=["NotTerminating"])]),
    "pods with an end": Case(
        pod(activeDeadlineSeconds=5), [quotas({"pods": "0"}, scopes=["Terminating"])]
    ),
    "another scope": Case(
        pod(activeDeadlineSeconds=5),
        [quotas({"pods": "0"}, scopes=["NotTerminating"])],
        is_refused=False,
    ),
    "pods that ask for nothing": Case(pod(), [quotas({"pods": "0"}, scopes=["BestEffort"])]),
    "pods that ask for something": Case(
        one({"memory": "1"}), [quotas({"pods": "0"}, scopes=["NotBestEffort"])]
    ),
    "pods that ask for something else": Case(
        one({"ephemeral-storage": "1"}),
        [quotas({"pods": "0"}, scopes=["NotBestEffort"])],
        is_refused=False,
    ),
    "pods of a class": Case(
        pod(priorityClassName="system-node-critical"),
        [
            quotas(
                {"pods": "0"},
                **scoped(
                    {
                        "scopeName": "PriorityClass",
                        "operator": "In",
                        "values": ["system-node-critical"],
                    }
                ),
            )
        ],
    ),
    "pods of some class": Case(
        pod(priorityClassName="system-node-critical"),
        [quotas({"pods": "0"}, scopes=["PriorityClass"])],
    ),
    "pods of no class": Case(
        pod(),
        [
            quotas(
                {"pods": "0"},
                **scoped({"scopeName": "PriorityClass", "operator": "DoesNotExist"}),
            )
        ],
    ),
    "pods not of a class": Case(
        pod(),
        [
            quotas(
                {"pods": "0"},
                **scoped({"scopeName": "PriorityClass", "operator": "NotIn", "values": ["x"]}),
            )
        ],
    ),
    "pods of another class": Case(
        pod(),
        [
            quotas(
                {"pods": "0"},
                **scoped({"scopeName": "PriorityClass", "operator": "In", "values": ["x"]}),
            )
        ],
        is_refused=False,
    ),
    "a scope that cannot be understood": Case(
        pod(),
        [
            quotas(
                {"pods": "0"},
                **scoped(
                    {"scopeName": "PriorityClass", "operator": "In", "values": ["a b", "c"]}
                ),
            )
        ],
    ),
    "pods that look into other namespaces": Case(
        pod(
            affinity={
                "podAntiAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "podAffinityTerm": SPREAD}
                    ]
                }
            }
        ),
        [quotas({"pods": "0"}, scopes=["CrossNamespacePodAffinity"])],
    ),
    "defaults come before quota": Case(
        pod(),
        [limits(limit(default={"cpu": "1"})), quotas({"cpu": "0.5", "limits.cpu": "5"})],
    ),
}


def service(kind: str, ports: int = 1, **more: Any) -> Obj:
    listed = [{"name": f"p{port}", "port": port} for port in range(1, ports + 1)]
    return {"metadata": {"name": "s"}, "spec": {"type": kind, "ports": listed} | more}


def claim(storage: str = "1Gi", **spec: Any) -> Obj:
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}}
    return {"metadata": {"name": "v"}, "spec": asked | spec}


JOB = {
    "metadata": {"name": "j"},
    "spec": {"template": {"spec": {"containers": [container()], "restartPolicy": "Never"}}},
}
PLAIN = {"metadata": {"name": "x"}}
GOLD = "gold.storageclass.storage.k8s.io"

OTHERS: dict[str, tuple[str, Obj, list[tuple[str, Obj]]]] = {
    "config maps": ("configmaps", PLAIN, [quotas({"configmaps": "0"})]),
    "config maps by count": ("configmaps", PLAIN, [quotas({"count/configmaps": "0"})]),
    "config maps both ways": (
        "configmaps",
        PLAIN,
        [
            quotas(
                {"count/configmaps": "0", "configmaps": "1"},
                {"configmaps": "1", "count/configmaps": "0"},
            )
        ],
    ),
    "secrets": ("secrets", PLAIN, [quotas({"secrets": "3"}, {"secrets": "3"})]),
    "quotas": ("resourcequotas", PLAIN, [quotas({"resourcequotas": "0"})]),
    "jobs": ("jobs", JOB, [quotas({"count/jobs.batch": "0"})]),
    "accounts": ("serviceaccounts", PLAIN, [quotas({"count/serviceaccounts": "0"})]),
    "scopes are for pods": (
        "jobs",
        JOB,
        [quotas({"count/jobs.batch": "0"}, scopes=["BestEffort"])],
    ),
    "services": ("services", service("ClusterIP"), [quotas({"services": "0"})]),
    "services by count": ("services", service("ClusterIP"), [quotas({"count/services": "0"})]),
    "node ports": ("services", service("NodePort", 3), [quotas({"services.nodeports": "2"})]),
    "no node ports": ("services", service("ClusterIP"), [quotas({"services.nodeports": "0"})]),
    "balancers": (
        "services",
        service("LoadBalancer", 2),
        [quotas({"services.loadbalancers": "0", "services.nodeports": "1"})],
    ),
    "balancers without node ports": (
        "services",
        service("LoadBalancer", 2, allocateLoadBalancerNodePorts=False),
        [quotas({"services.loadbalancers": "1", "services.nodeports": "0"})],
    ),
    "claims": ("persistentvolumeclaims", claim(), [quotas({"persistentvolumeclaims": "0"})]),
    "storage": (
        "persistentvolumeclaims",
        claim("1.5Gi"),
        [quotas({"requests.storage": "1Gi"})],
    ),
    "storage of a class": (
        "persistentvolumeclaims",
        claim("3Gi", storageClassName="gold"),
        [quotas({f"{GOLD}/requests.storage": "1Gi", f"{GOLD}/persistentvolumeclaims": "1"})],
    ),
    "storage of another class": (
        "persistentvolumeclaims",
        claim("3Gi", storageClassName="silver"),
        [quotas({f"{GOLD}/requests.storage": "1Gi"})],
    ),
    "claims of attributes": (
        "persistentvolumeclaims",
        claim(volumeAttributesClassName="fast"),
        [
            quotas(
                {"persistentvolumeclaims": "0"},
                **scoped(
                    {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["fast"]}
                ),
            )
        ],
    ),
    "claims that are too large": (
        "persistentvolumeclaims",
        claim("3Gi"),
        [limits(limit("PersistentVolumeClaim", max={"storage": "2Gi"}))],
    ),
    "claims that are too small": (
        "persistentvolumeclaims",
        claim("1M"),
        [limits(limit("PersistentVolumeClaim", min={"storage": "1Mi"}))],
    ),
}
