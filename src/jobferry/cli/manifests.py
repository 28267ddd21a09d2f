"""`jobferry manifests`: prints what to apply to a cluster."""

import argparse
from collections.abc import Sequence

from jobferry.cli import render
from jobferry.cli.arguments import Parser
from jobferry.dispatch import manifests

_ABOUT = """Prints YAML for `kubectl apply -f -`.

  crds     Worker and Queue, for the hub
  hub      the service account of the dispatcher on the hub, and its rights
  worker   a service account with the rights that the dispatcher needs on a worker"""


def main(arguments: Sequence[str]) -> None:
    """Print a set of manifests."""
    parser = Parser("jobferry manifests", "|".join(manifests.NAMES), _ABOUT)
    parser.add_argument("name", choices=manifests.NAMES, help=argparse.SUPPRESS)
    render.text(manifests.text(parser.parse_args(arguments).name))
