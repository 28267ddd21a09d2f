"""Jobs and changes to them, right and wrong, by name: for whoever compares API servers.

Plain data. A body has no name and no namespace unless they are what is tried.
"""

from collections.abc import Iterator
from typing import Any

from jobferry.objects import Obj, merge_patch

LONG = "x" * 64
MAIN: Obj = {"name": "main", "image": "a:1"}
POD: Obj = {"containers": [MAIN], "restartPolicy": "Never"}
SPEC: Obj = {"template": {"spec": POD}}
INDEXED: Obj = {"completionMode": "Indexed", "completions": 3, "parallelism": 2}


def job(changes: Obj | None = None, **metadata: Any) -> Obj:
    """Return a Job whose spec differs from the plainest by a merge patch."""
    return {"metadata": metadata, "spec": merge_patch.apply(SPEC, changes or {})}


def of_pod(changes: Obj, **about: Any) -> Obj:
    """Return a change of a Job's spec that changes its pods."""
    template: Obj = {"spec": changes}
    return {"template": template | ({"metadata": about} if about else {})}


def of_container(changes: Obj, **pod: Any) -> Obj:
    """Return a change of a Job's spec that changes its one container."""
    return of_pod({"containers": [merge_patch.apply(MAIN, changes)], **pod})


def failure(*rules: Obj) -> Obj:
    return {"podFailurePolicy": {"rules": list(rules)}}


def codes(values: list[int] | None, operator: str = "In", **more: Any) -> Obj:
    return {
        "action": "FailJob",
        "onExitCodes": {"operator": operator, "values": values, **more},
    }


def success(*rules: Obj, **more: Any) -> Obj:
    return INDEXED | {"successPolicy": {"rules": list(rules)}} | more


ON_CONDITION: Obj = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}

SPECS: dict[str, Obj] = {
    "the plainest": {},
    "work queue": {"parallelism": 3},
    "no pods": {"parallelism": 0},
    "completions only": {"completions": 4},
    "all numbers below zero": {
        **dict.fromkeys(("parallelism", "completions", "activeDeadlineSeconds"), -1),
        **dict.fromkeys(("backoffLimit", "ttlSecondsAfterFinished"), -1),
    },
    "per index below zero": INDEXED | {"backoffLimitPerIndex": -1, "maxFailedIndexes": -1},
    "all numbers zero": {
        **dict.fromkeys(("parallelism", "completions", "activeDeadlineSeconds"), 0),
        **dict.fromkeys(("backoffLimit", "ttlSecondsAfterFinished"), 0),
    },
    "suspended": {"suspend": True},
    "indexed": INDEXED,
    "indexed without completions": {"completionMode": "Indexed", "parallelism": 2},
    "indexed and huge": INDEXED | {"parallelism": 100001},
    "indexed, per index": INDEXED | {"backoffLimitPerIndex": 1},
    "per index without indexes": {"backoffLimitPerIndex": 1, "maxFailedIndexes": 1},
    "failed indexes alone": INDEXED | {"maxFailedIndexes": 1},
    "more failed indexes than indexes": INDEXED
    | {"backoffLimitPerIndex": 1, "maxFailedIndexes": 4},
    "too many failed indexes": {
        **INDEXED,
        "completions": 200000,
        "backoffLimitPerIndex": 1,
        "maxFailedIndexes": 100001,
    },
    "many completions": {
        **INDEXED,
        "completions": 100001,
        "backoffLimitPerIndex": 1,
        "parallelism": 10001,
    },
    "many completions, many failed": {
        **INDEXED,
        "completions": 100001,
        "backoffLimitPerIndex": 1,
        "maxFailedIndexes": 10001,
    },
    "many completions, a warning": INDEXED | {"completions": 100001, "parallelism": 10001},
    "unknown mode": {"completionMode": "Sparse"},
    "unknown mode, per index": {"completionMode": "Sparse", "backoffLimitPerIndex": 1},
    "managed by nobody": {"managedBy": ""},
    "managed by the built-in": {"managedBy": "kubernetes.io/job-controller"},
    "managed by another": {"managedBy": "example.com/a/b"},
    "managed by no path": {"managedBy": "example.com"},
    "managed by no domain": {"managedBy": "/a"},
    "managed by a domain": {"managedBy": "a/"},
    "managed by a bad domain": {"managedBy": "Example.com/a"},
    "managed by a bad path": {"managedBy": "example.com/a b"},
    "managed by somebody long": {"managedBy": "example.com/" + "a" * 52},
    "managed by somebody long and bad": {"managedBy": "E" * 64},
    "restart always": of_pod({"restartPolicy": "Always"}),
    "restart unsaid": of_pod({"restartPolicy": None}),
    "restart sometimes": of_pod({"restartPolicy": "Sometimes"}),
    "restart by an empty template": of_pod({"restartPolicy": "<no value>"}),
    "restart on failure": of_pod({"restartPolicy": "OnFailure"}),
    "failure policy": failure(codes([1, 2]), ON_CONDITION),
    "failure policy without rules": failure(),
    "failure policy, restart on failure": failure(codes([1]))
    | of_pod({"restartPolicy": "OnFailure"}),
    "failure policy with too many rules": failure(*[codes([1])] * 21),
    "failure policy without action": failure({"onExitCodes": codes([1])["onExitCodes"]}),
    "failure policy with bad action": failure(codes([1]) | {"action": "Explode"}),
    "fail index without limit": failure(codes([1]) | {"action": "FailIndex"}),
    "fail index": INDEXED
    | {"backoffLimitPerIndex": 1}
    | failure(codes([1]) | {"action": "FailIndex"}),
    "failure policy without operator": failure(codes([1], "")),
    "failure policy with bad operator": failure(codes([1], "Near")),
    "failure policy for no container": failure(codes([1], containerName="other")),
    "failure policy for main": failure(codes([1], containerName="main")),
    "failure policy without codes": failure(codes([])),
    "failure policy with too many codes": failure(codes(list(range(1, 257)))),
    "failure policy with code zero": failure(codes([0, 1])),
    "failure policy with code not zero": failure(codes([0, 1], "NotIn")),
    "failure policy with a code twice": failure(codes([1, 1, 2])),
    "failure policy with unsorted codes": failure(codes([2, 1])),
    "failure policy with negative code": failure(codes([-5, 3])),
    "failure policy with too many patterns": failure(
        ON_CONDITION | {"onPodConditions": [{"type": "A"}] * 21}
    ),
    "failure policy with bad patterns": failure(
        ON_CONDITION
        | {"onPodConditions": [{"type": "a b"}, {"type": "A", "status": "Perhaps"}, {}]}
    ),
    "failure policy with both": failure(codes([1]) | ON_CONDITION),
    "failure policy with neither": failure({"action": "Count"}),
    "failure policy, replaced early": failure(codes([1]))
    | {"podReplacementPolicy": "TerminatingOrFailed"},
    "replaced late": {"podReplacementPolicy": "Failed"},
    "replaced never": {"podReplacementPolicy": "Never"},
    "success policy": success({"succeededIndexes": "0-1", "succeededCount": 1}),
    "success policy without indexes": {
        "successPolicy": {"rules": [{"succeededCount": 1}]},
        "completions": 3,
    },
    "success policy without rules": success(),
    "success policy with too many rules": success(*[{"succeededCount": 1}] * 21),
    "success policy with an empty rule": success({}),
    "success policy with a count": success({"succeededCount": 3}, {"succeededCount": 0}),
    "success policy below zero": success({"succeededCount": -1}),
    "success policy above completions": success({"succeededCount": 4}),
    "success policy above its indexes": success(
        {"succeededIndexes": "0,2", "succeededCount": 3}
    ),
    "success policy with text": success({"succeededIndexes": "a"}),
    "success policy with empty text": success({"succeededIndexes": ""}),
    "success policy with an index too large": success({"succeededIndexes": "1-3"}),
    "success policy out of order": success({"succeededIndexes": "2,1"}),
    "success policy with long text": success({"succeededIndexes": "0," * 32769}),
    "manual selector": {
        "manualSelector": True,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}},
    },
    "manual selector that misses": {
        "manualSelector": True,
        "selector": {"matchLabels": {"a": "c"}},
        "template": {"metadata": {"labels": {"a": "b"}}},
    },
    "manual selector that is not there": {"manualSelector": True},
    "manual selector that is bad": {
        "manualSelector": True,
        "selector": {
            "matchLabels": {"a": "b c"},
            "matchExpressions": [
                {"key": "a", "operator": "In"},
                {"key": "a b", "operator": "Exists", "values": ["x"]},
                {"key": "a", "operator": "Near", "values": ["x y"]},
            ],
        },
    },
    "selector of one's own": {"selector": {"matchLabels": {"a": "b"}}},
    "labels of another Job": {
        "template": {
            "metadata": {
                "labels": {
                    "job-name": "other",
                    "controller-uid": "other",
                    "batch.kubernetes.io/job-name": "other",
                }
            }
        }
    },
    "labels": {"template": {"metadata": {"labels": {"a": "b"}}}},
    "bad label": {"template": {"metadata": {"labels": {"a b": "c"}}}},
    "bad label value": {"template": {"metadata": {"labels": {"a": "b c"}}}},
    "bad label like a generated one": {"template": {"metadata": {"labels": {"job-name": "-"}}}},
    "bad annotation": {"template": {"metadata": {"annotations": {"a b": "c d"}}}},
    "old annotations": {
        "template": {
            "metadata": {
                "annotations": {
                    "pod.beta.kubernetes.io/init-containers": "[]",
                    "scheduler.alpha.kubernetes.io/critical-pod": "",
                    "controller.kubernetes.io/pod-deletion-cost": "+1",
                }
            }
        }
    },
    "long annotations": {"template": {"metadata": {"annotations": {"a": "b" * 262144}}}},
}
"""Changes of the plainest Job's spec."""

METADATA: dict[str, Obj] = {
    "dots": {"name": "a.b"},
    "capitals": {"name": "Abc"},
    "too long": {"name": "a" * 254},
    "longer than a label": {"name": "a" * 64},
    "bad prefix": {"name": None, "generateName": "Ab-"},
    "slash": {"name": "a/b"},
    "labels": {"labels": {"a": "b", "c.d/e": ""}},
    "bad label key": {"labels": {"a/b/c": "d"}},
    "bad label value": {"labels": {"a": "-"}},
    "bad annotation": {"annotations": {"a b": ""}},
    "annotations in capitals": {"annotations": {"Example.COM/A": ""}},
    "annotations too long": {"annotations": {"a": "b" * 262144}},
    "finalizers": {"finalizers": ["example.com/a", "foregroundDeletion"]},
    "bad finalizers": {"finalizers": ["example", "a b/c", "orphan", "foregroundDeletion"]},
    "two controllers": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
            for name in "ab"
        ]
    },
    "bad owner": {"ownerReferences": [{"apiVersion": "a/", "kind": "", "name": "", "uid": ""}]},
    "an Event as owner": {
        "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "b"}]
    },
}
"""Metadata of Jobs, instead of or besides a good name."""

UPDATES: dict[str, tuple[Obj, Obj]] = {
    "nothing": ({}, {}),
    "parallelism": ({}, {"spec": {"parallelism": 5}}),
    "several at once": (
        {},
        {
            "spec": {
                "activeDeadlineSeconds": 9,
                "backoffLimit": 2,
                "suspend": True,
                "ttlSecondsAfterFinished": 1,
                "podReplacementPolicy": "Failed",
            }
        },
    ),
    "completions": ({}, {"spec": {"completions": 5}}),
    "completions of a work queue": ({"parallelism": 2}, {"spec": {"completions": 5}}),
    "completions in tandem": (INDEXED, {"spec": {"completions": 5, "parallelism": 5}}),
    "completions alone": (INDEXED, {"spec": {"completions": 5}}),
    "completions to the old parallelism": (INDEXED, {"spec": {"completions": 2}}),
    "completions to zero": (INDEXED, {"spec": {"completions": 0, "parallelism": 0}}),
    "completions taken away": (INDEXED, {"spec": {"completions": None}}),
    "selector": ({}, {"spec": {"selector": {"matchLabels": {"a": "b"}}}}),
    "selector taken away": ({}, {"spec": {"selector": None}}),
    "manual selector": ({}, {"spec": {"manualSelector": True}}),
    "mode": (INDEXED, {"spec": {"completionMode": "NonIndexed"}}),
    "mode and parallelism below zero": (
        INDEXED,
        {"spec": {"completionMode": "NonIndexed", "parallelism": -1}},
    ),
    "failure policy added": ({}, {"spec": failure(codes([1]))}),
    "failure policy taken away": (failure(codes([1])), {"spec": {"podFailurePolicy": None}}),
    "limit per index added": (INDEXED, {"spec": {"backoffLimitPerIndex": 1}}),
    "failed indexes added": (
        INDEXED | {"backoffLimitPerIndex": 1},
        {"spec": {"maxFailedIndexes": 1}},
    ),
    "manager added": ({}, {"spec": {"managedBy": "kubernetes.io/job-controller"}}),
    "manager changed": ({"managedBy": "a.b/c"}, {"spec": {"managedBy": "a.b/d"}}),
    "manager taken away": (
        {"managedBy": "a.b/c", "suspend": True},
        {"spec": {"managedBy": None}},
    ),
    "success policy changed": (
        success({"succeededCount": 1}),
        {"spec": {"successPolicy": {"rules": [{"succeededCount": 2}]}}},
    ),
    "image": ({}, {"spec": of_container({"image": "b:2"})}),
    "image while suspended": ({"suspend": True}, {"spec": of_container({"image": "b:2"})}),
    "amounts written in another way": (
        of_container({"resources": {"limits": {"cpu": "1", "memory": "1e3"}}}),
        {"spec": of_container({"resources": {"limits": {"cpu": "1000m", "memory": "1k"}}})},
    ),
    "labels": ({}, {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}),
    "labels while suspended": (
        {"suspend": True},
        {"spec": {"template": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}}},
    ),
    "generated label while suspended": (
        {"suspend": True},
        {"spec": {"template": {"metadata": {"labels": {"job-name": "other"}}}}},
    ),
    "directives while suspended": (
        {"suspend": True},
        {
            "spec": of_pod(
                {
                    "nodeSelector": {"a": "b"},
                    "tolerations": [{"operator": "Exists"}],
                    "schedulingGates": [{"name": "a.b/c"}],
                    "affinity": {"nodeAffinity": {}},
                }
            )
            | {"suspend": False}
        },
    ),
    "directives while running": ({}, {"spec": of_pod({"nodeSelector": {"a": "b"}})}),
    "bad directives while suspended": (
        {"suspend": True},
        {"spec": of_pod({"tolerations": [{"key": "a b"}]})},
    ),
    "affinity to pods while suspended": (
        {"suspend": True},
        {"spec": of_pod({"affinity": {"podAffinity": {}, "nodeAffinity": {}}})},
    ),
    "affinity taken away while suspended": (
        {"suspend": True} | of_pod({"affinity": {"nodeAffinity": {}}}),
        {"spec": of_pod({"affinity": None})},
    ),
    "affinity to pods taken away": (
        {"suspend": True} | of_pod({"affinity": {"nodeAffinity": {}, "podAffinity": {}}}),
        {"spec": of_pod({"affinity": None})},
    ),
    "affinity emptied": (
        {"suspend": True} | of_pod({"affinity": {"nodeAffinity": {}}}),
        {"spec": of_pod({"affinity": {"nodeAffinity": None}})},
    ),
    "metadata": ({}, {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}),
    "labels taken away": ({}, {"metadata": {"labels": None}}),
    "bad metadata": (
        {},
        {
            "metadata": {
                "labels": {"a b": "c"},
                "finalizers": ["example"],
                "ownerReferences": [{}],
            }
        },
    ),
    "status is ignored": ({}, {"status": {"active": 5}}),
    "uid": ({}, {"metadata": {"uid": "other"}}),
    "generation is ignored": ({}, {"metadata": {"generation": 7}}),
}
"""Changes (merge patches) of a Job whose spec is given likewise."""


def jobs() -> Iterator[tuple[str, Obj]]:
    """Yield Jobs by name: those with special specs, and those with special metadata."""
    for name, changes in SPECS.items():
        yield name, job(changes)
    for name, metadata in METADATA.items():
        yield f"metadata: {name}", job({}, **metadata)
    yield "indexed, name with a dot", job(INDEXED, name="a.b")
    yield "indexed, name too long", job(INDEXED, name="a" * 62)
    yield "labels of its own", job(SPECS["labels"], labels={"a": "b"})
    yield "status", job() | {"status": {"active": 3}}
