"""`jobferry workers remove`: takes the work away from a Worker, and deletes it."""

from collections.abc import Sequence

from jobferry.cli import options, render
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.kube import errors
from jobferry.objects import Obj
from jobferry.workers.resource import WORKERS

_ABOUT = """Deletes a Worker. It gets no new work at once; what runs there is stopped and placed on other Workers, and
mirrors of finished Jobs are deleted, with their logs. The Worker is gone when nothing is left there.

To keep the logs for a while, `jobferry workers drain` it first. The service account stays on the cluster."""


def main(arguments: Sequence[str]) -> None:
    """Delete a Worker."""
    parser = Parser("jobferry workers remove", "NAME [option ...]", _ABOUT)
    completes(parser.add_argument("name", metavar="NAME", help="the Worker"), "workers")
    options.add_where(parser, namespaced=False)
    given = parser.parse_args(arguments)

    async def remove(hub: Hub) -> None:
        worker = await hub.read(WORKERS, given.name)
        await hub.client.delete(WORKERS, given.name, uid=worker["metadata"]["uid"])
        try:
            left: Obj | None = await hub.client.get(WORKERS, given.name)
        except errors.NotFound:
            left = None
        render.text(f"{sentence(given.name, left)}\n")

    run(options.where(given), remove)


def sentence(name: str, left: Obj | None) -> str:
    """Say what a Worker that was deleted waits for."""
    if left is None:
        return f"Worker {name} is removed."
    status = left.get("status") or {}
    mirrors, active = int(status.get("mirrors") or 0), int(status.get("active") or 0)
    waits = f"its {mirrors} mirrors are gone" if mirrors else "its dispatcher lets it go"
    moves = f"; {active} unfinished Jobs move to other Workers" if active else ""
    return f"Worker {name} is being removed: it waits until {waits}{moves}. `jobferry workers {name}` shows it."
