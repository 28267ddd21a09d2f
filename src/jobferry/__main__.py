"""Runs the command line: `python -m jobferry`, or `jobferry` where it is installed."""

import sys

from jobferry.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
