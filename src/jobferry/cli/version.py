"""`jobferry version`: of Jobferry itself, and of the hub."""

import platform
from collections.abc import Sequence

from jobferry import __version__
from jobferry.cli import documents, options, render
from jobferry.cli.arguments import Parser
from jobferry.cli.hub import Hub, run

_ABOUT = """Tells the versions of Jobferry, of its Python and of the hub. `jobferry --version` asks no hub."""


def main(arguments: Sequence[str]) -> None:
    """Tell versions."""
    parser = Parser("jobferry version", "[option ...]", _ABOUT)
    options.add_output(parser, options.DATA_FORMATS)
    options.add_where(parser, namespaced=False)
    given = parser.parse_args(arguments)
    own = {"jobferry": __version__, "python": platform.python_version()}
    if given.output == "table":  # what is known without a hub is told also if there is none
        render.text("".join(f"{name} {version}\n" for name, version in own.items()))

    async def show(hub: Hub) -> None:
        found = str((await hub.client.raw("/version"))["gitVersion"])
        if given.output == "table":
            render.text(f"hub {found}\n")
        else:
            render.text(documents.data(given.output, {**own, "hub": found}))

    run(options.where(given), show)
