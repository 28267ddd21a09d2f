"""`jobferry workers undrain`: gives a Worker work again."""

from collections.abc import Sequence

from jobferry.cli import options, render
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.cli.worker_drain import set_drain

_ABOUT = """Gives a Worker work again that was drained."""


def main(arguments: Sequence[str]) -> None:
    """Undrain a Worker."""
    parser = Parser("jobferry workers undrain", "NAME [option ...]", _ABOUT)
    completes(parser.add_argument("name", metavar="NAME", help="the Worker"), "workers")
    options.add_where(parser, namespaced=False)
    given = parser.parse_args(arguments)

    async def change(hub: Hub) -> None:
        worker = await set_drain(hub, given.name, "None")
        was = worker["spec"].get("drain") or "None"
        again = "was not drained" if was == "None" else "may get work again"
        render.text(f"Worker {given.name} {again}.\n")

    run(options.where(given), change)
