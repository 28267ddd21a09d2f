"""Pods, and what admission makes of them."""

from dataclasses import dataclass, field
from typing import Any

from jobferry.objects import Obj
from tests.unit.localkube.apiserver.admission.admission_world import container, quota

GPU = "example.com/gpu"


@dataclass
class Case:
    """A pod, and what it comes to."""

    pod: Obj
    setup: list[tuple[str, Obj]] = field(default_factory=list)
    account: bool = True
    is_refused: bool = True


def pod(name: str = "p", **spec: Any) -> Obj:
    return {
        "metadata": {"name": name},
        "spec": {"containers": [container()]} | spec,
    }


def one(requests: Obj | None = None, limits: Obj | None = None, **spec: Any) -> Obj:
    return pod(containers=[container(requests=requests, limits=limits)], **spec)


def limits(*items: Obj, name: str = "l") -> tuple[str, Obj]:
    return "limitranges", {"metadata": {"name": name}, "spec": {"limits": list(items)}}


def limit(type: str = "Container", **lists: Obj) -> Obj:
    return {"type": type} | lists


def quotas(hard: Obj, used: Obj | None = None, **more: Any) -> tuple[str, Obj]:
    return "resourcequotas", quota(hard, used, **more)


def account(name: str, **more: Any) -> tuple[str, Obj]:
    return "serviceaccounts", {"metadata": {"name": name}} | more


def scoped(*requirements: Obj) -> Obj:
    return {"scopeSelector": {"matchExpressions": list(requirements)}}


ENFORCING = {
    "metadata": {
        "name": "strict",
        "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"},
    },
    "secrets": [{"name": "known"}],
    "imagePullSecrets": [{"name": "pull"}],
}
SECRET_ENV = {"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
SIDECAR = container("s", requests={"cpu": "300m", "memory": "1Gi"}, restartPolicy="Always")
INIT = container("i", requests={"cpu": "2", "memory": "64Mi"})
TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def mirror(**spec: Any) -> Obj:
    metadata = {"name": "p", "annotations": {"kubernetes.io/config.mirror": "x"}}
    return pod(nodeName="n", **spec) | {"metadata": metadata}


CASES = {
    # -- what is added
    "a bare pod": Case(pod(), is_refused=False),
    "init containers and two mounts": Case(
        pod(
            containers=[
                container("a", volumeMounts=[{"name": "v", "mountPath": TOKEN_PATH}]),
                container("b"),
            ],
            initContainers=[container("i")],
            volumes=[{"name": "v", "emptyDir": {}}],
        ),
        is_refused=False,
    ),
    "every container mounts something there": Case(
        pod(
            containers=[container(volumeMounts=[{"name": "v", "mountPath": TOKEN_PATH}])],
            volumes=[{"name": "v", "emptyDir": {}}],
        ),
        is_refused=False,
    ),
    "an own token volume": Case(
        pod(volumes=[{"name": "kube-api-access-abcde", "emptyDir": {}}]), is_refused=False
    ),
    "a pod that wants no token": Case(
        pod(automountServiceAccountToken=False), is_refused=False
    ),
    "an account that gives no token": Case(
        pod(serviceAccountName="a"),
        [account("a", automountServiceAccountToken=False)],
        is_refused=False,
    ),
    "a pod that wants the token all the same": Case(
        pod(serviceAccountName="a", automountServiceAccountToken=True),
        [account("a", automountServiceAccountToken=False)],
        is_refused=False,
    ),
    "pull secrets of the account": Case(
        pod(serviceAccount="a"),
        [account("a", imagePullSecrets=[{"name": "x"}, {"name": "y"}])],
        is_refused=False,
    ),
    "own pull secrets": Case(
        pod(serviceAccountName="a", imagePullSecrets=[{"name": "z"}]),
        [account("a", imagePullSecrets=[{"name": "x"}])],
        is_refused=False,
    ),
    "own tolerations": Case(
        pod(
            tolerations=[
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
                {"key": "x", "operator": "Exists", "effect": "NoExecute"},
            ]
        ),
        is_refused=False,
    ),
    "a toleration of everything": Case(
        pod(tolerations=[{"operator": "Exists"}]), is_refused=False
    ),
    "a toleration of everything unschedulable": Case(
        pod(tolerations=[{"operator": "Exists", "effect": "NoSchedule"}]), is_refused=False
    ),
    "a system priority": Case(pod(priorityClassName="system-node-critical"), is_refused=False),
    "the right priority by hand": Case(
        pod(priorityClassName="system-cluster-critical", priority=2_000_000_000),
        is_refused=False,
    ),
    "a mirror pod": Case(mirror(), is_refused=False),
    "a mirror pod with an account": Case(mirror(serviceAccountName="default")),
    "a mirror pod with a secret": Case(
        mirror(volumes=[{"name": "v", "secret": {"secretName": "s"}}])
    ),
    "a mirror pod with a variable of a secret": Case(
        mirror(containers=[container(env=[SECRET_ENV])])
    ),
    "a mirror pod with a token": Case(
        mirror(
            volumes=[
                {
                    "name": "v",
                    "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]},
                }
            ]
        )
    ),
    "limits by default": Case(
        pod(
            containers=[container("a"), container("b", limits={"cpu": "1"})],
            initContainers=[container("i", requests={"cpu": "10m"})],
        ),
        [
            limits(
                limit(
                    default={"cpu": "500m", "memory": "1.5Gi"},
                    defaultRequest={"cpu": "0.25"},
                )
            )
        ],
        is_refused=False,
    ),
    "limits from bounds": Case(
        pod(),
        [
            limits(
                limit(max={"cpu": "1", "memory": "1Gi"}, min={"cpu": "100m", "memory": "1Mi"})
            )
        ],
        is_refused=False,
    ),
    "limits that do not matter": Case(
        pod(), [limits(limit("PersistentVolumeClaim", max={"storage": "1"}))], is_refused=False
    ),
    # -- accounts
    "no default account": Case(pod(), account=False),
    "an account that is not there": Case(pod(serviceAccountName="nobody")),
    "a generated name": Case(
        {"metadata": {"generateName": "g-"}, "spec": pod(serviceAccountName="nobody")["spec"]}
    ),
    "a volume of a secret that the account does not list": Case(
        pod(
            serviceAccountName="strict", volumes=[{"name": "v", "secret": {"secretName": "s"}}]
        ),
        [("serviceaccounts", ENFORCING)],
    ),
    "a variable of a secret that the account does not list": Case(
        pod(serviceAccountName="strict", containers=[container(env=[SECRET_ENV])]),
        [("serviceaccounts", ENFORCING)],
    ),
    "variables of a secret that the account does not list": Case(
        pod(
            serviceAccountName="strict",
            initContainers=[container("i", envFrom=[{"secretRef": {"name": "s"}}])],
        ),
        [("serviceaccounts", ENFORCING)],
    ),
    "a pull secret that the account does not list": Case(
        pod(serviceAccountName="strict", imagePullSecrets=[{"name": "pull"}, {"name": "no"}]),
        [("serviceaccounts", ENFORCING)],
    ),
    "only secrets that the account lists": Case(
        pod(
            serviceAccountName="strict",
            volumes=[{"name": "v", "secret": {"secretName": "known"}}],
        ),
        [("serviceaccounts", ENFORCING)],
        is_refused=False,
    ),
    # -- priorities and runtime classes
    "a class that is not there": Case(pod(priorityClassName="nothing")),
    "a priority without a class": Case(pod(priority=7)),
    "a wrong priority": Case(pod(priorityClassName="system-node-critical", priority=1)),
    "a wrong preemption policy": Case(
        pod(priorityClassName="system-node-critical", preemptionPolicy="Never")
    ),
    "a preemption policy without a class": Case(pod(preemptionPolicy="Never")),
    "a runtime class": Case(pod(runtimeClassName="gvisor")),
    "overhead without a runtime class": Case(pod(overhead={"cpu": "1"})),
    # -- limits
    "no limit where there is a maximum for pods": Case(
        pod(), [limits(limit("Pod", max={"cpu": "1", "memory": "1Gi"}))]
    ),
    "too much for a container": Case(
        one({"cpu": "3"}, {"cpu": "3", "memory": "3Gi"}),
        [limits(limit(max={"cpu": "2", "memory": "2Gi"}))],
    ),
    "too little for a container": Case(
        one({"cpu": "1m", "memory": "2Mi"}, {"cpu": "5m"}),
        [limits(limit(min={"cpu": "10m", "memory": "4Mi"}))],
    ),
    "no request where there is a minimum": Case(
        one({"cpu": "1"}), [limits(limit("Pod", min={"memory": "4Mi"}))]
    ),
    "twice the same problem": Case(
        pod(containers=[container(name, limits={"cpu": "3"}) for name in "ab"]),
        [limits(limit(max={"cpu": "2"}))],
    ),
    "too many times the request": Case(
        one({"cpu": "100m"}, {"cpu": "1"}), [limits(limit(maxLimitRequestRatio={"cpu": "3"}))]
    ),
    "a fractional ratio": Case(
        one({"cpu": "2"}, {"cpu": "3500m"}),
        [limits(limit(maxLimitRequestRatio={"cpu": "1.5"}))],
    ),
    "a ratio without a request": Case(
        pod(), [limits(limit("Pod", maxLimitRequestRatio={"memory": "2"}))]
    ),
    "a ratio without a limit": Case(
        one({"memory": "1"}), [limits(limit("Pod", maxLimitRequestRatio={"memory": "2"}))]
    ),
    "too much for a pod with sidecars": Case(
        pod(containers=[container(requests={"cpu": "1800m"})], initContainers=[SIDECAR, INIT]),
        [limits(limit("Pod", min={"cpu": "3"}))],
    ),
    "pod level resources": Case(
        one({"cpu": "1"}, resources={"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}),
        [limits(limit("Pod", max={"cpu": "3"}))],
    ),
    "huge amounts": Case(
        one({"memory": "5Ei"}, {"memory": "6Ei"}), [limits(limit(max={"memory": "5E"}))]
    ),
    "huge decimal amounts": Case(
        one({"memory": "5E", "ephemeral-storage": "5000000000000000000001"}, {"memory": "6E"}),
        is_refused=False,
    ),
    "the second of two limit ranges": Case(
        one(None, {"cpu": "3"}),
        [limits(limit(max={"cpu": "4"})), limits(limit(max={"cpu": "2"}), name="m")],
    ),
}
