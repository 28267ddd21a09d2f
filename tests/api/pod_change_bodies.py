"""Changes to pods and to their statuses, right and wrong, by name. Plain data."""

from typing import Any

from jobferry.objects import Obj

MAIN = {"name": "main", "image": "a:1"}
ANY = {"operator": "Exists"}
GATED: Obj = {"schedulingGates": [{"name": "a.b/c"}, {"name": "a.b/d"}]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def nodes(*terms: Obj) -> Obj:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def term(*keys: str) -> Obj:
    return {"matchExpressions": [{"key": key, "operator": "Exists"} for key in keys]}


POD_UPDATES: dict[str, tuple[Obj, Obj]] = {
    "nothing": ({}, {}),
    "image": ({}, {"spec": {"containers": [MAIN | {"image": "b"}]}}),
    "no image": ({}, {"spec": {"containers": [MAIN | {"image": ""}]}}),
    "image with blanks": ({}, {"spec": {"containers": [MAIN | {"image": " b"}]}}),
    "one more container": ({}, {"spec": {"containers": [MAIN, {"name": "b", "image": "b"}]}}),
    "one more init container": (
        {},
        {"spec": {"initContainers": [{"name": "b", "image": "b"}]}},
    ),
    "command": ({}, {"spec": {"containers": [MAIN | {"command": ["x"]}]}}),
    "deadline": ({}, {"spec": {"activeDeadlineSeconds": 5}}),
    "deadline sooner": ({"activeDeadlineSeconds": 9}, {"spec": {"activeDeadlineSeconds": 5}}),
    "deadline later": ({"activeDeadlineSeconds": 5}, {"spec": {"activeDeadlineSeconds": 9}}),
    "deadline gone": ({"activeDeadlineSeconds": 5}, {"spec": {"activeDeadlineSeconds": None}}),
    "deadline below zero": ({}, {"spec": {"activeDeadlineSeconds": -1}}),
    "toleration gone": (
        {"tolerations": [ANY, {"key": "a", "operator": "Exists"}]},
        {"spec": {"tolerations": [ANY]}},
    ),
    "toleration more": (
        {"tolerations": [ANY]},
        {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}, ANY]}},
    ),
    "toleration bad": (
        {"tolerations": [ANY]},
        {"spec": {"tolerations": [{"key": "a b", "operator": "Exists"}, ANY]}},
    ),
    "toleration longer": (
        {"tolerations": [ANY | {"effect": "NoExecute", "tolerationSeconds": 5}]},
        {"spec": {"tolerations": [ANY | {"effect": "NoExecute", "tolerationSeconds": 9}]}},
    ),
    "node selector": ({}, {"spec": {"nodeSelector": {"a": "b"}}}),
    "restart policy": ({}, {"spec": {"restartPolicy": "Never"}}),
    "grace": ({}, {"spec": {"terminationGracePeriodSeconds": 1}}),
    "a gate": ({}, {"spec": {"schedulingGates": [{"name": "a.b/c"}]}}),
    "one gate less": (GATED, {"spec": {"schedulingGates": [{"name": "a.b/d"}]}}),
    "another gate": (GATED, {"spec": {"schedulingGates": [{"name": "a.b/x"}]}}),
    "gated: node selector": (GATED, {"spec": {"nodeSelector": {"a": "b"}}}),
    "gated: other node selector": (
        GATED | {"nodeSelector": {"a": "b"}},
        {"spec": {"nodeSelector": {"a": "c"}}},
    ),
    "gated: affinity": (GATED, {"spec": nodes(term("a"))}),
    "gated: narrower": (GATED | nodes(term("a")), {"spec": nodes(term("a", "b"))}),
    "gated: wider": (GATED | nodes(term("a", "b")), {"spec": nodes(term("b"))}),
    "gated: more terms": (GATED | nodes(term("a")), {"spec": nodes(term("a"), term("b"))}),
    "gated: no affinity": (GATED | nodes(term("a")), {"spec": {"affinity": None}}),
    "gated: affinity to pods": (
        GATED,
        {"spec": {"affinity": {"podAffinity": {}, "nodeAffinity": {}}}},
    ),
    "labels": ({}, {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}),
    "mirror annotation": (
        {},
        {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}},
    ),
    "status is ignored": ({}, {"status": {"phase": "Failed"}}),
}
"""Changes (merge patches) of a pod whose spec is the plainest with a few members besides."""


def ended(code: int, name: str = "main") -> Obj:
    return _container(name, terminated={"exitCode": code})


def running(name: str = "main") -> Obj:
    return _container(name, running={})


def _container(name: str, **state: Any) -> Obj:
    still = {"ready": False, "restartCount": 0, "image": "", "imageID": ""}
    return {"name": name, "state": state} | still


POD_STATUSES: dict[str, tuple[Obj, Obj, Obj]] = {
    "phase": ({}, {}, {"phase": "Running"}),
    "any phase": ({}, {}, {"phase": "Sleeping"}),
    "address": ({}, {}, {"podIP": "10.0.0.1"}),
    "addresses": ({}, {}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]}),
    "address wins": ({}, {}, {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.2"}]}),
    "too many addresses": ({}, {}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}),
    "bad address": ({}, {}, {"podIPs": [{"ip": "10.0.0"}]}),
    "bad second address": ({}, {}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "x"}]}),
    "mapped address": ({}, {}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "::ffff:10.0.0.2"}]}),
    "odd address": ({}, {}, {"podIP": "010.0.0.1"}),
    "host address": ({}, {}, {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]}),
    "conditions": ({}, {}, {"conditions": [{"type": "Ready", "status": "True"}]}),
    "bad condition": ({}, {}, {"conditions": [{"type": "a b", "status": "Maybe"}]}),
    "observed": ({}, {}, {"observedGeneration": -1}),
    "observed is kept": ({}, {"observedGeneration": 1}, {"phase": "Running"}),
    "nominated": ({}, {}, {"nominatedNodeName": "A_"}),
    "class": ({}, {}, {"qosClass": "Guaranteed"}),
    "restarted": (
        {"restartPolicy": "Never"},
        {"containerStatuses": [ended(1)]},
        {"containerStatuses": [running()]},
    ),
    "restarted on failure": (
        {"restartPolicy": "OnFailure"},
        {"containerStatuses": [ended(1)]},
        {"containerStatuses": [running()]},
    ),
    "restarted after success": (
        {"restartPolicy": "OnFailure"},
        {"containerStatuses": [ended(0)]},
        {"containerStatuses": [running()]},
    ),
    "restarted by rule": (
        {
            "restartPolicy": "Never",
            "containers": [
                MAIN
                | {
                    "restartPolicy": "Never",
                    "restartPolicyRules": [
                        {"action": "Restart", "exitCodes": {"operator": "In", "values": [7]}}
                    ],
                }
            ],
        },
        {"containerStatuses": [ended(7)]},
        {"containerStatuses": [running()]},
    ),
    "unknown container restarted": (
        {},
        {"containerStatuses": [ended(0, "x")]},
        {"containerStatuses": [running("x")]},
    ),
    "claims": ({}, {}, {"resourceClaimStatuses": [{"name": "a"}, {"name": "a"}]}),
    "resources are dropped": ({}, {}, {"resources": {"limits": {"cpu": "1"}}}),
    "user": (
        {},
        {},
        {"containerStatuses": [running() | {"user": {"linux": {"uid": -1, "gid": -1}}}]},
    ),
    "user of windows": (
        {"os": {"name": "windows"}},
        {},
        {"containerStatuses": [running() | {"user": {"linux": {"uid": 1, "gid": 1}}}]},
    ),
}
"""Spec, status, and the status that is written over it."""
