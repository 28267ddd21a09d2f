"""Every way in which a worker cannot be reached: its Worker says which, and mends by itself."""

import base64
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import pytest

from jobferry.clock import SystemClock, sleep
from jobferry.kube.resources import SECRETS
from jobferry.objects import Obj
from jobferry.testing.certificates import Authority
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from jobferry.workers.resource import WORKERS
from tests.system.fleet import (
    HUB_VERSION,
    RESOURCES,
    SYSTEM,
    WORKER,
    add_worker,
    prepare,
    secret,
)
from tests.system.impostor import LONG_AGO, authority, changed, granted, impostor, user
from tests.system.jobs import (
    FOREVER,
    Holds,
    attempt,
    complete,
    condition,
    holds,
    is_there,
    job,
    lost,
    runs,
    tells,
)
from tests.system.lab import Lab
from tests.system.proxy import LOOPBACK

pytestmark = pytest.mark.fleet("processes")


def is_connected_but(reason: str) -> Holds:
    """Hold if a Worker is connected, and yet there is something to say."""
    return lambda obj: (
        holds("Connected")(obj) and condition(obj, "Connected")["reason"] == reason
    )


async def replace_secret(lab: Lab, name: str, data: Obj) -> None:
    await lab.world.hub.patch(SECRETS, name, {"data": data}, namespace=SYSTEM)


async def renew(lab: Lab, name: str, kubeconfig: str) -> None:
    """Put another kubeconfig into the Secret of a Worker."""
    await replace_secret(lab, name, secret(name, kubeconfig)["data"])


def plane_of(lab: Lab, worker: str) -> ControlPlane:
    """Return the cluster of a worker, which has keys of its own."""
    plane = lab.fleet.planes[lab.clusters[worker]]
    assert isinstance(plane, ControlPlane)
    return plane


# Wrong from the start


@dataclass(frozen=True)
class Bad:
    """A kubeconfig of which something is wrong, and how that is told."""

    kubeconfig: str
    reason: str
    words: str


Case = Callable[[Lab, Path], AbstractAsyncContextManager[Bad]]


@asynccontextmanager
async def expired_client(lab: Lab, _: Path) -> AsyncIterator[Bad]:
    plane = plane_of(lab, "south")
    pair = authority(plane, ago=LONG_AGO).client(WORKER)
    data = {
        "client-certificate-data": base64.b64encode(pair.certificate).decode(),
        "client-key-data": base64.b64encode(pair.key).decode(),
    }
    yield Bad(changed(lab.kubeconfig("south"), user=data), "Unauthorized", "Unauthorized")


@asynccontextmanager
async def expired_server(lab: Lab, folder: Path) -> AsyncIterator[Bad]:
    plane = plane_of(lab, "south")
    proof = authority(plane, ago=LONG_AGO).server(["localhost"], [LOOPBACK])
    async with impostor(folder, proof) as url:
        there = changed(lab.kubeconfig("south"), cluster={"server": url})
        yield Bad(there, "Untrusted", "expired")


@asynccontextmanager
async def other_authority(lab: Lab, folder: Path) -> AsyncIterator[Bad]:
    proof = Authority(SystemClock().now()).server(["localhost"], [LOOPBACK])
    async with impostor(folder, proof) as url:
        there = changed(lab.kubeconfig("south"), cluster={"server": url})
        yield Bad(there, "Untrusted", "not trusted")


@asynccontextmanager
async def no_such_host(lab: Lab, _: Path) -> AsyncIterator[Bad]:
    nowhere = changed(lab.kubeconfig("south"), cluster={"server": "https://nowhere.invalid"})
    yield Bad(nowhere, "Unreachable", "cannot be resolved")


def garbage(body: bytes, words: str) -> Case:
    @asynccontextmanager
    async def serving(lab: Lab, folder: Path) -> AsyncIterator[Bad]:
        plane = plane_of(lab, "south")
        proof = authority(plane).server(["localhost"], [LOOPBACK])
        async with impostor(folder, proof, body) as url:
            there = changed(lab.kubeconfig("south"), cluster={"server": url})
            yield Bad(there, "ServerFailure", words)

    return serving


@asynccontextmanager
async def nonsense(lab: Lab, _: Path) -> AsyncIterator[Bad]:
    yield Bad("{}", "BadKubeconfig", "current-context: not set")


@pytest.mark.parametrize(
    "case",
    [
        expired_client,
        expired_server,
        other_authority,
        no_such_host,
        garbage(b"<html>", "not JSON"),
        garbage(b"{}", "does not answer as a Kubernetes API server"),
        garbage(b"[]", "does not answer as a Kubernetes API server"),
        nonsense,
    ],
)
async def test_what_is_wrong_is_told_and_mends_while_another_worker_goes_on(
    lab: Lab, tmp_path: Path, case: Case
) -> None:
    world = lab.world
    await lab.add_worker("north")
    async with lab.dispatcher(), case(lab, tmp_path) as bad:
        await add_worker(world.hub, "south", bad.kubeconfig)

        worker = await lab.worker("south", tells(bad.reason))
        assert bad.words in condition(worker, "Connected")["message"]
        assert condition(worker, "Ready")["reason"] == bad.reason
        await world.run(job("a"), complete)
        await renew(lab, "south", lab.kubeconfig("south"))

        await lab.worker("south")


async def test_a_secret_that_is_missing_or_lacks_the_key_is_noticed_when_it_comes(
    lab: Lab,
) -> None:
    hub = lab.world.hub
    where = {"secret": {"namespace": SYSTEM, "name": "south"}}
    async with lab.standby():
        await hub.create(
            WORKERS, {"metadata": {"name": "south"}, "spec": {"kubeconfig": where}}
        )
        await lab.worker("south", tells("SecretNotFound"))

        other = secret("south", lab.kubeconfig("south"))
        await hub.create(SECRETS, {**other, "data": {"config": other["data"]["kubeconfig"]}})
        worker = await lab.worker("south", tells("BadKubeconfig"))
        assert "there is no such key" in condition(worker, "Connected")["message"]
        await replace_secret(lab, "south", other["data"])

        await lab.worker("south")


async def test_a_secret_that_we_may_not_read_is_told(lab: Lab) -> None:
    where = {"secret": {"namespace": "kube-system", "name": "south"}}
    worker = {"metadata": {"name": "south"}, "spec": {"kubeconfig": where}}
    async with lab.standby():
        await lab.world.hub.create(WORKERS, worker)

        await lab.worker("south", tells("SecretForbidden"))


@pytest.mark.timeout(40)
async def test_a_worker_on_which_we_have_no_right_to_jobs_is_ready_once_we_do(lab: Lab) -> None:
    world, south = lab.world, lab.world.workers["south"]
    somebody, roles = f"user-{world.namespace}", RESOURCES["ClusterRole"]
    rule = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]}
    await south.create(roles, {"metadata": {"name": somebody}, "rules": [rule]})
    async with lab.standby(), granted(south, somebody, user(somebody), somebody):
        await add_worker(world.hub, "south", lab.kubeconfig("south", somebody))
        worker = await lab.worker("south", tells("Forbidden"))
        assert "jobs" in condition(worker, "Connected")["message"]

        async with granted(south, "jobferry-worker", user(somebody), f"{somebody}-2"):
            await lab.worker("south")
            await world.run(job("a"), complete)
    await south.delete(roles, somebody)


# Wrong later


async def test_new_credentials_are_used_without_a_break(lab: Lab) -> None:
    world, south, somebody = lab.world, lab.world.workers["south"], "somebody-new"
    await lab.add_worker("south")
    async with (
        lab.dispatcher(),
        granted(south, "jobferry-worker", user(somebody), world.namespace),
    ):
        await world.run(job("a", seconds=FOREVER), runs(1))
        before, mirror = await lab.worker("south"), await world.mirror("a")

        await renew(lab, "south", lab.kubeconfig("south", somebody))
        # As soon as the new ones are known to be good, new requests are made with them.
        while "create" not in {entry["verb"] for entry in audited(lab, somebody)}:
            name = f"b-{len(audited(lab, somebody))}"
            await world.run(job(name), complete)
            await world.delete(name)

        await world.finish_pod("south", "a")
        await world.until("a", complete)
        after = await lab.worker("south")
        assert condition(after, "Connected") == condition(before, "Connected")
        assert (await world.mirror("a"))["metadata"]["uid"] == mirror["metadata"]["uid"]


def audited(lab: Lab, somebody: str) -> list[Obj]:
    return lab.fleet.audited(lab.clusters["south"], somebody)


async def test_new_credentials_that_are_no_good_are_told_and_the_old_ones_stay_in_use(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_worker("south")
    async with lab.dispatcher():
        await renew(lab, "south", "{}")
        worker = await lab.worker("south", is_connected_but("RenewalFailed"))
        assert "current-context: not set" in condition(worker, "Connected")["message"]
        await renew(lab, "south", lab.kubeconfig("south", "nobody"))
        await lab.worker(
            "south", lambda obj: "forbidden" in condition(obj, "Connected")["message"]
        )

        await world.run(job("a"), complete)

        await renew(lab, "south", lab.kubeconfig("south"))
        await lab.worker("south", is_connected_but("Connected"))


@pytest.mark.timeout(60)
async def test_a_token_that_is_revoked_is_told_as_soon_as_it_is_used_and_replaced(
    lab: Lab,
) -> None:
    world, south = lab.world, lab.world.workers["south"]
    async with (
        lab.standby(),
        granted(south, "jobferry-worker", account(lab, "a"), world.namespace),
    ):
        await add_worker(world.hub, "south", await with_token(lab, "a"))
        await world.run(job("a", seconds=FOREVER), runs(1))
        mirror = await world.mirror("a")

        await south.delete(RESOURCES["ServiceAccount"], "a", world.namespace)
        # The server believes a token that it has seen for another ten seconds.
        while not lost(await lab.worker("south", is_there)):
            await world.edit("a", {"metadata": {"labels": {"tick": token_hex(4)}}})
            await sleep(world.hub.clock, 1)
        await lab.worker("south", tells("Unauthorized"))

        async with granted(south, "jobferry-worker", account(lab, "b"), f"{world.namespace}-b"):
            await renew(lab, "south", await with_token(lab, "b"))
            await lab.worker("south")
        assert (await world.mirror("a"))["metadata"]["uid"] == mirror["metadata"]["uid"]


def account(lab: Lab, name: str) -> Obj:
    return {"kind": "ServiceAccount", "name": name, "namespace": lab.world.namespace}


async def with_token(lab: Lab, name: str) -> str:
    """Make a service account; return a kubeconfig with a token of it."""
    south, namespace, kind = (
        lab.world.workers["south"],
        lab.world.namespace,
        RESOURCES["ServiceAccount"],
    )
    await south.create(kind, {"metadata": {"name": name, "namespace": namespace}})
    answer = await south.create(
        kind, {"spec": {}}, namespace=namespace, name=name, subresource="token"
    )
    return changed(lab.kubeconfig("south"), user={"token": answer["status"]["token"]})


@pytest.mark.timeout(60)
async def test_a_worker_whose_api_server_is_killed_is_back_when_it_is(lab: Lab) -> None:
    world = lab.world
    queue = await world.queue("any")
    extra_plane = ControlPlane(version=HUB_VERSION, controllers=JOB_CONTROLLERS)
    async with extra_plane as plane, lab.connect(plane) as extra:
        await prepare(extra)
        await add_worker(
            world.hub, "extra", plane.kubeconfig(WORKER), namespaces={"create": True}
        )
        async with (
            granted(extra, "jobferry-worker-namespaces", user(WORKER), "namespaces"),
            lab.dispatcher(),
        ):
            await world.submit(job("a", queue=queue))
            await world.where("a")
            plane.kill()
            await lab.worker("extra", tells("Unreachable"))

            plane.restart()

            worker = await lab.worker("extra")
            assert "lostSince" not in worker["status"]
            assert attempt(await world.until("a", holds("Placed"))) == 1


async def test_a_kubeconfig_file_is_read_again_when_it_leads_nowhere(
    lab: Lab, tmp_path: Path
) -> None:
    world, file = lab.world, tmp_path / "south"
    file.write_text(lab.kubeconfig("south"))
    spec = {"kubeconfig": {"file": str(file)}}
    await world.hub.create(WORKERS, {"metadata": {"name": "south"}, "spec": spec})
    async with lab.dispatcher(kubeconfig_folder=tmp_path):
        await world.run(job("a", seconds=FOREVER), runs(1))

        file.write_text(lab.fleet.planes[lab.clusters["south"]].kubeconfig(WORKER))
        await lab.proxies["south"].cut()
        await world.finish_pod("south", "a")

        assert attempt(await world.until("a", complete)) == 1


@pytest.mark.timeout(40)
async def test_without_the_right_to_watch_secrets_a_new_kubeconfig_is_found_in_the_end(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    world = lab.world
    name, roles = "jobferry-dispatcher", RESOURCES["Role"]
    role = await world.hub.get(roles, name, SYSTEM)
    rules = [
        {**rule, "verbs": ["get"]} if "secrets" in rule["resources"] else rule
        for rule in role["rules"]
    ]
    await world.hub.patch(roles, name, {"rules": rules}, namespace=SYSTEM)
    try:
        async with lab.standby():
            await add_worker(world.hub, "south", "{}")
            await lab.worker("south", tells("BadKubeconfig"))

            await renew(lab, "south", lab.kubeconfig("south"))

            await lab.worker("south")
        assert "Secrets cannot be watched" in caplog.text
    finally:
        await world.hub.patch(roles, name, {"rules": role["rules"]}, namespace=SYSTEM)


async def test_work_of_a_worker_that_is_another_cluster_now_begins_anew_there(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("south")
    async with lab.dispatcher():
        await world.run(job("a", seconds=FOREVER), runs(1))
        mirror = await world.on("south", "a")

        await renew(lab, "south", lab.kubeconfig("north"))

        await world.on("north", "a", runs(1))
        assert await world.where("a", attempt=2) == "south"
        # What is on the cluster of before is lost, not deleted.
        assert (await world.on("south", "a"))["metadata"]["uid"] == mirror["metadata"]["uid"]
