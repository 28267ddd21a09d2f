from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies.limit_range import STRATEGY
from jobferry.objects import Obj


def limit(type: str = "Container", **lists: Any) -> Obj:
    return {"type": type} | lists


def ranged(*limits: Obj) -> Obj:
    meta = {"name": "l", "namespace": "n", "resourceVersion": "1"}
    return {"metadata": meta, "spec": {"limits": list(limits)}}


def found(*limits: Obj) -> list[str]:
    return [str(problem) for problem in STRATEGY.validate_create(ranged(*limits))]


def test_what_is_not_said_about_containers_follows_from_what_is() -> None:
    obj = ranged(
        limit(
            max={"cpu": "2", "memory": "2Gi"},
            default={"cpu": "1"},
            min={"cpu": "0.0001", "x.y/z": "1"},
        )
    )

    STRATEGY.default(obj)

    [made] = obj["spec"]["limits"]
    assert made["default"] == {"cpu": "1", "memory": "2Gi"}
    assert made["defaultRequest"] == {"cpu": "1", "memory": "2Gi", "x.y/z": "1"}
    assert made["min"] == {"cpu": "1m", "x.y/z": "1"}


def test_limits_without_a_name_get_one() -> None:
    nameless, named = {"metadata": {"uid": "u"}}, {"metadata": {"uid": "u", "name": "l"}}

    STRATEGY.prepare_create(nameless)
    STRATEGY.prepare_create(named)

    assert [each["metadata"]["name"] for each in (nameless, named)] == ["u", "l"]


def test_pods_have_no_defaults() -> None:
    obj = ranged(limit("Pod", max={"cpu": "1"}))

    STRATEGY.default(obj)

    assert obj == ranged(limit("Pod", max={"cpu": "1"}))
    assert found(limit("Pod", default={"cpu": "1"}, max={"cpu": "0"})) == [
        "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"
    ]


def test_types_are_known_and_come_once() -> None:
    said = found(limit("Pod"), limit("What"), limit("a.b/c"), limit("Pod"))

    assert said == [
        'spec.limits[1].type: Invalid value: "What": must be a standard limit type or fully qualified',
        'spec.limits[3].type: Duplicate value: "Pod"',
    ]


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        (
            {"min": 2, "max": 1},
            'min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
        ),
        (
            {"min": 2, "defaultRequest": 1},
            (
                'defaultRequest[cpu]: Invalid value: "1": '
                "min value 2 is greater than default request value 1"
            ),
        ),
        (
            {"max": 1, "defaultRequest": 2},
            (
                'defaultRequest[cpu]: Invalid value: "2": '
                "default request value 2 is greater than max value 1"
            ),
        ),
        (
            {"default": 1, "defaultRequest": 2},
            (
                'defaultRequest[cpu]: Invalid value: "2": '
                "default request value 2 is greater than default limit value 1"
            ),
        ),
        (
            {"min": 2, "default": 1},
            'default[cpu]: Invalid value: "2": min value 2 is greater than default value 1',
        ),
        (
            {"max": 1, "default": 2},
            'default[cpu]: Invalid value: "1": default value 2 is greater than max value 1',
        ),
        (
            {"maxLimitRequestRatio": 0},
            'maxLimitRequestRatio[cpu]: Invalid value: "0": ratio 0 is less than 1',
        ),
        (
            {"maxLimitRequestRatio": 3, "min": 1, "max": 2},
            'maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000',
        ),
    ],
)
def test_bounds_do_not_contradict_each_other(lists: dict[str, int], said: str) -> None:
    amounts: Obj = {field: {"cpu": str(amount)} for field, amount in lists.items()}

    assert found(limit(**amounts)) == [f"spec.limits[0].{said}"]


def test_ratios_of_huge_amounts_are_compared_in_whole_units() -> None:
    lists: Obj = {
        "min": {"memory": "1"},
        "max": {"memory": "4E"},
        "maxLimitRequestRatio": {"memory": "5E"},
    }

    [said] = found(limit(**lists))

    assert said.endswith("ratio 5E is greater than max/min = 4000000000000000000.000000")


def test_a_type_has_a_proper_name() -> None:
    [said] = found(limit("a b"))

    assert said.startswith('spec.limits[0].type: Invalid value: "a b": name part must consist')


def test_a_minimum_of_zero_allows_any_ratio() -> None:
    lists: Obj = {
        "min": {"cpu": "0"},
        "max": {"cpu": "1"},
        "maxLimitRequestRatio": {"cpu": "99"},
    }

    assert found(limit(**lists)) == []


def test_what_cannot_be_overcommitted_is_requested_as_it_is_limited() -> None:
    gpu = "example.com/gpu"

    [said] = found(limit(default={gpu: "2"}, defaultRequest={gpu: "1"}))

    assert said == (
        f'spec.limits[0].defaultRequest[{gpu}]: Invalid value: "1": '
        f"default value 2 must equal to defaultRequest value 1 in {gpu}"
    )


def test_a_claim_is_limited_in_storage() -> None:
    assert found(limit("PersistentVolumeClaim", max={"storage": "1"})) == []
    assert found(limit("PersistentVolumeClaim")) == [
        (
            "spec.limits[0].limits: Required value: "
            "either minimum or maximum storage value is required, but neither was provided"
        )
    ]


def test_containers_have_only_resources_of_containers() -> None:
    [said] = found(limit(max={"storage": "1"}))

    assert said.endswith("must be a standard resource for containers")
    assert STRATEGY.validate_update(ranged(limit(max={"storage": "1"})), ranged())
