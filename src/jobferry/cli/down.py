"""`jobferry down`: ends what `jobferry up` started on this machine, whatever became of it."""

import os
from collections.abc import Sequence

from jobferry.cli import local_options, render
from jobferry.cli.arguments import Parser
from jobferry.local import ending
from jobferry.local.layout import Layout

_ABOUT = """Ends the clusters that `jobferry up` started, their pods and the dispatcher; also what is left of
clusters that were killed. What they stored stays."""


def main(arguments: Sequence[str]) -> None:
    """End a fleet."""
    parser = Parser("jobferry down", "[option ...]", _ABOUT)
    local_options.add_folder(parser)
    given = parser.parse_args(arguments)
    layout = Layout(local_options.folder(given, os.environ))
    ended = ending.end(layout)
    render.text("Ended.\n" if ended else f"Nothing was running in {layout.folder}.\n")
