"""Runs a cluster in one process: `python -m jobferry.localkube --folder DIR`."""

import argparse
import gc
import sys
from functools import partial

from jobferry.localkube.apiserver import arguments


def main() -> int:
    """Run a cluster until a signal ends it."""
    parser = argparse.ArgumentParser(
        prog="python -m jobferry.localkube",
        description="A small Kubernetes in one process, for this machine only: API server, controllers, and a "
        "node that runs pods as local processes. Its kubeconfig is DIR/kubeconfig.",
    )
    _add(parser)
    given = parser.parse_args()
    # Hardly anything that is made while it starts is garbage; to look for some takes a tenth of that time.
    gc.disable()
    with arguments.keys_prepared(given):
        from jobferry.localkube import cluster  # noqa: PLC0415 (that it takes long is the point)
        from jobferry.localkube.apiserver import process  # noqa: PLC0415

    plan = cluster.Plan(
        name=given.name,
        folder=given.folder,
        images=given.images,
        simulated=given.simulate,
        without=frozenset(filter(None, given.without.split(","))),
    )
    return process.run(
        given, name=given.name, beside=partial(cluster.inhabited, plan), owned=given.owned
    )


def _add(parser: argparse.ArgumentParser) -> None:
    arguments.add(parser)
    parser.add_argument(
        "--name", default="localkube", help="what its node and its context are called"
    )
    parser.add_argument(
        "--images",
        action="append",
        default=[],
        metavar="host|none|IMAGE=PLACE",
        help="what images mean: this machine as it is (the default), or PLACE: host, root:DIR, venv:DIR, engine; "
        "none: it has no node. Can be repeated",
    )
    parser.add_argument(
        "--simulate",
        type=int,
        default=0,
        metavar="N",
        help="have N nodes on which pods only seem to run, as long and with the exit code that their annotations "
        "jobferry.io/run-seconds and jobferry.io/exit-code say",
    )
    parser.add_argument(
        "--without", default="", metavar="NAMES", help="controllers to leave out, with commas"
    )
    parser.add_argument("--owned", action="store_true", help="end when standard input does")


if __name__ == "__main__":
    sys.exit(main())
