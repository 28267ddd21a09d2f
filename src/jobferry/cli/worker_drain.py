"""`jobferry workers drain`: gives a Worker no new work; `undrain` gives it work again."""

from collections.abc import Sequence

from jobferry.cli import options, render
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.objects import Obj
from jobferry.workers.resource import WORKERS

_ABOUT = """Gives a Worker no new work. What runs there goes on, or is moved to other Workers with --move-away: it is
stopped there first, and what it has done is not done again. `jobferry workers undrain` ends it."""

NO_NEW_WORK = "NoNewWork"
MOVE_AWAY = "MoveAway"


def main(arguments: Sequence[str]) -> None:
    """Drain a Worker."""
    parser = Parser("jobferry workers drain", "NAME [option ...]", _ABOUT)
    completes(parser.add_argument("name", metavar="NAME", help="the Worker"), "workers")
    parser.add_argument(
        "--move-away", action="store_true", help="stop what runs there, and run it elsewhere"
    )
    options.add_where(parser, namespaced=False)
    given = parser.parse_args(arguments)
    drain = MOVE_AWAY if given.move_away else NO_NEW_WORK

    async def change(hub: Hub) -> None:
        render.text(f"{sentence(await set_drain(hub, given.name, drain), drain)}\n")

    run(options.where(given), change)


async def set_drain(hub: Hub, name: str, drain: str) -> Obj:
    """Write what a Worker is to get; return it as it was."""
    worker = await hub.read(WORKERS, name)
    await hub.client.patch(WORKERS, name, {"spec": {"drain": drain}})
    return worker


def sentence(worker: Obj, drain: str) -> str:
    """Say what becomes of the work of a Worker."""
    name, active = worker["metadata"]["name"], (worker.get("status") or {}).get("active") or 0
    if drain == MOVE_AWAY:
        return f"Worker {name} is drained: its {active} unfinished Jobs move to other Workers."
    return (
        f"Worker {name} is drained: its {active} unfinished Jobs go on, and nothing new comes."
    )
