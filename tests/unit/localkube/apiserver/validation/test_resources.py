"""Requests and limits."""

import pytest

from jobferry.localkube.apiserver.validation import pod_resources, resources
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.validation.rule_world import Found, found

GPU = "example.com/gpu"
CASES: dict[str, tuple[Obj, Found]] = {
    "good": ({"limits": {"cpu": "1", GPU: "1"}, "requests": {"cpu": "500m", GPU: "1"}}, []),
    "more than the limit": (
        {"limits": {"cpu": "1"}, "requests": {"cpu": "2"}},
        [("r.requests", "Invalid")],
    ),
    "below zero": ({"limits": {"cpu": "-1"}}, [("r.limits[cpu]", "Invalid")]),
    "unknown": ({"limits": {"gpu": "1"}}, [("r.limits[gpu]", "Invalid")] * 2),
    "for quotas": ({"limits": {"pods": "1"}}, [("r.limits[pods]", "Invalid")]),
    "badly named": ({"limits": {"a b/c": "1"}}, [("r.limits[a b/c]", "Invalid")] * 2),
    "half a device": ({"limits": {GPU: "500m"}}, [(f"r.limits[{GPU}]", "Invalid")]),
    "fewer devices": (
        {"limits": {GPU: "2"}, "requests": {GPU: "1"}},
        [("r.requests", "Invalid")],
    ),
    "devices without limit": ({"requests": {GPU: "1"}}, [("r.limits", "Required")]),
    "pages": ({"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}, []),
    "pages alone": ({"limits": {"hugepages-2Mi": "4Mi"}}, [("r", "Forbidden")]),
    "half a page": (
        {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}},
        [("r.limits[hugepages-2Mi]", "Invalid")],
    ),
    "claims": (
        {"claims": [{"name": "known"}, {"name": "other"}, {}, {"name": "known"}]},
        [
            ("r.claims[1]", "NotFound"),
            ("r.claims[2]", "Required"),
            ("r.claims[3]", "Duplicate"),
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_requirements_are_checked(name: str) -> None:
    given, expected = CASES[name]
    problems = resources.requirements_problems(given, "r", claims={"known"})
    assert found(problems) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [("1", "1"), ("100u", "1m"), ("1.0005", "1001m"), ("0.5Gi", "512Mi"), ("1e3", "1e3")],
)
def test_amounts_are_rounded_up_to_the_milli(given: str, expected: str) -> None:
    assert resources.rounded(given) == expected


def test_sidecars_count_together_with_containers() -> None:
    def asking(cpu: str, **more: str) -> Obj:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [asking("1"), asking("1")],
        "initContainers": [asking("1", restartPolicy="Always"), asking("4")],
    }
    assert str(resources.total(spec, "requests")["cpu"]) == "5"
    spec["initContainers"].pop()
    assert str(resources.total(spec, "requests")["cpu"]) == "3"


def test_a_pod_has_room_for_its_containers() -> None:
    container = {"resources": {"limits": {"cpu": "4"}, "requests": {"cpu": "3"}}}
    wanted = {"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}
    spec = {"containers": [container], "resources": wanted}
    assert found(pod_resources.spec_problems(spec, set(), "s")) == [
        ("s.resources.requests[cpu]", "Invalid"),
        ("s.resources.containers[0][cpu].limits", "Invalid"),
    ]


def test_a_pod_asks_for_few_resources() -> None:
    spec = {"resources": {"limits": {"ephemeral-storage": "1"}}}
    (problem,) = pod_resources.spec_problems(spec, set(), "s")
    assert problem.body.endswith('supported values: "cpu", "hugepages-", "memory"')


def test_claims_of_a_pod_are_checked() -> None:
    claims = [{"name": "a", "resourceClaimName": "b"}, {"name": "a"}, {}]
    assert found(pod_resources.claims_problems(claims, "c")) == [
        ("c[1].name", "Duplicate"),
        ("c[1]", "Invalid"),
        ("c[2].name", "Required"),
        ("c[2]", "Invalid"),
    ]
