"""Workers that will not have a Job: it goes elsewhere, and the reason is told on the hub."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from secrets import token_hex
from typing import Any

import pytest

from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing import assets
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from jobferry.testing.fake_kubelet import fake_kubelet
from tests.system.fleet import RESOURCES, WORKER, WORKER_VERSION, add_worker, prepare
from tests.system.jobs import FOREVER, attempt, complete, condition, failed, is_there, job, runs
from tests.system.lab import Lab
from tests.system.world import World, named, pods_of, until_none, until_one

pytestmark = pytest.mark.fleet

WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
ROLES, BINDINGS = RESOURCES["ClusterRole"], RESOURCES["ClusterRoleBinding"]
EAST_FIRST: dict[str, Any] = {"placement": "Ordered", "workers": {"order": ["east", "west"]}}
SOUTH_FIRST: dict[str, Any] = {"placement": "Ordered", "workers": {"order": ["south", "north"]}}


@pytest.fixture
async def elsewhere(world: World) -> AsyncIterator[World]:
    """A namespace that the worker east does not have."""
    other = replace(world, namespace=f"{world.namespace}-west")
    homes = (world.hub, world.workers["west"])
    for client in homes:
        await client.create(NAMESPACES, {"metadata": {"name": other.namespace}})
    yield other
    await other.clear()
    for client in homes:
        await client.delete(NAMESPACES, other.namespace)


async def test_a_job_goes_where_its_namespace_is(elsewhere: World) -> None:
    queue = await elsewhere.queue("east-first", **EAST_FIRST)

    await elsewhere.run(job("a", queue=queue), complete)

    assert await elsewhere.where("a") == "west"
    refusal = f"Worker east refused it: namespace {elsewhere.namespace} is missing"
    assert refusal in await elsewhere.event("a", "Refused")


async def test_a_job_whose_namespace_no_worker_has_waits(elsewhere: World) -> None:
    await elsewhere.submit(job("a", queue="east"))

    assert "is missing" in await elsewhere.event("a", "Refused")
    assert not complete(await elsewhere.until("a", is_there))


async def test_a_namespace_is_made_where_that_is_wished_and_allowed(lab: Lab) -> None:
    home = replace(lab.world, namespace=f"made-{token_hex(4)}")
    south = home.workers["south"]
    binding = f"namespaces-{home.namespace}"
    await south.create(BINDINGS, _binding(binding, "jobferry-worker-namespaces", WORKER))
    await home.hub.create(NAMESPACES, {"metadata": {"name": home.namespace}})
    await lab.add_worker("south", namespaces={"create": True})
    try:
        async with lab.dispatcher():
            await home.run(job("a"), complete)
        await until_one(south, named(NAMESPACES, home.namespace), is_there)
    finally:
        await south.delete(BINDINGS, binding)
        await home.hub.delete(NAMESPACES, home.namespace)
        await south.delete(NAMESPACES, home.namespace)


async def test_a_namespace_that_may_not_be_made_is_reported(lab: Lab) -> None:
    home = replace(lab.world, namespace=f"made-{token_hex(4)}")
    await home.hub.create(NAMESPACES, {"metadata": {"name": home.namespace}})
    await lab.add_worker("south", namespaces={"create": True})
    try:
        async with lab.dispatcher():
            await home.submit(job("a"))
            refusal = await home.event("a", "Refused")
        assert "cannot create resource" in refusal
    finally:
        await home.hub.delete(NAMESPACES, home.namespace)


async def test_a_job_over_the_quota_of_a_worker_goes_elsewhere(world: World) -> None:
    queue = await world.queue("east-first", **EAST_FIRST)
    east, none = world.workers["east"], {"count/jobs.batch": "0"}
    quota = {"metadata": {"name": "none"}, "spec": {"hard": none}}
    await east.create(QUOTAS, quota, namespace=world.namespace)
    # No controller for quotas runs here: we do its part.
    status = {"status": {"hard": none, "used": none}}
    await east.patch(QUOTAS, "none", status, namespace=world.namespace, subresource="status")

    await world.run(job("a", queue=queue), complete)

    assert await world.where("a") == "west"
    assert "exceeded quota" in await world.event("a", "Refused")


@pytest.mark.skipif(
    WORKER_VERSION == assets.LOCALKUBE, reason="localkube calls no webhooks yet"
)
async def test_a_job_goes_elsewhere_if_a_webhook_of_a_worker_fails(world: World) -> None:
    queue = await world.queue("east-first", **EAST_FIRST)
    east, name = world.workers["east"], f"broken-{world.namespace}"
    await east.create(WEBHOOKS, _webhook(name, world.namespace))
    try:
        # The API server takes a moment to heed it.
        await until_refused(east, world.namespace)
        await world.run(job("a", queue=queue), complete)

        assert await world.where("a") == "west"
        assert "failed calling webhook" in await world.event("a", "Refused")
    finally:
        await east.delete(WEBHOOKS, name)


async def until_refused(worker: Client, namespace: str) -> None:
    """Wait until no Job can be created any more."""
    probe = job("probe", manager=None)
    while True:
        try:
            await worker.create(JOBS, probe, namespace=namespace, dry_run=True)
        except errors.ServerFailure:
            return


def _webhook(name: str, namespace: str) -> Obj:
    """Return a webhook for the Jobs of a namespace, where nobody answers."""
    jobs = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}
    return {
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "broken.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": namespace}
                },
                "rules": [{**jobs, "operations": ["CREATE"]}],
            }
        ],
    }


async def test_a_job_goes_elsewhere_if_we_may_not_create_it_there(lab: Lab) -> None:
    world = lab.world
    south, reader = world.workers["south"], f"reader-{world.namespace}"
    await south.create(ROLES, _reading(reader))
    await south.create(BINDINGS, _binding(reader, reader, reader))
    await lab.add_worker("north")
    await add_worker(world.hub, "south", lab.kubeconfig("south", reader))
    queue = await world.queue("south-first", **SOUTH_FIRST)
    try:
        async with lab.dispatcher():
            await world.run(job("a", queue=queue), complete)

            assert await world.where("a") == "north"
            assert "cannot create resource" in await world.event("a", "Refused")
    finally:
        await south.delete(BINDINGS, reader)
        await south.delete(ROLES, reader)


def unschedulable(name: str, **facts: Any) -> Obj:
    """Return a Job whose pods wait for somebody to let them be scheduled."""
    made = job(name, **facts)
    made["spec"]["template"]["spec"]["schedulingGates"] = [{"name": "example.com/never"}]
    return made


async def test_the_author_is_told_of_pods_that_do_not_start(world: World) -> None:
    queue = await world.queue("impatient", onNotStarted={"afterSeconds": 1})

    await world.submit(unschedulable("a", queue=queue))

    told = await world.event("a", "NotStarted")
    assert "None of its pods became ready" in told
    assert attempt(await world.until("a", is_there)) == 1


async def test_a_job_whose_pods_do_not_start_is_tried_elsewhere(world: World) -> None:
    moves = {"action": "Move", "afterSeconds": 1}
    queue = await world.queue("restless", onNotStarted=moves)
    await world.submit(unschedulable("a", queue=queue))
    first = await world.where("a")

    second = await world.where("a", attempt=2)

    assert second != first
    assert f"nothing of it ran on worker {first}" in await world.event(
        "a", "Placed", "attempt 2"
    )
    await until_none(world.workers[first], pods_of("a", world.namespace))


async def test_the_author_is_told_of_a_change_that_a_worker_refuses(lab: Lab) -> None:
    world = lab.world
    south, user = world.workers["south"], f"no-patch-{world.namespace}"
    await south.create(ROLES, _reading(user, "create", "delete"))
    await south.create(BINDINGS, _binding(user, user, user))
    await add_worker(world.hub, "south", lab.kubeconfig("south", user))
    try:
        async with lab.dispatcher():
            await world.run(job("a", seconds=FOREVER, completions=2), runs(1))
            await world.edit("a", {"spec": {"parallelism": 2}})

            told = await world.event("a", "NotForwarded")
            assert told.startswith("Worker south refused the change")
            assert "cannot patch resource" in told
            assert runs(1)(await world.until("a", is_there))
    finally:
        await south.delete(BINDINGS, user)
        await south.delete(ROLES, user)


def _reading(name: str, *verbs: str) -> dict[str, Any]:
    jobs = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list", "watch", *verbs]}
    return {
        "metadata": {"name": name},
        "rules": [
            jobs,
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
        ],
    }


def _binding(name: str, role: str, user: str) -> dict[str, Any]:
    group = "rbac.authorization.k8s.io"
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }


@pytest.fixture(scope="session")
def old_plane() -> Iterator[ControlPlane]:
    """The oldest cluster that may be a worker."""
    plane = ControlPlane(version=assets.OLDEST, controllers=JOB_CONTROLLERS).start()
    yield plane
    plane.stop()


@pytest.fixture
async def old_world(lab: Lab, old_plane: ControlPlane) -> AsyncIterator[World]:
    """The lab's hub with an old worker, which Queue old-first prefers, and a new one."""
    async with lab.connect(old_plane) as old:
        await prepare(old)
        await old.create(NAMESPACES, {"metadata": {"name": lab.world.namespace}})
        await add_worker(lab.world.hub, "old", old_plane.kubeconfig(WORKER))
        await lab.add_worker("south")
        async with fake_kubelet(old, bind=True), lab.dispatcher():
            world = replace(lab.world, workers={"old": old, **lab.world.workers})
            await world.queue("old", placement="Ordered", workers={"order": ["old", "south"]})
            yield world


@pytest.mark.kube(assets.OLDEST)
async def test_a_job_goes_elsewhere_if_a_worker_does_not_know_a_field(
    old_world: World,
) -> None:
    policy = {"rules": [{"succeededCount": 1}]}
    spec: dict[str, Any] = {"completionMode": "Indexed", "successPolicy": policy}
    queue = f"{old_world.namespace}-old"

    await old_world.run(job("a", queue=queue, completions=2, **spec), complete)

    assert await old_world.where("a") == "south"
    assert "successPolicy" in await old_world.event("a", "Refused")
    assert await old_world.pods("a") == {"south": 1}


@pytest.mark.kube(assets.OLDEST)
async def test_a_job_goes_elsewhere_if_a_worker_finds_it_invalid(old_world: World) -> None:
    modern = job("a", queue=f"{old_world.namespace}-old")
    container = modern["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "1:a", "value": "b"}]

    await old_world.run(modern, complete)

    assert await old_world.where("a") == "south"
    assert "1:a" in await old_world.event("a", "Refused")


@pytest.mark.kube(assets.OLDEST)
async def test_jobs_end_well_and_badly_on_an_old_worker(old_world: World) -> None:
    queue = f"{old_world.namespace}-old"

    good = await old_world.run(job("good", queue=queue, seconds=1), complete)
    bad = await old_world.run(job("bad", queue=queue, exit_code=1, backoffLimit=0), failed)

    assert await old_world.where("good") == await old_world.where("bad") == "old"
    assert condition(good, "SuccessCriteriaMet")["status"] == "True"
    assert condition(bad, "FailureTarget")["reason"] == "BackoffLimitExceeded"
