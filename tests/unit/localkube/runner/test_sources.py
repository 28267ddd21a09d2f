"""What pods are given of the cluster: tokens of their accounts."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobferry.kube.client import Client
from jobferry.kube.resources import SERVICE_ACCOUNTS
from jobferry.localkube.in_process import in_process
from jobferry.localkube.runner import furnishing
from jobferry.localkube.runner.backend import CannotStart
from jobferry.localkube.runner.sources import Sources
from jobferry.localkube.runner.volumes import Token
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing.clock import ManualClock

REVIEWS = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
HOUR = Token("", 3600)


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with in_process(ManualClock()) as cluster, cluster.client() as found:
        yield found


async def is_good(client: Client, token: str) -> bool:
    answer = await client.create(REVIEWS, {"spec": {"token": token}})
    return bool(answer["status"].get("authenticated"))


def account(name: str = "worker") -> Obj:
    return {"metadata": {"name": name, "namespace": "default"}}


async def test_pods_of_an_account_share_a_token_until_half_of_its_time_is_over(
    client: Client,
) -> None:
    clock = client.clock
    assert isinstance(clock, ManualClock)
    await client.create(SERVICE_ACCOUNTS, account())
    sources = Sources(client, "")

    first = await sources.token("default", "worker", HOUR)
    await clock.pass_time(1799)
    second = await sources.token("default", "worker", HOUR)
    await clock.pass_time(1)
    third = await sources.token("default", "worker", HOUR)

    assert first == second != third
    assert await is_good(client, third)


async def test_an_account_that_is_made_again_has_a_token_of_its_own(client: Client) -> None:
    sources = Sources(client, "")
    await client.create(SERVICE_ACCOUNTS, account())
    await sources.token("default", "worker", HOUR)
    await client.delete(SERVICE_ACCOUNTS, "worker", "default")

    with pytest.raises(CannotStart, match=r'no token: .*"worker" not found'):
        await sources.token("default", "worker", HOUR)
    await client.create(SERVICE_ACCOUNTS, account())

    assert await is_good(client, await sources.token("default", "worker", HOUR))


@pytest.mark.parametrize("left", [b"", b"[{"])
async def test_what_a_crash_left_of_the_list_of_tokens_is_none(
    client: Client, tmp_path: Path, left: bytes
) -> None:
    (tmp_path / furnishing.READY).write_bytes(left)

    await furnishing.renew(tmp_path, Sources(client, ""))

    assert os.listdir(tmp_path) == [furnishing.READY]
