"""What is wrong with roles and bindings; tests/api compares many more cases with a real server."""

import pytest

from jobferry.localkube.apiserver.strategies import rbac
from jobferry.objects import Obj

GROUP = "rbac.authorization.k8s.io"
ANYWHERE = {"name": "b", "resourceVersion": "1"}
SOMEWHERE = {**ANYWHERE, "namespace": "n"}


def binding(**more: object) -> Obj:
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "r"}
    return {"metadata": SOMEWHERE, "roleRef": reference, **more}


def test_groups_are_filled_in_where_they_are_known() -> None:
    obj = binding(
        roleRef={"kind": "Role", "name": "r"},
        subjects=[
            {"kind": "User", "name": "u"},
            {"kind": "ServiceAccount", "name": "s"},
            {"kind": "Odd", "name": "o"},
        ],
    )

    rbac.ROLE_BINDING.default(obj)

    assert obj["roleRef"]["apiGroup"] == GROUP
    assert [each.get("apiGroup") for each in obj["subjects"]] == [GROUP, None, None]


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ({}, ["verbs", "apiGroups", "resources"]),
        ({"verbs": ["get"], "nonResourceURLs": ["/x"]}, ["nonResourceURLs"]),
        (
            {"verbs": ["get"], "nonResourceURLs": ["/x"], "resources": ["x"]},
            ["nonResourceURLs", "nonResourceURLs"],
        ),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, []),
    ],
)
def test_rules_need_verbs_and_something_to_act_on(rule: Obj, fields: list[str]) -> None:
    found = rbac.ROLE.validate_create({"metadata": SOMEWHERE, "rules": [rule]})

    assert [problem.field for problem in found] == [f"rules[0].{field}" for field in fields]


def test_only_a_role_of_the_cluster_may_speak_of_paths() -> None:
    rules = [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]

    assert not rbac.CLUSTER_ROLE.validate_create({"metadata": ANYWHERE, "rules": rules})
    assert rbac.ROLE.validate_create({"metadata": SOMEWHERE, "rules": rules})


def test_only_a_binding_in_a_namespace_may_leave_out_that_of_an_account() -> None:
    obj = binding(subjects=[{"kind": "ServiceAccount", "name": "s"}])

    assert not rbac.ROLE_BINDING.validate_create(obj)
    (problem,) = rbac.CLUSTER_ROLE_BINDING.validate_create({**obj, "metadata": ANYWHERE})
    assert problem.field == "subjects[0].namespace"


def test_a_binding_keeps_its_role() -> None:
    old = binding()
    new = binding(roleRef={**old["roleRef"], "name": "other"})

    assert not rbac.ROLE_BINDING.validate_update(old, old)
    (problem,) = rbac.ROLE_BINDING.validate_update(new, old)
    assert str(problem) == (
        f'roleRef: Invalid value: {{"APIGroup":"{GROUP}","Kind":"ClusterRole","Name":"other"}}: '
        "cannot change roleRef"
    )


def test_an_aggregation_selects_something() -> None:
    def problems(aggregation: Obj) -> list[str]:
        found = rbac.CLUSTER_ROLE.validate_create(
            {"metadata": ANYWHERE, "aggregationRule": aggregation}
        )
        return [problem.field for problem in found]

    bad = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    selectors = "aggregationRule.clusterRoleSelectors"
    assert problems({}) == [selectors]
    assert problems({"clusterRoleSelectors": [{}]}) == []
    assert problems({"clusterRoleSelectors": [bad]}) == [
        f"{selectors}[0].matchExpressions[0].values",
        f"{selectors}[0]",
    ]


def test_names_may_hold_colons_but_no_slashes() -> None:
    assert not rbac.ROLE.name_problems("system:controller:x", False)
    assert rbac.ROLE.name_problems("a/b", False)
    assert rbac.ROLE.name_problems("..", True)
