"""What is warned of in pods."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies import pod_warnings
from jobferry.objects import Obj

MAIN: Obj = {"name": "main", "image": "a"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def container(**members: Any) -> Obj:
    return {"containers": [MAIN | members]}


def ports(*listed: Obj) -> Obj:
    return container(ports=list(listed))


def env(*values: str) -> Obj:
    return container(env=[{"name": "A", "value": value} for value in values])


CASES: dict[str, tuple[Obj, list[str]]] = {
    "nothing": ({}, []),
    "node label": (
        {"nodeSelector": {"beta.kubernetes.io/arch": "x"}},
        ["t.spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14"],
    ),
    "spread": (
        {"topologySpreadConstraints": [{"topologyKey": "node-role.kubernetes.io/master"}]},
        [
            "t.spec.topologySpreadConstraints[0].topologyKey: node-role.kubernetes.io/master is use",
            "t.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector",
        ],
    ),
    "aliases": (
        {"hostAliases": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]},
        ['t.spec.hostAliases[1].ip: duplicate ip "10.0.0.1"'],
    ),
    "pull secrets": (
        {"imagePullSecrets": [{"name": ""}]},
        ['t.spec.imagePullSecrets[0].name: invalid empty name ""'],
    ),
    "overhead": (
        {"overhead": {"memory": "1m"}},
        ['t.spec.overhead[memory]: fractional byte value "1m" is invalid'],
    ),
    "memory": (
        container(resources={"limits": {"memory": "100m", "cpu": "1m"}}),
        ['t.spec.containers[0].resources.limits[memory]: fractional byte value "100m"'],
    ),
    "env hides": (
        env("1", "2"),
        ['t.spec.containers[0].env[1]: hides previous definition of "A"'],
    ),
    "env builds upon": (env("1", "$(A)2"), []),
    "env repeats": (env("1", "$(A)"), ["t.spec.containers[0].env[1]: hides"]),
    "ports twice": (
        ports({"containerPort": 1}, {"containerPort": 1}),
        [
            "t.spec.containers[0].ports[1]: duplicate port definition with t.spec.containers[0].ports[0]"
        ],
    ),
    "ports overlap": (
        ports({"containerPort": 1, "hostPort": 2}, {"containerPort": 1}),
        ["t.spec.containers[0].ports[1]: overlapping port definition"],
    ),
    "ports ambiguous": (
        ports(
            {"containerPort": 1, "hostPort": 2, "hostIP": "10.0.0.1"},
            {"containerPort": 1, "hostPort": 2},
        ),
        ["t.spec.containers[0].ports[1]: dangerously ambiguous port definition"],
    ),
    "host address": (
        ports({"containerPort": 1, "hostIP": "10.0.0.1", "protocol": "TCP"}),
        ["t.spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 "],
    ),
    "port names": (
        ports({"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}),
        [
            't.spec.containers[0].ports[1]: duplicate port name "a" with t.spec.containers[0].ports[0]'
        ],
    ),
    "grace": (
        {"terminationGracePeriodSeconds": -1},
        ["t.spec.terminationGracePeriodSeconds: must be >= 0"],
    ),
    "affinity": (
        {"affinity": {"podAntiAffinity": {REQUIRED: [{}]}}},
        [f"t.spec.affinity.podAntiAffinity.{REQUIRED}[0].labelSelector: a null"],
    ),
    "servers": (
        {"dnsConfig": {"nameservers": ["2001:DB8::1"]}},
        ["t.spec.dnsConfig.nameservers[0]: IPv6 address"],
    ),
    "git": (
        {"volumes": [{"name": "a", "gitRepo": {}}]},
        ["t.spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"],
    ),
    "files": (
        {
            "volumes": [
                {
                    "name": "a",
                    "configMap": {"name": "c", "items": [{"path": "x"}, {"path": "x/y"}]},
                }
            ]
        },
        ['volume "a" (ConfigMap "c"): overlapping paths: "x/y" with "x"'],
    ),
    "projected": (
        {
            "volumes": [
                {
                    "name": "a",
                    "projected": {
                        "sources": [
                            {},
                            {"secret": {"name": "s", "items": [{"path": "t"}]}},
                            {"serviceAccountToken": {"path": "t"}},
                        ]
                    },
                }
            ]
        },
        [
            'volume "a" (Projected) has no sources provided',
            'volume "a" (Projected): overlapping paths: "t" (ServiceAccountToken) with "t" (Secret "s")',
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_template_is_warned_of(name: str) -> None:
    spec, expected = CASES[name]
    template = {"spec": {"containers": [MAIN], **spec}}
    said = pod_warnings.template_warnings(template, "t")
    assert len(said) == len(expected), said
    assert all(map(str.startswith, said, expected))


def test_annotations_of_old_are_warned_of() -> None:
    keys = (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "seccomp.security.alpha.kubernetes.io/pod",
        "container.apparmor.security.beta.kubernetes.io/main",
    )
    template = {
        "metadata": {"annotations": dict.fromkeys(keys, "")},
        "spec": {"containers": [MAIN]},
    }
    said = pod_warnings.template_warnings(template, "t")
    assert [each.partition(": ")[0] for each in said] == [
        f"t.metadata.annotations[{key}]" for key in keys
    ]


def test_no_more_is_said_than_an_answer_has_room_for() -> None:
    containers = [
        {"name": f"c{number}", "image": "i", "ports": [{"containerPort": 80}], "resources": {}}
        for number in range(2500)  # three million pairs that share a port
    ]
    pod = {"metadata": {}, "spec": {"containers": containers}}
    assert len(pod_warnings.pod_warnings(pod)) == pod_warnings.MOST
