"""`jobferry workers drain`: gives a Worker no new work; `undrain` gives it work again."""

from collections.abc import Sequence

from jobferry.cli import options, render, worker_load
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.cli.worker_load import Load
from jobferry.objects import Obj, conditions
from jobferry.workers.resource import WORKERS

_ABOUT = """Gives a Worker no new work. What runs there goes on, or is moved to other Workers with --move-away: it is
stopped there first, and what it has done is not done again. `jobferry workers undrain` ends it."""

NO_NEW_WORK = "NoNewWork"
MOVE_AWAY = "MoveAway"
SILENT = "Silent"
"""Why a Worker is not Ready that is still connected, though it does not answer."""


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
        worker = await set_drain(hub, given.name, drain)
        render.line(sentence(worker, drain, await worker_load.read(hub, worker)))

    run(options.where(given), change)


async def set_drain(hub: Hub, name: str, drain: str) -> Obj:
    """Write what a Worker is to get; return it as it was."""
    worker = await hub.read(WORKERS, name)
    await hub.client.patch(WORKERS, name, {"spec": {"drain": drain}})
    return worker


def silence(worker: Obj) -> str | None:
    """Say why nothing can be asked of a Worker at present; None: it answers."""
    listed = (worker.get("status") or {}).get("conditions")
    ready = conditions.find(listed, "Ready") or {}
    if conditions.is_true(listed, "Connected") and ready.get("reason") != SILENT:
        return None
    return str(ready.get("reason") or "NeverSeen")


def sentence(worker: Obj, drain: str, load: Load) -> str:
    """Say what becomes of the work of a Worker."""
    drained, much = f"Worker {worker['metadata']['name']} is drained", worker_load.text(load)
    if not much:
        return f"{drained}: it has no unfinished work, and nothing new comes."
    if drain != MOVE_AWAY:
        return f"{drained}: its unfinished work ({much}) goes on, and nothing new comes."
    moving = f"{drained}: its unfinished work ({much}) moves to other Workers"
    if reason := silence(worker):
        return f"{moving} as soon as it can be reached ({reason} now), or is lost for good."
    return f"{moving}."
