from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects import Obj, demand
from jobferry.objects.demand import Demand
from jobferry.objects.quantities import ZERO


def container(limits: Obj | None = None, sidecar: bool = False, **requests: Any) -> Obj:
    return asking(requests, limits, sidecar)


def asking(requests: Obj, limits: Obj | None = None, sidecar: bool = False) -> Obj:
    made: Obj = {"resources": {"requests": requests, "limits": limits or {}}}
    return {**made, "restartPolicy": "Always"} if sidecar else made


def pod(*containers: Obj, init: tuple[Obj, ...] = (), **more: Any) -> Obj:
    return {"containers": list(containers), "initContainers": list(init), **more}


def shown(of: Demand) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in of.items()}


def test_containers_run_together_so_their_requests_add_up() -> None:
    spec = pod(
        container(cpu="500m", memory="1Gi"), container(cpu=1, memory="512Mi"), container()
    )

    assert shown(demand.of_pod(spec)) == {"cpu": "1500m", "memory": "1536Mi"}


def test_init_containers_run_alone_so_only_the_largest_counts() -> None:
    spec = pod(
        container(cpu="2", memory="1Gi"),
        init=(container(cpu="3"), container(cpu="1", memory="4Gi")),
    )

    assert shown(demand.of_pod(spec)) == {"cpu": "3", "memory": "4Gi"}


def test_a_sidecar_adds_to_the_containers_and_to_the_init_containers_after_it() -> None:
    sidecar = container(cpu="1", sidecar=True)

    before = pod(container(cpu="1"), init=(container(cpu="5"), sidecar))
    after = pod(container(cpu="1"), init=(sidecar, container(cpu="5")))
    small = pod(container(cpu="3"), init=(sidecar, container(cpu="2"), sidecar))

    assert shown(demand.of_pod(before)) == {"cpu": "5"}
    assert shown(demand.of_pod(after)) == {"cpu": "6"}
    assert shown(demand.of_pod(small)) == {"cpu": "5"}


def test_a_limit_without_a_request_counts_as_one() -> None:
    both = container(limits={"cpu": "4", "memory": "2Gi", "example.com/gpu": 1}, cpu="1")

    expected = {"cpu": "1", "memory": "2Gi", "example.com/gpu": "1"}
    assert shown(demand.of_pod(pod(both))) == expected
    assert shown(demand.of_pod(pod(container(), init=(both,)))) == expected


def test_overhead_comes_on_top_even_of_pod_level_requests() -> None:
    overhead = {"cpu": "250m", "memory": "120Mi"}

    plain = pod(container(cpu="1"), overhead=overhead)
    pod_level = pod(container(cpu="1"), overhead=overhead, resources={"requests": {"cpu": "2"}})

    assert shown(demand.of_pod(plain)) == {"cpu": "1250m", "memory": "120Mi"}
    assert shown(demand.of_pod(pod_level)) == {"cpu": "2250m", "memory": "120Mi"}


def test_pod_level_requests_stand_in_for_those_of_the_containers() -> None:
    spec = pod(
        container(cpu="1", memory="1Gi"),
        resources={"requests": {"cpu": "4", "hugepages-2Mi": "4Mi", "example.com/gpu": "9"}},
    )

    assert shown(demand.of_pod(spec)) == {"cpu": "4", "memory": "1Gi", "hugepages-2Mi": "4Mi"}


def test_a_pod_level_limit_counts_only_where_no_container_requests_anything() -> None:
    huge = container(limits={"hugepages-2Mi": "2Mi"})
    limits = {"cpu": "8", "memory": "8Gi", "hugepages-2Mi": "6Mi"}

    spec = pod(container(cpu="1"), huge, resources={"limits": limits})

    assert shown(demand.of_pod(spec)) == {"cpu": "1", "memory": "8Gi", "hugepages-2Mi": "6Mi"}


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"containers": [{"name": "a"}], "initContainers": None, "overhead": None},
        {"containers": [{"name": "a", "resources": {"requests": None}}], "resources": None},
    ],
)
def test_a_pod_that_asks_for_nothing_has_no_demand(spec: Obj) -> None:
    assert demand.of_pod(spec) == {}


@pytest.mark.parametrize("much", ["1e1500", "1e2000000000", "9" * 900, "9" * 5000, "1x", 2**63])
def test_what_is_too_much_or_cannot_be_read_is_more_than_there_is(much: Any) -> None:
    job = {"spec": {"template": {"spec": pod(container(cpu=much), container(cpu="1m"))}}}

    assert demand.of_job(job) == {"cpu": demand.MOST}


def test_so_many_pods_that_nobody_can_count_further_need_the_most() -> None:
    spec = {"parallelism": 2**31 - 1, "template": {"spec": pod(container(cpu="1e18"))}}

    assert demand.of_job({"spec": spec}) == {"cpu": demand.MOST}


def test_what_is_hardly_anything_is_still_something() -> None:
    spec = pod(container(cpu="1e-1500"), container(cpu="1n"))

    assert shown(demand.of_pod(spec)) == {"cpu": "2e-9"}


def test_ten_thousand_containers_with_resources_of_their_own_are_soon_counted() -> None:
    """Each with each other would be a hundred million additions: the time that a test has would not do."""
    many = tuple(asking({f"example.com/{n}": 1}, sidecar=True) for n in range(10_000))

    assert len(demand.of_pod(pod(*many, init=many))) == 10_000


amounts = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(0, 9))
containers = st.lists(st.builds(asking, amounts), max_size=4)
init_containers = st.lists(st.builds(asking, amounts, st.none(), st.booleans()), max_size=4)


@given(containers, init_containers)
def test_demand_is_the_peak_over_every_moment_of_a_pods_life(
    running: list[Obj], init: list[Obj]
) -> None:
    spec = pod(*running, init=tuple(init))

    for name, quantity in demand.of_pod(spec).items():
        assert quantity.scaled() == max(moments(running, init, name))


def moments(running: list[Obj], init: list[Obj], name: str) -> list[int]:
    def use(each: Obj) -> int:
        return int(each["resources"]["requests"].get(name, 0))

    def sidecars(before: int) -> int:
        return sum(use(each) for each in init[:before] if "restartPolicy" in each)

    starting = [sidecars(number) + use(each) for number, each in enumerate(init)]
    return [*starting, sidecars(len(init)) + sum(map(use, running))]


@pytest.mark.parametrize(
    ("spec", "succeeded", "pods"),
    [
        ({}, 0, 1),
        ({"parallelism": 4}, 0, 4),
        ({"parallelism": 4}, 2, 4),
        ({"parallelism": 4, "completions": 10}, 0, 4),
        ({"parallelism": 10, "completions": 4}, 0, 4),
        ({"parallelism": 4, "completions": 10}, 8, 2),
        ({"parallelism": 4, "completions": 10}, 10, 0),
        ({"parallelism": 4, "completions": 10}, 11, 0),
        ({"completions": 3}, 0, 1),
        ({"parallelism": 0, "completions": 3}, 0, 0),
    ],
)
def test_a_job_runs_no_more_pods_than_it_still_has_to_complete(
    spec: Obj, succeeded: int, pods: int
) -> None:
    assert demand.pods_of_job({"spec": spec, "status": {"succeeded": succeeded}}) == pods


def test_the_demand_of_a_job_is_that_of_its_pods_together() -> None:
    template = {"spec": pod(container(cpu="250m", memory="1Gi"))}

    job = {"spec": {"parallelism": 6, "completions": 100, "template": template}}

    assert shown(demand.of_job(job)) == {"cpu": "1500m", "memory": "6Gi"}
    job["spec"]["parallelism"] = 0
    assert demand.of_job(job) == {"cpu": ZERO, "memory": ZERO}
