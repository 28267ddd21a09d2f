"""The command line of an API server, by itself or in a cluster."""

import argparse
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path


def add(parser: argparse.ArgumentParser) -> None:
    """Let everything about the server be said."""
    parser.add_argument(
        "--folder", type=Path, required=True, help="where its state and keys are"
    )
    parser.add_argument("--keys", type=Path, help="a folder of keys to use as they are")
    parser.add_argument("--in-memory", action="store_true", help="keep no state on disk")
    parser.add_argument(
        "--durability",
        choices=("full", "normal"),
        default="full",
        help="what a crash of the machine may cost: nothing, or the newest writes",
    )
    parser.add_argument(
        "--port",
        type=int,
        help="0: any that is free (default: the one that it had last time, or else 0)",
    )
    parser.add_argument("--audit-log", type=Path, help="a file for one JSON line per request")
    parser.add_argument(
        "--disable-admission-plugins",
        default="",
        metavar="NAMES",
        help="parts of admission to leave out, with commas",
    )


def keys_prepared(given: argparse.Namespace) -> AbstractContextManager[None]:
    """Make what keys are missing within the block, in another process: to load the server takes as long."""
    from jobferry.clock import SystemClock  # noqa: PLC0415 (after wrong arguments are told)
    from jobferry.localkube.apiserver.identity import preparing  # noqa: PLC0415 (likewise)

    if given.keys is not None:
        return nullcontext()
    return preparing.elsewhere(given.folder, SystemClock().now())
