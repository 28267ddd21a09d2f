"""`jobferry manifests`: prints what to apply to a cluster."""

import argparse
import re
from collections.abc import Sequence

from jobferry.cli import render
from jobferry.cli.arguments import Parser
from jobferry.dispatch import manifests

_ABOUT = """Prints YAML for `kubectl apply -f -`.

  crds     Worker and Queue, for the hub
  hub      the service account of the dispatcher on the hub, and its rights
  worker   a service account with the rights that the dispatcher needs on a worker"""

_NAMESPACE = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"


def main(arguments: Sequence[str]) -> None:
    """Print a set of manifests."""
    synopsis = f"{'|'.join(manifests.NAMES)} [--namespaces NAME[,NAME...]]"
    parser = Parser("jobferry manifests", synopsis, _ABOUT)
    parser.add_argument("name", choices=manifests.NAMES, help=argparse.SUPPRESS)
    parser.add_argument(
        "--namespaces",
        metavar="NAME[,NAME...]",
        help="of a worker: rights in these namespaces alone, for a Worker with namespaces.only",
    )
    given = parser.parse_args(arguments)
    namespaces = [] if given.namespaces is None else given.namespaces.split(",")
    if namespaces and given.name != "worker":
        parser.error("--namespaces is for worker")
    for each in namespaces:
        if not re.fullmatch(_NAMESPACE, each):
            parser.error(f"--namespaces: {each!r} is not the name of a namespace")
    render.text(manifests.text(given.name, namespaces))
