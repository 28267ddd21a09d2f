"""An API server without a socket, keys or folder."""

import asyncio
import subprocess
import sys
from random import Random

import pytest

from jobferry.errors import BadInput
from jobferry.kube import errors
from jobferry.kube.calls import Call, Scope
from jobferry.kube.resources import CONFIG_MAPS, JOBS, NAMESPACES, SERVICE_ACCOUNTS
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.storage.store import open_storage
from jobferry.localkube.apiserver.timeouts import Timeouts
from jobferry.localkube.in_process import in_process
from jobferry.objects import Obj
from jobferry.testing.clock import ManualClock

MAPS = "/api/v1/namespaces/default/configmaps"

LIGHT = """
import asyncio, sys
from jobferry.clock import SystemClock
from jobferry.kube.resources import NAMESPACES
from jobferry.localkube.in_process import in_process

async def main():
    async with in_process(SystemClock()) as cluster, cluster.client() as client:
        await client.get(NAMESPACES, "default")

asyncio.run(main())
heavy = {"cryptography", "uvicorn", "apsw", "websockets"} & set(sys.modules)
assert not heavy, heavy
"""


def config_map(**metadata: str) -> Obj:
    return {"metadata": {"namespace": "default", **metadata}}


async def some_objects(seed: int) -> list[Obj]:
    clock, random = ManualClock(), Random(seed)
    async with in_process(clock, random=random) as cluster, cluster.client() as client:
        await client.create(CONFIG_MAPS, config_map(generateName="a-"))
        await client.create(CONFIG_MAPS, config_map(name="b"))
        return (await client.list(Scope(resource=CONFIG_MAPS))).items


async def test_the_same_seed_and_clock_give_the_same_objects() -> None:
    first = await some_objects(7)

    assert await some_objects(7) == first
    assert await some_objects(8) != first


async def test_several_live_in_one_process() -> None:
    clock = ManualClock()
    async with (
        in_process(clock, name="hub") as hub,
        in_process(clock, name="east") as east,
        hub.client() as on_hub,
        east.client() as on_east,
    ):
        await on_hub.create(CONFIG_MAPS, config_map(name="a"))
        with pytest.raises(errors.NotFound, match="east"):
            await on_east.get(CONFIG_MAPS, "a", "default")
        uids = {
            (await client.get(NAMESPACES, "kube-system"))["metadata"]["uid"]
            for client in (on_hub, on_east)
        }
    assert len(uids) == 2


async def test_whoever_calls_may_do_what_rbac_lets_them() -> None:
    async with in_process(ManualClock()) as cluster, cluster.client(User("ann")) as ann:
        with pytest.raises(errors.Forbidden, match='User "ann" cannot get'):
            await ann.get(CONFIG_MAPS, "a", "default")


async def test_tokens_hold_though_no_key_is_kept() -> None:
    async with in_process(ManualClock()) as cluster, cluster.client() as client:
        await client.create(SERVICE_ACCOUNTS, config_map(name="robot"))
        path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
        made = await client.json(Call("POST", path, body={"spec": {}}))
        review = {"spec": {"token": made["status"]["token"]}}
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        found = (await client.json(Call("POST", path, body=review)))["status"]
    assert found["user"]["username"] == "system:serviceaccount:default:robot"


async def test_what_is_in_the_store_is_served_again() -> None:
    clock = ManualClock()
    async with open_storage(None, clock=clock) as storage:
        async with in_process(clock, storage=storage) as cluster, cluster.client() as client:
            made = await client.create(CONFIG_MAPS, config_map(name="a"))
        async with in_process(clock, storage=storage) as cluster, cluster.client() as client:
            assert await client.get(CONFIG_MAPS, "a", "default") == made


class Halves(Random):
    """Draws the middle, always."""

    def random(self) -> float:
        return 0.5


async def test_watches_and_bookmarks_have_the_times_of_the_settings() -> None:
    clock = ManualClock()
    times = Timeouts(watch=10.0, bookmark=4.0, last_bookmark=1.0)
    query = {"watch": "true", "resourceVersion": "0", "allowWatchBookmarks": "true"}
    seen: list[float] = []
    async with (
        in_process(clock, timeouts=times, random=Halves()) as cluster,
        cluster.client() as client,
        client.stream(Call("GET", MAPS, query)) as stream,
    ):
        begun = clock.monotonic()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(clock.pass_time(20.0))
            while await stream.read():
                seen.append(clock.monotonic() - begun)
            seen.append(clock.monotonic() - begun)
    assert seen == [0.0, 4.0, 8.0, 12.0, 14.0, 15.0]


async def test_what_fails_within_the_block_comes_out_as_it_is() -> None:
    with pytest.raises(KeyError):
        async with in_process(ManualClock()):
            raise KeyError


@pytest.mark.parametrize("name", ["Escalation", "NoSuchPlugin"])
async def test_a_plugin_that_is_none_cannot_be_left_out(name: str) -> None:
    with pytest.raises(BadInput, match=f"{name}: no admission plugin") as refused:
        async with in_process(ManualClock(), without_plugins={"Priority", name}):
            pass
    assert "ServiceAccount, " in (refused.value.hint or "")


async def test_leaving_the_block_ends_watches() -> None:
    clock = ManualClock()
    async with in_process(clock) as cluster:
        client = cluster.client()
        opened = client.stream(Call("GET", MAPS, {"watch": "true", "resourceVersion": "1"}))
        stream = await opened.__aenter__()
    assert await stream.read() == b""
    await opened.__aexit__(None, None, None)
    await client.__aexit__()
    assert clock.waiting == 0


def test_nothing_is_loaded_that_only_sockets_keys_and_files_need() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True)


async def test_jobs_pass_as_on_a_server_with_a_socket() -> None:
    container = {"name": "c", "image": "i"}
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}
    async with in_process(ManualClock()) as cluster, cluster.client() as client:
        made = await client.create(JOBS, {**config_map(name="j"), "spec": spec})
    assert made["spec"]["completions"] == 1
