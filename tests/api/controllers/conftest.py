"""Where controllers run: real ones or ours, on a real API server or on localkube."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from secrets import token_hex

import pytest

from jobferry.clock import SystemClock
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import NAMESPACES, NODES
from jobferry.localkube.controllers import manager
from jobferry.testing import assets
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from jobferry.testing.pods import node
from jobferry.testing.wait import until
from tests.api.admission_beside import FreshControlPlane
from tests.api.controllers.things import ACCOUNTS, is_there

CONTROLLERS = (
    *JOB_CONTROLLERS,
    "cronjob-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "node-lifecycle-controller",
    "taint-eviction-controller",
    "pod-garbage-collector-controller",
)
THEIRS, OURS_THERE, OURS = "kubernetes", "ours-on-kubernetes", "ours-on-localkube"


@pytest.fixture(
    scope="session",
    params=[
        pytest.param(THEIRS, marks=pytest.mark.kube),
        pytest.param(OURS_THERE, marks=pytest.mark.kube),
        OURS,
    ],
)
def world(request: pytest.FixtureRequest) -> Iterator[tuple[str, ControlPlane]]:
    """A control plane with all of admission; with its own controllers if they are theirs."""
    plane = FreshControlPlane(
        version=assets.LOCALKUBE if request.param == OURS else assets.CURRENT,
        controllers=CONTROLLERS if request.param == THEIRS else (),
        scheduler=request.param == THEIRS,
    ).start()
    yield request.param, plane
    plane.stop()


@pytest.fixture
async def client(world: tuple[str, ControlPlane]) -> AsyncIterator[Client]:
    """Somebody who may do everything, where controllers run."""
    whose, plane = world
    async with AsyncExitStack() as stack:
        client = connect(plane.access(), name=whose, clock=SystemClock())
        await stack.enter_async_context(client)
        if whose != THEIRS:
            ca = (plane.folder / "ca.crt").read_text()
            await stack.enter_async_context(manager.running(client, root_ca=ca))
        yield client


@pytest.fixture
async def place(client: Client) -> str:
    """A new namespace, with the account that its pods run as."""
    name = f"test-{token_hex(4)}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    await until(client, ACCOUNTS, "default", name, is_there)
    return name


@pytest.fixture
async def machine(client: Client) -> AsyncIterator[str]:
    """A node with a single cpu."""
    name = f"node-{token_hex(4)}"
    capacity = {"cpu": "1", "memory": "1Gi", "pods": "10"}
    made = node(name, capacity, client.clock.now())
    made["metadata"].setdefault("labels", {})["only"] = name
    await client.create(NODES, made)
    await until(client, NODES, name, None, lambda found: not found["spec"].get("taints"))
    yield name
    await client.delete(NODES, name)
