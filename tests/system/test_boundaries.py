"""Which namespaces go where: by the dispatcher's settings, by a Worker's wish, and by the rights that we have there."""

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from jobferry.dispatch import manifests
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.objects import Obj
from jobferry.settings import Namespaces
from jobferry.workers.resource import WORKERS
from tests.system.fleet import RESOURCES, SYSTEM, add_worker
from tests.system.jobs import (
    FOREVER,
    NORTH_FIRST,
    Holds,
    attempt,
    complete,
    condition,
    is_there,
    job,
    placed,
    runs,
    tells,
)
from tests.system.lab import Lab
from tests.system.world import World, named, until_none

pytestmark = pytest.mark.fleet

EXEC = "client.authentication.k8s.io/v1"
NOT_ALLOWED = "NamespaceNotAllowed"
NOT_WATCHED = "NamespaceNotWatched"


def connected_as(reason: str) -> Holds:
    """Hold if a Worker is connected and says so in that word."""
    return lambda obj: condition(obj, "Connected").get("reason") == reason


# By settings


@pytest.mark.parametrize("namespace", ["kube-system", SYSTEM])
async def test_what_is_the_clusters_own_or_ours_stays_on_the_hub(
    world: World, namespace: str
) -> None:
    there, name = replace(world, namespace=namespace), f"stays-{world.namespace}"
    await there.submit(job(name))
    try:
        said = await there.event(name, NOT_ALLOWED)
        assert f"does not let namespace {namespace} leave the hub" in said
        assert not placed(await there.until(name, is_there))
    finally:
        await there.delete(name)


async def test_a_namespace_that_is_denied_later_keeps_what_runs_and_gets_nothing_new(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    async with lab.dispatcher():
        await world.run(job("a", seconds=FOREVER, parallelism=1, completions=2), runs(1))
        where, mirror = await world.where("a"), await world.mirror("a")

    async with lab.dispatcher(namespaces=Namespaces(deny=("test-*",))):
        await world.submit(job("b"))
        await world.event("b", NOT_ALLOWED)
        await world.edit("a", {"spec": {"parallelism": 2}})
        await world.until("a", runs(2))
        assert (await world.mirror("a"))["metadata"]["uid"] == mirror["metadata"]["uid"]
        for _ in range(2):
            await world.finish_pod(where, "a")

        assert attempt(await world.until("a", complete)) == 1
        assert not placed(await world.until("b", is_there))

    async with lab.dispatcher(namespaces=Namespaces(allow=("test-*",))):
        await world.until("b", complete)


# By the wish of a Worker


async def test_a_worker_says_which_namespaces_it_takes(lab: Lab) -> None:
    world = lab.world
    queue = await world.queue("north-first", **NORTH_FIRST)
    await lab.add_worker("north", namespaces={"allow": ["other", "team-*"]})
    await lab.add_worker("south", namespaces={"deny": ["team-*"]})
    async with lab.dispatcher():
        await world.run(job("a", queue=queue), complete)
        assert await world.where("a") == "south"

        await lab.edit_worker("south", namespaces={"deny": ["*"]})
        await lab.worker("south", lambda obj: obj["spec"]["namespaces"]["deny"] == ["*"])
        await world.submit(job("b", queue=queue))
        said = await world.event("b", NOT_ALLOWED, "south")
        assert f"north: namespace {world.namespace} may not go there" in said

        await lab.edit_worker("north", namespaces={"allow": ["test-*"]})
        await world.until("b", complete)
        assert await world.where("b") == "north"


# By the Queue


async def test_a_queue_that_lists_namespaces_takes_others_only_if_it_says_so(
    world: World,
) -> None:
    queue = await world.queue("closed", namespaces=["another"])
    await world.submit(job("a", queue=queue))
    said = await world.event("a", "NoQueue")
    assert said == f"Queue {queue} is not for namespace {world.namespace}"

    await world.hub.patch(RESOURCES["Queue"], queue, {"spec": {"allowOtherNamespaces": True}})

    await world.until("a", complete)


# By rights


class Guest:
    """Somebody who has rights on a worker in some namespaces only, as the manifests give them."""

    def __init__(self, client: Client, name: str) -> None:
        self.user = f"system:serviceaccount:{SYSTEM}:{name}"
        self._client = client
        self._name = name

    async def grant(self, *namespaces: str) -> None:
        for obj in self._objects(*namespaces):
            await self._client.create(RESOURCES[obj["kind"]], obj)

    async def withdraw(self, namespace: str) -> None:
        for kind in ("RoleBinding", "Role"):
            await self._client.delete(RESOURCES[kind], self._name, namespace)

    async def grant_again(self, namespace: str) -> None:
        for obj in self._objects(namespace):
            if obj["metadata"].get("namespace") == namespace:
                await self._client.create(RESOURCES[obj["kind"]], obj)

    async def remove(self) -> None:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            await self._client.delete(RESOURCES[kind], self._name)
        for kind in ("Secret", "ServiceAccount"):
            await self._client.delete(RESOURCES[kind], self._name, SYSTEM)

    def _objects(self, *namespaces: str) -> list[Obj]:
        text = json.dumps(manifests.objects("worker", namespaces))
        made: list[Obj] = json.loads(text.replace("jobferry-worker", self._name))
        return [obj for obj in made if obj["kind"] != "Namespace"]


@asynccontextmanager
async def guest_in(lab: Lab, worker: str, *namespaces: str) -> AsyncIterator[Guest]:
    """Have somebody with rights in these namespaces alone."""
    guest = Guest(lab.world.workers[worker], f"guest-{lab.world.namespace}")
    await guest.grant(*namespaces)
    yield guest
    await guest.remove()


@asynccontextmanager
async def another_namespace(lab: Lab) -> AsyncIterator[World]:
    """Have the same world in a second namespace."""
    there = replace(lab.world, namespace=f"{lab.world.namespace}-2")
    clients = (there.hub, *there.workers.values())
    for client in clients:
        await client.create(NAMESPACES, {"metadata": {"name": there.namespace}})
    yield there
    await there.clear()
    for client in clients:
        await client.delete(NAMESPACES, there.namespace)


async def add_guest(lab: Lab, name: str, guest: Guest, *only: str) -> None:
    kubeconfig = lab.kubeconfig(name, guest.user)
    await add_worker(lab.world.hub, name, kubeconfig, namespaces={"only": list(only)})


async def test_a_worker_with_rights_in_some_namespaces_is_watched_there_only(lab: Lab) -> None:
    world = lab.world
    async with (
        another_namespace(lab) as there,
        guest_in(lab, "south", world.namespace) as guest,
        lab.standby(),
    ):
        await add_guest(lab, "south", guest, world.namespace)
        await lab.worker("south", connected_as("Connected"))
        await world.run(job("a"), complete)
        await there.submit(job("a"))
        said = await there.event("a", NOT_ALLOWED)
        assert f"south: namespace {there.namespace} is not watched there" in said

        asked = lab.fleet.audited(lab.clusters["south"], guest.user)
        jobs = [each for each in asked if each.get("objectRef", {}).get("resource") == "jobs"]
        assert {each["objectRef"].get("namespace") for each in jobs} == {world.namespace}
        assert {each["responseStatus"]["code"] for each in asked} <= {200, 201}

        await guest.grant_again(there.namespace)
        only = [world.namespace, there.namespace]
        await lab.edit_worker("south", namespaces={"only": only})
        await there.until("a", complete)

        await world.hub.delete(WORKERS, "south")
        await until_none(world.hub, named(WORKERS, "south"))
        for each in (world, there):
            await until_none(each.workers["south"], named(JOBS, "a", each.namespace))


@pytest.mark.timeout(60)
async def test_rights_that_are_withdrawn_in_one_namespace_harm_no_other(lab: Lab) -> None:
    world = lab.world
    async with (
        another_namespace(lab) as there,
        guest_in(lab, "north", world.namespace, there.namespace) as guest,
    ):
        await add_guest(lab, "north", guest, world.namespace, there.namespace)
        await lab.add_worker("south")
        queue = await world.queue("north-first", **NORTH_FIRST)
        async with lab.dispatcher():
            for each in (world, there):
                await each.run(job("a", queue=queue, seconds=FOREVER), runs(1))
            mirror = await there.on("north", "a")

            await guest.withdraw(there.namespace)
            lab.proxies["north"].drop()
            worker = await lab.worker("north", connected_as("NamespacesUnseen"))
            assert there.namespace in condition(worker, "Connected")["message"]
            await there.event("a", NOT_WATCHED)
            await there.run(job("b", queue=queue), complete)
            assert await there.where("b") == "south"
            await world.finish_pod("north", "a")
            assert attempt(await world.until("a", complete)) == 1
            await there.finish_pod("north", "a")

            await guest.grant_again(there.namespace)
            assert attempt(await there.until("a", complete)) == 1
            assert (await there.on("north", "a"))["metadata"]["uid"] == mirror["metadata"][
                "uid"
            ]
            await lab.worker("north", connected_as("Connected"))


async def test_what_runs_in_a_namespace_that_is_watched_no_more_is_not_run_again(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        mirror = await world.on("north", "a")

        await lab.edit_worker("north", namespaces={"only": ["default"]})
        await world.event("a", NOT_WATCHED)
        await world.hub.delete(WORKERS, "north")
        await lab.worker(
            "north",
            lambda obj: "1 workloads in namespaces" in condition(obj, "Ready")["message"],
        )
        assert await world.pods("a") == {"north": 1}

        await lab.edit_worker("north", namespaces=None)
        # Now that it is seen again it can leave.
        await world.mirror("a", runs(1), attempt=2)
        await until_none(world.hub, named(WORKERS, "north"))
        assert (await world.mirror("a", attempt=2))["metadata"]["uid"] != mirror["metadata"][
            "uid"
        ]
        assert await world.pods("a") == {"south": 1}


# By the command lines that we run


def credential(kubeconfig: str) -> Obj:
    """Return what an exec plugin would print who gives the credentials of a kubeconfig."""
    [user] = yaml.safe_load(kubeconfig)["users"]
    given = user["user"]
    if "token" in given:
        status = {"token": given["token"]}
    else:
        names = {
            "clientCertificateData": "client-certificate-data",
            "clientKeyData": "client-key-data",
        }
        status = {to: base64.b64decode(given[name]).decode() for to, name in names.items()}
    return {"kind": "ExecCredential", "apiVersion": EXEC, "status": status}


def asking(kubeconfig: str, *args: str, **env: str) -> str:
    """Return a kubeconfig that has a plugin asked instead."""
    config = yaml.safe_load(kubeconfig)
    variables = [{"name": name, "value": value} for name, value in env.items()]
    plugin = {"apiVersion": EXEC, "command": "cat", "args": args, "env": variables}
    config["users"][0]["user"] = {"exec": {**plugin, "interactiveMode": "Never"}}
    return json.dumps(config)


@pytest.mark.fleet("processes")
async def test_an_exec_plugin_is_run_with_nothing_but_what_is_allowed(
    lab: Lab, tmp_path: Path
) -> None:
    file, usual = tmp_path / "credential.json", lab.kubeconfig("south")
    file.write_text(json.dumps(credential(usual)))
    await add_worker(lab.world.hub, "south", asking(usual, str(file)))
    async with lab.dispatcher(exec_plugins=(f"cat {file}", f"LANG=C cat -u {file}")):
        await lab.world.run(job("a"), complete)

        others = [
            asking(usual, str(file), "/etc/passwd"),
            asking(usual, "-u", str(file), ENV="x"),
        ]
        for number, other in enumerate(others):
            await add_worker(lab.world.hub, f"other-{number}", other)
            worker = await lab.worker(f"other-{number}", tells("BadKubeconfig"))
            assert "refused: 'cat' is allowed" in condition(worker, "Connected")["message"]
            assert "setting execPlugins" in condition(worker, "Connected")["message"]
