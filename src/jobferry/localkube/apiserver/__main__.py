"""Runs an API server by itself: `python -m jobferry.localkube.apiserver --folder DIR`."""

import argparse
import gc
import sys
from pathlib import Path


def main() -> int:
    """Serve until a signal ends it."""
    arguments = _arguments()
    # Hardly anything that is made while it starts is garbage; to look for some takes a tenth of that time.
    gc.disable()
    from jobferry.localkube.apiserver import process  # noqa: PLC0415 (so that it is loaded after that)

    return process.run(arguments)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m jobferry.localkube.apiserver",
        description="A Kubernetes API server in one process, for this machine only. Its kubeconfig is "
        "DIR/kubeconfig.",
    )
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
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    parser.add_argument("--audit-log", type=Path, help="a file for one JSON line per request")
    parser.add_argument(
        "--disable-admission-plugins",
        default="",
        metavar="NAMES",
        help="parts of admission to leave out, with commas",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
