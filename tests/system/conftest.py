"""The fleet, and a world in it for each test."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from secrets import token_hex

import pytest

from jobferry import log
from jobferry.kube.resources import NAMESPACES
from tests.system import audit
from tests.system.fleet import IS_CHOSEN, IS_REAL, NAMES, Fleet
from tests.system.lab import Lab
from tests.system.one_process import one_process
from tests.system.processes import Processes
from tests.system.terminal import Terminal
from tests.system.world import World


@pytest.fixture(scope="session", autouse=True)
def facts(request: pytest.FixtureRequest) -> None:
    """Show with a test that failed what the dispatcher did, and why."""
    logging.getLogger("jobferry").setLevel(logging.INFO)
    plugin = request.config.pluginmanager.get_plugin("logging-plugin")
    assert plugin is not None
    plugin.report_handler.setFormatter(log.HumanFormatter())


@pytest.fixture(scope="session")
def running_fleet() -> Iterator[Fleet]:
    """Three clusters and a dispatcher, for the whole session."""
    fleet = Processes()
    fleet.start()
    try:
        yield fleet
        audit.check(fleet)
    finally:
        fleet.stop()


@pytest.fixture
async def fleet(request: pytest.FixtureRequest) -> AsyncIterator[Fleet]:
    """The fleet, which still runs when the test is over."""
    if _needs_processes(request.node):
        shared: Fleet = request.getfixturevalue("running_fleet")
        yield shared
        shared.check()
    else:
        async with one_process() as own:
            yield own
            audit.check(own)


def _needs_processes(item: pytest.Item) -> bool:
    """Tell whether the clusters must be processes, real ones or localkube."""
    marker = item.get_closest_marker("fleet")
    if marker is not None and "one process" in marker.args:
        return False
    return IS_REAL or IS_CHOSEN or marker is None or "processes" in marker.args


@pytest.fixture
async def world(fleet: Fleet) -> AsyncIterator[World]:
    """The hub and the workers of the shared dispatcher."""
    async with AsyncExitStack() as stack:
        yield await _world(stack, fleet, hub="hub", workers={"east": "east", "west": "west"})


@pytest.fixture
async def lab(fleet: Fleet) -> AsyncIterator[Lab]:
    """A hub without a dispatcher, and two workers that can be cut off from it.

    They are the same clusters with the roles turned round, so that the shared dispatcher takes no notice.
    """
    async with AsyncExitStack() as stack:
        roles = {"north": "east", "south": "hub"}
        world = await _world(stack, fleet, hub="west", workers=roles)
        lab = await stack.enter_async_context(Lab(fleet, world, roles))
        yield lab


async def _world(
    stack: AsyncExitStack, fleet: Fleet, *, hub: str, workers: dict[str, str]
) -> World:
    namespace = f"test-{token_hex(5)}"
    clients = {name: await stack.enter_async_context(fleet.client(name)) for name in NAMES}
    for client in clients.values():
        await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        if fleet.is_shared:
            stack.push_async_callback(client.delete, NAMESPACES, namespace)
    world = World(
        clients[hub], {name: clients[cluster] for name, cluster in workers.items()}, namespace
    )
    if fleet.is_shared:
        stack.push_async_callback(world.clear)
    return world


@pytest.fixture
def terminal(fleet: Fleet, tmp_path: Path) -> Terminal:
    """Somebody who may do everything on the hub and its workers."""
    return Terminal(tmp_path, {name: fleet.planes[name].kubeconfig() for name in NAMES})
