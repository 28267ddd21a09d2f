"""What the commands about the fleet on this machine have in common."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from jobferry.local import layout


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Let the folder of a fleet be chosen."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="where everything is kept; by default in your own state folder",
    )


def folder(given: argparse.Namespace, environ: Mapping[str, str]) -> Path:
    """Return the folder of the fleet that is meant."""
    chosen: Path = given.data or layout.default_folder(environ)
    return chosen.absolute()
