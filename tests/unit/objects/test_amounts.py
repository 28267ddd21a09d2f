from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects import Obj, amounts, demand, quantities
from jobferry.objects.quantities import BadQuantity
from tests.unit.localkube.apiserver.admission.admission_world import container

REQUESTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "example.com/gpu"]),
    st.sampled_from(["0", "1", "250m", "1Gi", "3"]),
)
INITS = st.lists(st.tuples(REQUESTS, st.booleans()), max_size=4)


@given(running=st.lists(REQUESTS, min_size=1, max_size=3), inits=INITS)
def test_pods_hold_what_the_scheduler_will_reserve_for_them(
    running: list[Obj], inits: list[tuple[Obj, bool]]
) -> None:
    spec = {
        "containers": [container(requests=each) for each in running],
        "initContainers": [
            container(requests=each) | ({"restartPolicy": "Always"} if stays else {})
            for each, stays in inits
        ],
    }

    held = amounts.of_containers(spec, lambda each: amounts.of(each, "requests"))

    assert held == demand.of_pod(spec)


def test_a_long_text_is_read_but_not_remembered() -> None:
    text = "0" * 100 + "1"

    assert amounts.parse(text) == quantities.parse("1")
    assert amounts.parse(text) is not amounts.parse(text)
    assert amounts.parse("1") is amounts.parse("1")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("1", "1"),
        (" 1 ", "1"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("1e3", "1e3"),
        (2, "2"),
        (0.1, "100m"),
        (None, "0"),
    ],
)
def test_quantities_are_read_as_api_servers_read_them(given: Any, shown: str) -> None:
    assert str(amounts.parse(given)) == shown


@pytest.mark.parametrize("text", ["", "1x", "one", "1 Gi", True, "x" * 100])
def test_what_is_no_quantity_is_refused_every_time(text: Any) -> None:
    for _ in range(2):
        with pytest.raises(BadQuantity, match="cannot parse"):
            amounts.parse(text)


@pytest.mark.parametrize("texts", [None, {}])
def test_no_list_of_resources_is_an_empty_one(texts: Obj | None) -> None:
    assert amounts.read(texts) == {}


@pytest.mark.parametrize(
    "container", [{}, {"resources": None}, {"resources": {}}, {"resources": {"limits": None}}]
)
def test_a_container_may_ask_for_nothing(container: Obj) -> None:
    assert amounts.of(container, "limits") == {}
    assert amounts.of_containers({"containers": [container]}, lambda _: {}) == {}


def test_requests_and_limits_of_a_container_are_kept_apart() -> None:
    asking = container(requests={"cpu": "1"}, limits={"cpu": "2", "memory": "1Gi"})

    assert amounts.show(amounts.of(asking, "requests")) == "cpu=1"
    assert amounts.show(amounts.of(asking, "limits")) == "cpu=2,memory=1Gi"


@pytest.mark.parametrize(
    ("one", "other", "larger"),
    [
        ({}, {}, ""),
        ({"cpu": "1"}, {}, "cpu=1"),
        ({}, {"cpu": "0"}, "cpu=0"),
        ({"cpu": "1"}, {"cpu": "999m"}, "cpu=1"),
        ({"cpu": "1"}, {"cpu": "1001m"}, "cpu=1001m"),
        ({"memory": "1Gi"}, {"memory": "1G", "cpu": "1"}, "cpu=1,memory=1Gi"),
        ({"memory": "1024Mi"}, {"memory": "1Gi"}, "memory=1Gi"),
    ],
)
def test_the_larger_counts_resource_by_resource(one: Obj, other: Obj, larger: str) -> None:
    assert amounts.show(amounts.larger(amounts.read(one), amounts.read(other))) == larger


@pytest.mark.parametrize(
    ("names", "kept"),
    [(["a", "c", "x"], "a=1,c=3"), (iter("b"), "b=2"), ([], ""), (["x"], "")],
)
def test_some_resources_can_be_picked_out(names: Any, kept: str) -> None:
    found = amounts.read({"c": "3", "b": "2", "a": "1"})

    assert amounts.show(amounts.only(found, names)) == kept


def test_amounts_are_shown_by_name() -> None:
    assert amounts.show(amounts.read({"b": "1000m", "a": "1.5Gi"})) == "a=1536Mi,b=1"


@pytest.mark.parametrize(
    ("spec", "whole"),
    [
        ({"resources": {"limits": {"cpu": "2", "x": "1"}}}, "cpu=2,memory=1"),
        ({"resources": {"limits": {"cpu": "0"}}}, "cpu=0,memory=1"),
        ({"resources": {"limits": {"memory": "2"}}}, "cpu=1,memory=1"),
        ({"resources": {"requests": {"cpu": "2"}}}, "cpu=1,memory=1"),
        ({"resources": {"limits": None}}, "cpu=1,memory=1"),
        ({"resources": {}}, "cpu=1,memory=1"),
        ({"resources": None}, "cpu=1,memory=1"),
        ({}, "cpu=1,memory=1"),
    ],
)
def test_what_a_pod_asks_for_as_a_whole_replaces_the_sums(spec: Obj, whole: str) -> None:
    sums = amounts.read({"cpu": "1", "memory": "1"})

    found = amounts.override(sums, spec, "limits", lambda name: name == "cpu")

    assert amounts.show(found) == whole
