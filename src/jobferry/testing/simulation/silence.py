"""Idle is silent: where nothing happens, nothing is sent but signs of life."""

from jobferry.clock import Seconds, sleep
from jobferry.testing.simulation.network import Exchange
from jobferry.testing.simulation.world import World

REST: Seconds = 6.0
"""What was under way has so long to come to its end: counts on Workers are written every few seconds."""

LISTEN: Seconds = 15.0


async def listen(world: World) -> list[str]:
    """Listen for a while, and return what dispatchers sent that nothing called for."""
    await sleep(world.clock, REST)
    found: list[str] = []

    def note(exchange: Exchange) -> None:
        if not _is_sign_of_life(exchange):
            found.append(f"all is idle, and yet: {exchange}")

    world.network.on_request.append(note)
    await sleep(world.clock, LISTEN)
    world.network.on_request.remove(note)
    return found


def _is_sign_of_life(exchange: Exchange) -> bool:
    """Tell what is sent however idle it is: heartbeats, Leases, and watches, which end now and then."""
    return (
        exchange.is_watch
        or "/leases" in exchange.path
        or exchange.path.endswith("/namespaces/kube-system")
    )
