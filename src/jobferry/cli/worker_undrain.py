"""`jobferry workers undrain`: gives a Worker work again."""

from collections.abc import Sequence

from jobferry.cli import options, render
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.cli.worker_drain import set_drain, silence
from jobferry.objects import Obj

_ABOUT = """Gives a Worker work again that was drained."""


def main(arguments: Sequence[str]) -> None:
    """Undrain a Worker."""
    parser = Parser("jobferry workers undrain", "NAME [option ...]", _ABOUT)
    completes(parser.add_argument("name", metavar="NAME", help="the Worker"), "workers")
    options.add_where(parser, namespaced=False)
    given = parser.parse_args(arguments)

    async def change(hub: Hub) -> None:
        worker = await set_drain(hub, given.name, "None")
        render.line(sentence(worker))

    run(options.where(given), change)


def sentence(worker: Obj) -> str:
    """Say what becomes of a Worker, by how it was."""
    name = worker["metadata"]["name"]
    if (worker["spec"].get("drain") or "None") == "None":
        return f"Worker {name} was not drained."
    if reason := silence(worker):
        return f"Worker {name} gets work again as soon as it can be reached ({reason} now)."
    return f"Worker {name} may get work again."
