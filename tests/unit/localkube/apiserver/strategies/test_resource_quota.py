from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies.resource_quota import STATUS, STRATEGY
from jobferry.objects import Obj


def quota(hard: Obj | None = None, **spec: Any) -> Obj:
    meta = {"name": "q", "namespace": "n", "resourceVersion": "1"}
    return {"metadata": meta, "spec": {"hard": hard or {"pods": "1"}} | spec}


def found(obj: Obj) -> list[str]:
    return [str(problem) for problem in STRATEGY.validate_create(obj)]


def test_amounts_are_rounded_up_to_the_milli() -> None:
    obj = quota({"cpu": "0.0001"}) | {"status": {"used": {"cpu": "1.0001"}}}

    STRATEGY.default(obj)

    assert obj["spec"]["hard"] == {"cpu": "1m"}
    assert obj["status"]["used"] == {"cpu": "1001m"}


def test_users_write_the_spec_and_controllers_the_status() -> None:
    old = quota() | {"status": {"used": {"pods": "1"}}}
    fresh, changed, counted = (
        quota({"pods": "2"}) | {"status": {"used": {}}} for _ in range(3)
    )

    STRATEGY.prepare_create(fresh)
    STRATEGY.prepare_update(changed, old)
    STATUS.prepare_update(counted, old)

    assert fresh["status"] == {}
    assert changed == quota({"pods": "2"}) | {"status": {"used": {"pods": "1"}}}
    assert counted == quota() | {"status": {"used": {}}}


@pytest.mark.parametrize(
    ("hard", "said"),
    [
        ({"pods": "1", "requests.example.com/gpu": "1", "count/jobs.batch": "3"}, []),
        (
            {"foo": "1"},
            [
                'spec.hard[foo]: Invalid value: "foo": must be a standard resource type or fully qualified',
                'spec.hard[foo]: Invalid value: "foo": must be a standard resource for quota',
            ],
        ),
        (
            {"storage": "1"},
            [
                'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota'
            ],
        ),
        (
            {"cpu": "-1"},
            ['spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        ({"pods": "1500m"}, ['spec.hard[pods]: Invalid value: "1500m": must be an integer']),
    ],
)
def test_only_what_can_be_counted_is_limited(hard: Obj, said: list[str]) -> None:
    assert found(quota(hard)) == said


def test_scopes_have_to_be_known_and_fit_each_other_and_the_resources() -> None:
    said = found(quota({"cpu": "1"}, scopes=["BestEffort", "NotBestEffort", "What"]))

    shown = 'spec.scopes: Invalid value: ["BestEffort","NotBestEffort","What"]'
    assert said == [
        f"{shown}: unsupported scope applied to resource",
        f"{shown}: unsupported scope",
        f"{shown}: conflicting scopes",
    ]


def selecting(*requirements: Obj, hard: Obj | None = None) -> Obj:
    return quota(hard, scopeSelector={"matchExpressions": list(requirements)})


def test_a_scope_selector_is_shown_as_upstream_shows_it() -> None:
    requirement = {"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}

    said = found(selecting(requirement, hard={"services": "1"}))

    shown = (
        '{"MatchExpressions":[{"ScopeName":"PriorityClass","Operator":"In","Values":["a"]}]}'
    )
    assert said == [
        (
            f"spec.scopeSelector.matchExpressions: Invalid value: {shown}: "
            "unsupported scope applied to resource"
        )
    ]


@pytest.mark.parametrize(
    ("requirement", "where"),
    [
        ({"scopeName": "PriorityClass", "operator": "In"}, "values"),
        ({"scopeName": "PriorityClass", "operator": "Exists", "values": ["a"]}, "values"),
        ({"scopeName": "PriorityClass", "operator": "Gt"}, "operator"),
        ({"scopeName": "BestEffort", "operator": "DoesNotExist"}, "operator"),
        ({"scopeName": "What", "operator": "Exists"}, "scopeName"),
    ],
)
def test_a_scope_selector_has_to_make_sense(requirement: Obj, where: str) -> None:
    [problem] = STRATEGY.validate_create(selecting(requirement))

    assert problem.field == f"spec.scopeSelector.matchExpressions.{where}"


def test_scopes_stay_as_they_are() -> None:
    before, after = quota(scopes=["BestEffort"]), quota()

    [problem] = STRATEGY.validate_update(after, before)

    assert str(problem) == "spec.scopes: Invalid value: null: field is immutable"
    assert STRATEGY.validate_update(before, before) == []


def test_a_status_is_checked_like_a_spec() -> None:
    wrong = quota() | {"status": {"hard": {"foo/": "1"}, "used": {"pods": "-1"}}}

    fields = {problem.field for problem in STATUS.validate_update(wrong, quota())}

    assert fields == {"status.hard[foo/]", "status.used[pods]"}


def test_requests_beyond_the_limits_are_warned_of() -> None:
    hard = {"requests.cpu": "2", "limits.cpu": "1", "memory": "2Gi", "limits.memory": "1Gi"}

    assert STRATEGY.warn_create(quota(hard)) == [
        "ResourceQuota requests.cpu (2) should be less than limits.cpu (1)",
        "ResourceQuota memory (2Gi) should be less than limits.memory (1Gi)",
    ]
    assert STRATEGY.warn_create(quota({"requests.cpu": "1", "limits.cpu": "1"})) == []
