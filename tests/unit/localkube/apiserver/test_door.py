"""What holds for every write, whichever way it comes."""

from collections.abc import AsyncIterator

import pytest

from jobferry.clock import SystemClock
from jobferry.localkube.apiserver.storage.errors import Conflict
from jobferry.localkube.in_process import Cluster, in_process
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.held_server import Asker, hold

PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@pytest.fixture
async def server() -> AsyncIterator[Cluster]:
    async with in_process(SystemClock()) as running:
        yield running


def config(data: str) -> Obj:
    return {"metadata": {"name": "m", "namespace": "default"}, "data": {"key": data}}


async def test_a_write_happens_only_on_the_state_it_was_made_from(server: Cluster) -> None:
    door, maps = server.backend.door, server.backend.registry.get("", "v1", "configmaps")
    key = maps.key("default", "m")
    first = await door.create(maps, key, config("1"))
    assert first is not None
    second = await door.replace(maps, first, first.object, config("2"))
    assert second is not None

    with pytest.raises(Conflict):
        await door.create(maps, key, config("3"))
    with pytest.raises(Conflict):
        await door.replace(maps, first, first.object, config("3"))
    with pytest.raises(Conflict):
        await door.remove(maps, first, config("3"))

    assert door.newest(key) is server.backend.storage.get(key) is second


async def test_what_changes_nothing_and_what_is_tried_only_is_not_written(
    server: Cluster,
) -> None:
    door, maps = server.backend.door, server.backend.registry.get("", "v1", "configmaps")
    key = maps.key("default", "m")
    assert await door.create(maps, key, config("1"), dry_run=True) is None
    entry = await door.create(maps, key, config("1"))
    assert entry is not None
    before = server.storage.revision

    assert await door.replace(maps, entry, entry.object, entry.fresh()) is entry
    assert await door.replace(maps, entry, entry.object, config("2"), dry_run=True) is None
    await door.remove(maps, entry, config("2"), dry_run=True)

    assert server.storage.revision == before


async def test_a_budget_is_charged_once_for_each_pod_that_is_evicted_at_once(
    server: Cluster,
) -> None:
    local = Asker(server)
    await local.ask(
        "POST",
        "/api/v1/namespaces/default/serviceaccounts",
        {"metadata": {"name": "default"}},
    )
    spec = {"selector": {"matchLabels": {"app": "a"}}}
    await local.ask("POST", BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
    allowed = {"status": {"disruptionsAllowed": 2, "observedGeneration": 1}}
    await local.ask("PATCH", f"{BUDGETS}/b/status", allowed)
    for number in range(5):
        pod = {
            "metadata": {"name": f"p{number}", "labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        await local.ask("POST", PODS, pod)
        await local.ask("PATCH", f"{PODS}/p{number}/status", {"status": {"phase": "Running"}})
    journal = hold(server)

    asks = [
        await local.asked("POST", f"{PODS}/p{n}/eviction", {"metadata": {"name": f"p{n}"}})
        for n in range(5)
    ]
    while journal.batches:
        journal.commit()
        await local.asked("GET", PODS)

    assert sorted([(await each).code for each in asks]) == [201, 201, 429, 429, 429]
