"""`jobferry run`: reads how the dispatcher is to run, and runs it."""

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobferry import log, settings
from jobferry.cli.arguments import Parser
from jobferry.errors import BadInput
from jobferry.settings import Settings

_ABOUT = (
    "Runs the dispatcher: places the Jobs of the hub on Workers and brings their status back."
)
_WORKER_NAME = "[a-z0-9]([-.a-z0-9]*[a-z0-9])?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a command line asks for."""

    settings: Settings
    kubeconfig: Path | None
    context: str | None
    workers: Mapping[str, str]
    """Contexts by the names of the Workers to make from them."""

    install_crds: bool


def main(arguments: Sequence[str]) -> None:
    """Run the dispatcher until it is stopped."""
    asked = plan(arguments, os.environ)
    chosen = asked.settings.log
    log.configure(level=chosen.level.upper(), as_json=chosen.format == "json")
    from jobferry import app  # noqa: PLC0415 (a wrong argument is told before the rest is loaded)

    app.run(
        asked.settings,
        kubeconfig=asked.kubeconfig,
        context=asked.context,
        workers=asked.workers,
        install_crds=asked.install_crds,
    )


def plan(arguments: Sequence[str], environ: Mapping[str, str]) -> Plan:
    """Return what a command line asks for; raises `BadInput`."""
    given = _parser().parse_args(arguments)
    flags = {
        each.key: text
        for each in settings.every()
        if (text := getattr(given, each.key)) is not None
    }
    return Plan(
        settings=settings.load(file=given.config, environ=environ, flags=flags),
        kubeconfig=given.kubeconfig,
        context=given.context,
        workers=_workers(given.worker),
        install_crds=given.install_crds,
    )


def _parser() -> Parser:
    parser = Parser("jobferry run", "[option ...]", _ABOUT)
    add = parser.add_argument
    add(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="how the hub is reached; by default as for kubectl",
    )
    add("--context", metavar="NAME", help="the hub's context in it")
    add(
        "--worker",
        action="append",
        default=[],
        metavar="NAME=CONTEXT",
        help="make a Worker of this name from a context of the same kubeconfig; can be repeated",
    )
    add(
        "--install-crds", action="store_true", help="install the CRDs, or bring them up to date"
    )
    add("--config", type=Path, metavar="FILE", help="a file of settings")
    _add_settings(parser.add_argument_group("settings", _PLACES))
    return parser


_PLACES = "Each can be given in the file and in the environment too: see docs/settings.md."


def _add_settings(group: argparse._ArgumentGroup) -> None:
    for each in settings.every():
        default = f" Default: {each.shown_default}." if each.shown_default else ""
        # argparse takes a percent sign for the start of a placeholder.
        text = f"{each.doc}{default}".replace("%", "%%")
        group.add_argument(each.flag, dest=each.key, metavar=each.reader.sign, help=text)


def _workers(given: Sequence[str]) -> dict[str, str]:
    workers: dict[str, str] = {}
    for text in given:
        name, _, context = text.partition("=")
        if not (context and re.fullmatch(_WORKER_NAME, name)):
            raise BadInput(f"--worker: expected NAME=CONTEXT, found {text!r}", hint=_NAMES)
        if name in workers:
            raise BadInput(f"--worker: {name} is there twice")
        workers[name] = context
    return workers


_NAMES = "A Worker's name has small letters, digits, dashes and dots."
