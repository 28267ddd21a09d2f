import pytest

from jobferry.localkube.apiserver.strategies.priority_class import HIGHEST, STRATEGY, SYSTEM
from jobferry.objects import Obj


def found(obj: Obj, name: str = "c") -> list[str]:
    body = {"metadata": {"name": name}} | obj
    return [str(problem) for problem in STRATEGY.validate_create(body)]


def test_pods_of_a_class_may_push_others_out_unless_it_says_otherwise() -> None:
    plain: Obj = {"value": 1}
    modest: Obj = {"value": 1, "preemptionPolicy": "Never"}

    STRATEGY.default(plain)
    STRATEGY.default(modest)

    assert plain["preemptionPolicy"] == "PreemptLowerPriority"
    assert modest["preemptionPolicy"] == "Never"


def test_the_highest_values_are_the_systems() -> None:
    assert found({"value": HIGHEST}) == []
    assert found({"value": HIGHEST + 1}) == [
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"
    ]


RESERVED = "priority class names with 'system-' prefix are reserved for system use only. error:"


@pytest.mark.parametrize(
    ("name", "obj", "said"),
    [
        ("system-x", {"value": 1}, "system-x is not a known system priority class"),
        (
            "system-node-critical",
            {"value": 1},
            "value of system-node-critical PriorityClass must be 2000001000",
        ),
        (
            "system-cluster-critical",
            {"value": 2 * HIGHEST, "globalDefault": True},
            "globalDefault of system-cluster-critical PriorityClass must be false",
        ),
    ],
)
def test_names_of_the_system_are_reserved(name: str, obj: Obj, said: str) -> None:
    assert found(obj, name) == [f"metadata.name: Forbidden: {RESERVED} {said}"]


def test_the_systems_own_classes_are_fine() -> None:
    assert [found({"value": value}, name) for name, value in SYSTEM.items()] == [[], []]


def test_only_two_policies_are_known() -> None:
    assert found({"preemptionPolicy": "Maybe"}) == [
        (
            'preemptionPolicy: Unsupported value: "Maybe": '
            'supported values: "PreemptLowerPriority", "Never"'
        )
    ]


def test_value_and_policy_stay_as_they_are() -> None:
    metadata = {"name": "p", "resourceVersion": "1"}
    old: Obj = {"metadata": metadata, "value": 1, "preemptionPolicy": "Never"}
    new = {"metadata": metadata, "value": 2, "preemptionPolicy": "PreemptLowerPriority"}

    assert [str(problem) for problem in STRATEGY.validate_update(new, old)] == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "PreemptLowerPriority": field is immutable',
    ]
    assert STRATEGY.validate_update(old | {"description": "d"}, old) == []
