"""Pods of all sizes, and quotas and limits that some of them break."""

from random import Random
from typing import Any

from jobferry.objects import Obj
from tests.unit.localkube.apiserver.admission.admission_world import container, quota

AMOUNTS = {
    "cpu": ("0", "1m", "100m", "0.25", "1", "1500m", "3"),
    "memory": ("0", "1", "1500", "64Mi", "0.1Gi", "1Gi", "1.5G", "2e9"),
    "ephemeral-storage": ("1Gi", "500M"),
    "example.com/gpu": ("1", "2"),
    "hugepages-2Mi": ("2Mi", "4Mi"),
}
WHOLE = ("example.com/gpu", "hugepages-2Mi")
"""What has to be limited to just what is requested."""

QUOTAS = [
    quota(
        {"requests.cpu": "2", "requests.memory": "2Gi", "pods": "5"},
        {"requests.cpu": "1", "requests.memory": "0", "pods": "1"},
    ),
    quota({"cpu": "3", "limits.cpu": "4", "limits.memory": "3Gi"}),
    quota(
        {
            "requests.example.com/gpu": "1",
            "requests.ephemeral-storage": "1Gi",
            "limits.ephemeral-storage": "2Gi",
        }
    ),
    quota({"hugepages-2Mi": "4Mi", "memory": "5G", "count/pods": "3"}),
    quota({"pods": "0"}, scopes=["NotBestEffort", "NotTerminating"]),
    quota({"pods": "0"}, scopes=["BestEffort"]),
    quota({"services": "1"}),
]


def _limits(*items: Obj) -> Obj:
    return {"metadata": {"name": "l"}, "spec": {"limits": list(items)}}


LIMITS = [
    _limits({"type": "Container", "defaultRequest": {"cpu": "10m", "memory": "1Mi"}}),
    _limits(
        {
            "type": "Container",
            "default": {"cpu": "2", "memory": "2Gi"},
            "defaultRequest": {"cpu": "500m"},
        }
    ),
    _limits({"type": "Pod", "min": {"cpu": "50m"}}),
    _limits(
        {"type": "Container", "max": {"memory": "1G"}, "maxLimitRequestRatio": {"memory": "2"}}
    ),
    _limits(
        {"type": "Container", "defaultRequest": {"memory": "1Mi"}},
        {"type": "Pod", "max": {"memory": "2Gi"}},
    ),
    _limits({"type": "Pod", "maxLimitRequestRatio": {"memory": "1.5"}}),
    _limits(
        {
            "type": "Pod",
            "max": {"cpu": "3", "memory": "3Gi"},
            "min": {"cpu": "1m", "memory": "1"},
        }
    ),
]


def drawn(count: int, seed: int) -> list[Obj]:
    """Draw pods, the same in each run; most of them are valid."""
    random = Random(seed)
    return [_pod(random, number) for number in range(count)]


def _pod(random: Random, number: int) -> Obj:
    spec: Obj = {
        "containers": [_container(random, f"c{each}") for each in range(random.randint(1, 3))]
    }
    inits = [
        _container(random, f"i{each}", **random.choice([{}, {"restartPolicy": "Always"}]))
        for each in range(random.choice([0, 0, 1, 2]))
    ]
    if inits:
        spec["initContainers"] = inits
    if random.random() < 0.2:
        spec["activeDeadlineSeconds"] = 10
    return {"metadata": {"name": f"p{number}"}, "spec": spec}


def _container(random: Random, name: str, **more: Any) -> Obj:
    requests, limits = {}, {}
    for resource, amounts in AMOUNTS.items():
        luck, amount = random.random(), random.choice(amounts)
        if resource in WHOLE:
            if luck < 0.15:
                requests[resource] = limits[resource] = amount
        elif luck < 0.4:
            requests[resource] = amount
        elif luck < 0.6:
            requests[resource], limits[resource] = amount, f"{random.randint(4, 9)}G"
        elif luck < 0.7:
            limits[resource] = amount
    return container(name, requests=requests, limits=limits, **more)
