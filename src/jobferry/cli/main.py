"""The entry: finds the command, and turns whatever goes wrong into one line and an exit code."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from jobferry import __version__
from jobferry.cli import render
from jobferry.cli.arguments import Parser
from jobferry.errors import BadInput, Error

COMMANDS = {
    "up": "start a hub, workers and the dispatcher on this machine",
    "down": "end what `up` started",
    "demo": "show it all, in a quarter of a minute",
    "run": "run the dispatcher",
    "manifests": "print what to apply to a cluster: CRDs, and who may do what",
    "job-controller": "run the Jobs of a cluster that name it in managedBy",
}
"""Each is a module of this package (with _ for -), imported when it is called for, with a function `main`."""

FAILED = 1
MISUSED = 2
INTERRUPTED = 130
"""What a shell makes of Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of this process, and return its exit code."""
    try:
        _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Error as error:
        render.error(error)
        return MISUSED if isinstance(error, BadInput) else FAILED
    except OSError as error:
        _give_up_output(error)
        return FAILED
    except Exception as error:  # noqa: BLE001 (people get one line, whatever happens)
        _admit(error)
        return FAILED
    return 0


def _run(arguments: Sequence[str]) -> None:
    command = _parser().parse_args(arguments[:1]).command
    import_module(f"jobferry.cli.{command.replace('-', '_')}").main(arguments[1:])


def _give_up_output(error: OSError) -> None:
    # Whoever closed the pipe has seen enough.
    if not isinstance(error, BrokenPipeError):
        render.error(Error(str(error)))
    # What is still to be written would fail again, with a complaint of Python's, at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _admit(error: Exception) -> None:
    import logging  # noqa: PLC0415 (not needed as long as all goes well)

    logging.getLogger(__name__).debug("Failed", exc_info=error)
    hint = "This is a bug. Please report it, with what `--log-level debug` shows."
    render.error(Error(f"unexpected {type(error).__name__}: {error}", hint=hint))


def _parser() -> Parser:
    listing = "\n".join(f"  {name:<16}{summary}" for name, summary in COMMANDS.items())
    parser = Parser(
        "jobferry",
        "COMMAND [option ...]",
        "Runs Kubernetes batch work on many clusters from one.",
        epilog=f"commands:\n{listing}\n\n`jobferry COMMAND --help` tells more about each.",
    )
    parser.add_argument("--version", action="version", version=f"jobferry {__version__}")
    parser.add_argument("command", choices=COMMANDS, help=argparse.SUPPRESS)
    return parser
