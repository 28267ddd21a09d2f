"""What may change in a pod once it is there."""

import pytest

from jobferry.localkube.apiserver.strategies import pod
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.strategies.job_world import Found, found
from tests.unit.localkube.apiserver.strategies.pod_world import MAIN, changed, stored

GATED: Obj = {"schedulingGates": [{"name": "a.b/c"}, {"name": "a.b/d"}]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
TOLERATION = {"key": "a", "operator": "Exists"}


def nodes(*keys: str) -> Obj:
    terms = [{"matchExpressions": [{"key": key, "operator": "Exists"} for key in keys]}]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


CASES: dict[str, tuple[Obj, Obj, Found]] = {
    "nothing": ({}, {}, []),
    "image": ({}, {"containers": [MAIN | {"image": "b:2"}]}, []),
    "command": ({}, {"containers": [MAIN | {"command": ["x"]}]}, [("spec", "Forbidden")]),
    "container": (
        {},
        {"containers": [MAIN, {"name": "b", "image": "b"}]},
        [("spec.containers", "Forbidden")],
    ),
    "deadline": ({}, {"activeDeadlineSeconds": 5}, []),
    "later deadline": (
        {"activeDeadlineSeconds": 5},
        {"activeDeadlineSeconds": 6},
        [("spec.activeDeadlineSeconds", "Invalid")],
    ),
    "no deadline": (
        {"activeDeadlineSeconds": 5},
        {"activeDeadlineSeconds": None},
        [("spec.activeDeadlineSeconds", "Invalid")],
    ),
    "toleration": ({}, {"tolerations": [TOLERATION]}, []),
    "toleration gone": (
        {"tolerations": [TOLERATION]},
        {"tolerations": None},
        [("spec.tolerations", "Forbidden")],
    ),
    "node selector": ({}, {"nodeSelector": {"a": "b"}}, [("spec", "Forbidden")]),
    "gate gone": (GATED, {"schedulingGates": [{"name": "a.b/c"}]}, []),
    "new gate": (
        GATED,
        {"schedulingGates": [{"name": "x.y/z"}]},
        [("spec.schedulingGates[0].name", "Forbidden")],
    ),
    "gated: node selector": (GATED, {"nodeSelector": {"a": "b"}}, []),
    "gated: other nodes": (
        GATED | {"nodeSelector": {"a": "b"}},
        {"nodeSelector": {"a": "c"}},
        [("spec.nodeSelector", "Invalid")],
    ),
    "gated: affinity": (GATED, nodes("a"), []),
    "gated: narrower": (GATED | nodes("a"), nodes("a", "b"), []),
    "gated: wider": (GATED | nodes("a", "b"), nodes("a"), [(f"{TERMS}[0]", "Invalid")]),
    "gated: gone": (GATED | nodes("a"), {"affinity": None}, [(TERMS, "Invalid")]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_changed_pod_is_checked(name: str) -> None:
    members, patch, expected = CASES[name]
    old = stored(**members)
    assert found(pod.STRATEGY.validate_update(changed(old, {"spec": patch}), old)) == expected


def test_the_mirror_annotation_is_for_life() -> None:
    old = stored(nodeName="n")
    new = changed(old, {"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}})
    field = "metadata.annotations[kubernetes.io/config.mirror]"
    assert found(pod.STRATEGY.validate_update(new, old)) == [(field, "Forbidden")]
