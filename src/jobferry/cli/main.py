"""The entry: finds the command, and turns whatever goes wrong into one line and an exit code."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from jobferry import __version__
from jobferry.cli import render
from jobferry.cli.arguments import NAME, Parser, program
from jobferry.cli.endings import Ended
from jobferry.errors import BadInput, Error

GROUPS = {
    "to see it work on this machine": {
        "demo": "show it all, in a quarter of a minute",
        "up": "start a hub, workers and the dispatcher on this machine",
        "down": "end what `up` started",
    },
    "jobs": {
        "submit": "make a Job that runs on a worker",
        "jobs": "list Jobs: where each runs, and how far it is",
        "describe": "tell the life of a Job, over all attempts",
        "why": "tell why a Job waits, or why it is where it is",
        "logs": "print what the pods of a Job print",
        "wait": "wait until Jobs have ended",
        "cancel": "stop Jobs and delete them",
    },
    "clusters": {
        "workers": "list, add, remove, drain and test Workers",
        "queues": "list Queues",
        "kinds": "list the kinds of workloads: followed or not, and where they can run",
        "top": "show how much work each Worker has, and how much room",
    },
    "to run it": {
        "run": "run the dispatcher",
        "manifests": "print what to apply to a cluster: CRDs, and who may do what",
        "job-controller": "run the Jobs of a cluster that name it in managedBy",
        "version": "tell the versions of Jobferry and of the hub",
        "completion": "print what lets a shell complete commands and names",
    },
}
"""The commands, by what they are for."""

COMMANDS = {name: summary for commands in GROUPS.values() for name, summary in commands.items()}
"""Each is a module of this package (with _ for -), imported when it is called for, with a function `main`."""

FAILED = 1
MISUSED = 2
INTERRUPTED = 130
"""What a shell makes of Ctrl-C."""

HIDDEN = ("complete",)
"""Commands that only scripts call."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of this process, and return its exit code."""
    try:
        _run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Error as error:
        render.error(error)
        return code(error)
    except OSError as error:
        _give_up_output(error)
        return FAILED
    except Exception as error:  # noqa: BLE001 (people get one line, whatever happens)
        _admit(error)
        return FAILED
    return 0


def code(error: Error) -> int:
    """Return the exit code that an error stands for; docs/commands.md lists them."""
    if isinstance(error, Ended):
        return error.code
    return MISUSED if isinstance(error, BadInput) else FAILED


def _run(arguments: Sequence[str]) -> None:
    _refuse_early_options(arguments)
    command = _parser().parse_args(arguments[:1]).command
    import_module(f"jobferry.cli.{command.replace('-', '_')}").main(arguments[1:])


def _refuse_early_options(arguments: Sequence[str]) -> None:
    """Raise `BadInput` where options of a command come before it."""
    first = arguments[0] if arguments else ""
    command = next((each for each in arguments[1:] if each in COMMANDS), None)
    if first.startswith("-") and command and first not in ("-h", "--help", "--version"):
        raise BadInput(
            f"options come after the command: {first} comes before {command}",
            hint=f"As in `{program()} {command} {first} ...`.",
        )


def _give_up_output(error: OSError) -> None:
    # Whoever closed the pipe has seen enough.
    if not isinstance(error, BrokenPipeError):
        render.error(Error(str(error)))
    # What is still to be written would fail again, with a complaint of Python's, at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _admit(error: Exception) -> None:
    import logging  # noqa: PLC0415 (not needed as long as all goes well)

    if not logging.getLogger().handlers:  # it failed before anybody said what is to be logged
        logging.basicConfig(level=os.environ.get("JOBFERRY_LOG_LEVEL", "critical").upper())
    logging.getLogger(__name__).debug("Failed", exc_info=error)
    hint = "This is a bug. Please report it, with what JOBFERRY_LOG_LEVEL=debug shows."
    render.error(Error(f"unexpected {type(error).__name__}: {error}", hint=hint))


def _parser() -> Parser:
    parser = Parser(
        NAME,
        "COMMAND [option ...]",
        "Runs Kubernetes batch work on many clusters from one.",
        epilog=_listing() + f"\n`{program()} COMMAND --help` tells more about each.",
    )
    parser.add_argument("--version", action="version", version=f"{NAME} {__version__}")
    parser.add_argument("command", choices=[*COMMANDS, *HIDDEN], help=argparse.SUPPRESS)
    return parser


def _listing() -> str:
    return "".join(
        f"{heading}:\n"
        + "".join(f"  {name:<16}{summary}\n" for name, summary in commands.items())
        + "\n"
        for heading, commands in GROUPS.items()
    )
