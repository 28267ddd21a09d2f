"""Idle is silent: where nothing happens, nothing is sent but signs of life."""

from jobferry.clock import Seconds, sleep
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.testing.simulation import truth
from jobferry.testing.simulation.clusters import SimulatedCluster
from jobferry.testing.simulation.network import Exchange
from jobferry.testing.simulation.problems import Problem
from jobferry.testing.simulation.world import World

REST: Seconds = 12.0
"""What was under way has so long to come to its end: counts on Workers are written every ten seconds."""

HANGS: Seconds = 35.0
"""So long after all trouble a request may still hang that nobody will answer: it is given up after 30 s, and then tried again."""

LISTEN: Seconds = 15.0


async def listen(world: World) -> list[Problem]:
    """Listen for a while, and return what dispatchers sent that nothing called for."""
    found: list[Problem] = []
    gone: set[str] = set()

    def note(exchange: Exchange) -> None:
        if not _is_sign_of_life(exchange) and not any(each in exchange.path for each in gone):
            found.append(Problem("idle_is_silent", f"{exchange}"))

    def note_change(cluster: SimulatedCluster, change: Change) -> None:
        # Jobs with a time to live go also when all is idle; that is seen to, and counted on their Workers.
        if cluster.name == "hub" and change.entry.key.startswith(truth.JOBS_AT):
            gone.update((change.entry.key.rpartition("/")[2], "/workers/"))

    await _dead_connections_are_noticed(world)
    world.followers.append(note_change)
    await sleep(world.clock, REST)
    world.network.on_request.append(note)
    await sleep(world.clock, LISTEN)
    world.network.on_request.remove(note)
    world.followers.remove(note_change)
    return found


async def _dead_connections_are_noticed(world: World) -> None:
    """Wait until nobody asks or watches any more by a connection of which nothing will be heard: that takes its time."""
    await sleep(world.clock, world.calm_since + HANGS - world.clock.monotonic())
    while any(stream.is_stalled for stream in world.network.streams):
        await sleep(world.clock, 1.0)


def _is_sign_of_life(exchange: Exchange) -> bool:
    """Tell what is sent however idle it is: heartbeats, Leases, and watches, which end now and then.

    After each watch of CRDs that begins anew it is looked for some seconds what is served.
    """
    return (
        exchange.is_watch
        or exchange.path in ("/apis", "/apis/batch/v1", "/apis/jobset.x-k8s.io/v1alpha2")
        or "/leases" in exchange.path
        or exchange.path.endswith("/namespaces/kube-system")
    )
