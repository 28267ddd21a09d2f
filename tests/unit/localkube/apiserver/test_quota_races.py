"""Pods and their quota are written at the same time, and nobody is told of a conflict."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobferry.clock import SystemClock
from jobferry.localkube.apiserver.server import Settings, serve
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.held_server import Asker, asker, hold

QUOTA = "/api/v1/namespaces/default/resourcequotas"
PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def pod(name: str) -> Obj:
    return {
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }


def note(number: int) -> Obj:
    return {"metadata": {"annotations": {"note": str(number)}}}


async def prepare(local: Asker, most: int, quotas: int = 1) -> None:
    await local.ask("POST", ACCOUNTS, {"metadata": {"name": "default"}})
    for number in range(quotas):
        await local.ask("POST", QUOTA, {"metadata": {"name": f"q{number}"}})
        status = {"hard": {"pods": str(most)}, "used": {"pods": "0"}}
        reply = await local.ask("PATCH", f"{QUOTA}/q{number}/status", {"status": status})
        assert reply.code == 200


async def used(local: Asker, number: int = 0) -> str:
    quota = await local.ask("GET", f"{QUOTA}/q{number}")
    return str(quota.body["status"]["used"]["pods"])


@pytest.fixture
async def local() -> AsyncIterator[Asker]:
    async with asker() as found:
        yield found


async def test_a_pod_is_charged_to_a_quota_whose_last_change_is_not_durable_yet(
    local: Asker,
) -> None:
    await prepare(local, most=5)
    journal = hold(local.server)
    writing = await local.asked("PATCH", f"{QUOTA}/q0", note(1))

    making = await local.asked("POST", PODS, pod("p"))

    assert not making.done()
    while journal.batches:
        journal.commit()
        await local.asked("GET", PODS)
    assert ((await writing).code, (await making).code) == (200, 201)
    assert await used(local) == "1"


async def test_a_lost_charge_is_not_counted(local: Asker) -> None:
    await prepare(local, most=5)
    journal = hold(local.server)
    lost = await local.asked("POST", PODS, pod("p"))
    journal.fail()
    assert (await lost).code == 500
    making = await local.asked("POST", PODS, pod("p"))
    while journal.batches:
        journal.commit()
        await local.asked("GET", PODS)

    assert (await making).code == 201
    assert await used(local) == "1"


@pytest.mark.parametrize("quotas", [1, 6])
async def test_many_pods_and_changes_of_their_quotas_at_once(
    tmp_path: Path, quotas: int
) -> None:
    """On a disk, where there is a long moment between accepted and durable."""
    async with serve(Settings(folder=tmp_path), SystemClock()) as server:
        local = Asker(server)
        await prepare(local, most=40, quotas=quotas)
        asks = [local.ask("POST", PODS, pod(f"p{number}")) for number in range(60)]
        for number in range(60):
            path = f"{QUOTA}/q{number % quotas}"
            asks.insert(number * 2, local.ask("PATCH", path, note(number)))
        replies = [await each for each in [asyncio.ensure_future(each) for each in asks]]

        codes = [reply.code for reply in replies]
        assert sorted(set(codes)) == [200, 201, 403]
        assert codes.count(201) == 40
        assert [await used(local, each) for each in range(quotas)] == ["40"] * quotas
