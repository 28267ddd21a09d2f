"""`jobferry manifests`: prints what to apply to a cluster."""

import argparse
import re
from collections.abc import Sequence

from jobferry.cli import options, render
from jobferry.cli.arguments import Parser
from jobferry.dispatch import manifests
from jobferry.kinds.referred import find

_ABOUT = """Prints YAML for `kubectl apply --server-side -f -`.

  crds     Worker, Queue and Placement, for the hub
  hub      the service account of the dispatcher on the hub, and its rights
  worker   a service account with the rights that the dispatcher needs on a worker"""

_NAMESPACE = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"


def main(arguments: Sequence[str]) -> None:
    """Print a set of manifests."""
    names = "|".join(manifests.NAMES)
    synopsis = f"{names} [--namespaces NAME[,NAME...]] [--kinds KIND[,KIND...]] [--references KIND[,KIND...]]"
    parser = Parser("jobferry manifests", synopsis, _ABOUT)
    parser.add_argument("name", choices=manifests.NAMES, help=argparse.SUPPRESS)
    parser.add_argument(
        "--namespaces",
        metavar="NAME[,NAME...]",
        help="of a worker: rights in these namespaces alone, for a Worker with namespaces.only",
    )
    parser.add_argument(
        "--kinds",
        metavar="KIND[,KIND...]",
        help="of hub and worker: rights on these kinds besides Jobs, as in JobSet,RayJob, or all",
    )
    options.add_references(parser, "of a worker: ")
    given = parser.parse_args(arguments)
    namespaces = [] if given.namespaces is None else given.namespaces.split(",")
    if namespaces and given.name != "worker":
        parser.error("--namespaces is for worker")
    for each in namespaces:
        if not re.fullmatch(_NAMESPACE, each):
            parser.error(f"--namespaces: {each!r} is not the name of a namespace")
    if given.kinds and given.name == "crds":
        parser.error("--kinds is for hub and worker")
    if given.references and given.name != "worker":
        parser.error("--references is for worker")
    kinds = options.kinds(given.kinds) if given.kinds else []
    expiring = [each.resource for each in kinds if each.owes_ttl]
    resources = [each.resource for each in kinds]
    if given.name == "hub":
        referred = list(dict.fromkeys(each for kind in kinds for each in kind.looks_up))
    else:
        referred = find(given.references, resources) if given.references else []
    render.text(manifests.text(given.name, namespaces, resources, expiring, referred=referred))
