import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.admission.request import CREATE, UPDATE
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj, quantities
from jobferry.testing.clock import settle
from tests.unit.localkube.apiserver.admission.admission_world import (
    World,
    admission,
    container,
    pod,
    quota,
    request,
    world,
)


def used(cluster: World, name: str = "q") -> Obj:
    found = cluster.get("", "resourcequotas", "ns", name)
    assert found is not None
    amounts: Obj = found["status"]["used"]
    return amounts


def small(cpu: str = "1", name: str = "p") -> Obj:
    body = pod(name, containers=[container(requests={"cpu": cpu})])
    body["spec"]["serviceAccountName"] = "default"
    return body


async def results(cluster: World, bodies: Sequence[Obj]) -> list[object]:
    """Send requests at once; return None for each that passed, else why not."""
    made = admission(cluster)
    sent = [asyncio.ensure_future(made.validate(request("pods", body))) for body in bodies]
    await asyncio.wait(sent)
    return [each.exception() for each in sent]


async def test_usage_is_written_before_the_object_is_stored() -> None:
    cluster = world(quota({"cpu": "3", "pods": "5"}))

    assert await results(cluster, [small()]) == [None]

    assert used(cluster) == {"cpu": "1", "pods": "1"}


async def test_a_burst_costs_few_writes_and_is_cut_off_where_the_quota_ends() -> None:
    cluster = world(quota({"cpu": "30"}))

    outcomes = await results(cluster, [small(name=f"p{number}") for number in range(50)])

    assert outcomes.count(None) == 30
    assert used(cluster) == {"cpu": "30"}
    assert cluster.writes <= 3


async def test_a_dry_run_is_checked_but_not_charged() -> None:
    cluster = world(quota({"cpu": "1"}))
    made = admission(cluster)

    for _ in range(2):
        await made.validate(request("pods", small(), dry_run=True))
    with pytest.raises(StatusError, match="exceeded quota"):
        await made.validate(request("pods", small("2"), dry_run=True))

    assert (used(cluster), cluster.writes) == ({"cpu": "0"}, 0)


async def test_a_namespace_without_quotas_pays_nothing() -> None:
    cluster = world()
    other = quota({"pods": "0"}, namespace="other")
    cluster.put("resourcequotas", other)

    assert await results(cluster, [small()]) == [None]
    assert cluster.writes == 0


async def test_a_write_that_meets_another_is_tried_again_on_what_is_there_now() -> None:
    cluster = world(quota({"cpu": "5"}))

    def spend(cluster: World) -> None:
        cluster.before_write = None
        cluster.put("resourcequotas", quota({"cpu": "5"}, {"cpu": "3"}))

    cluster.before_write = spend

    assert await results(cluster, [small()]) == [None]
    assert (used(cluster), cluster.writes) == ({"cpu": "4"}, 2)


async def test_who_no_longer_fits_after_another_write_is_refused() -> None:
    cluster = world(quota({"cpu": "5"}))

    def spend(cluster: World) -> None:
        cluster.before_write = None
        cluster.put("resourcequotas", quota({"cpu": "5"}, {"cpu": "5"}))

    cluster.before_write = spend

    [outcome] = await results(cluster, [small()])
    assert "used: cpu=5, limited: cpu=5" in str(outcome)


async def test_it_gives_up_when_others_are_always_faster() -> None:
    cluster = world(quota({"cpu": "5"}))
    cluster.before_write = lambda cluster: cluster.put("resourcequotas", quota({"cpu": "5"}))

    [outcome] = await results(cluster, [small()])

    assert isinstance(outcome, StatusError)
    assert outcome.reason == "Conflict"
    assert cluster.writes == 4


async def test_after_a_conflict_only_the_quota_that_failed_is_charged_again() -> None:
    cluster = world(quota({"cpu": "5"}, name="a"), quota({"pods": "5"}, name="b"))

    def spend(cluster: World) -> None:
        if cluster.writes == 2:
            cluster.put("resourcequotas", quota({"pods": "5"}, {"pods": "2"}, name="b"))

    cluster.before_write = spend

    assert await results(cluster, [small()]) == [None]
    assert (used(cluster, "a"), used(cluster, "b")) == ({"cpu": "1"}, {"pods": "3"})


async def test_a_quota_that_goes_meanwhile_asks_nothing() -> None:
    cluster = world(quota({"cpu": "5"}))
    cluster.before_write = lambda cluster: cluster.objects["resourcequotas", "ns"].clear()

    assert await results(cluster, [small()]) == [None]


async def test_who_is_called_off_holds_up_nobody() -> None:
    cluster = world(quota({"cpu": "9"}))
    blocked = asyncio.Event()
    write = cluster.update_status

    async def slow(group: str, resource: str, obj: Obj) -> Obj:
        await blocked.wait()
        return await write(group, resource, obj)

    cluster.update_status = slow  # type: ignore[method-assign]
    made = admission(cluster)
    sent = [
        asyncio.ensure_future(made.validate(request("pods", small(name=name))))
        for name in "abcd"
    ]
    await settle()
    sent[0].cancel()
    sent[2].cancel()
    await settle()
    blocked.set()
    await asyncio.wait(sent)

    assert [each.cancelled() for each in sent] == [True, False, True, False]
    assert [sent[1].exception(), sent[3].exception()] == [None, None]
    assert used(cluster) == {"cpu": "2"}


async def test_events_and_namespaces_are_never_charged() -> None:
    cluster = world(quota({"count/namespaces": "0", "count/configmaps": "0"}))
    made = admission(cluster)

    await made.validate(request("namespaces", {"metadata": {"name": "ns"}}, CREATE))
    await made.validate(request("configmaps", {"metadata": {"name": "m"}}, UPDATE))
    with pytest.raises(StatusError, match="exceeded quota: q, requested: count/configmaps=1"):
        await made.validate(request("configmaps", {"metadata": {"name": "m"}}))


@given(
    cpus=st.lists(st.sampled_from(["100m", "0.25", "1", "3"]), min_size=1, max_size=20),
    races=st.sets(st.integers(1, 6), max_size=2),
)
def test_whatever_comes_at_once_is_charged_exactly_and_never_beyond(
    cpus: list[str], races: set[int]
) -> None:
    cluster = world(quota({"cpu": "5", "pods": "8"}))

    def race(cluster: World) -> None:
        if cluster.writes in races:
            found = cluster.get("", "resourcequotas", "ns", "q")
            cluster.put("resourcequotas", found or {})

    cluster.before_write = race
    bodies = [small(cpu, f"p{number}") for number, cpu in enumerate(cpus)]
    outcomes = asyncio.run(results(cluster, bodies))

    passed = [cpu for cpu, outcome in zip(cpus, outcomes, strict=True) if outcome is None]
    total = sum(map(quantities.parse, passed), quantities.ZERO)
    assert quantities.parse(used(cluster)["cpu"]) == total <= quantities.parse("5")
    assert used(cluster)["pods"] == str(len(passed))
