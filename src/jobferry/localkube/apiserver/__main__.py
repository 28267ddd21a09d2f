"""Runs an API server by itself: `python -m jobferry.localkube.apiserver --folder DIR`."""

import argparse
import gc
import sys

from jobferry.localkube.apiserver import arguments


def main() -> int:
    """Serve until a signal ends it."""
    parser = argparse.ArgumentParser(
        prog="python -m jobferry.localkube.apiserver",
        description="A Kubernetes API server in one process, for this machine only. Its kubeconfig is "
        "DIR/kubeconfig.",
    )
    arguments.add(parser)
    given = parser.parse_args()
    # Hardly anything that is made while it starts is garbage; to look for some takes a tenth of that time.
    gc.disable()
    with arguments.keys_prepared(given):
        from jobferry.localkube.apiserver import process  # noqa: PLC0415 (that it takes long is the point)

    return process.run(given)


if __name__ == "__main__":
    sys.exit(main())
