"""`jobferry job-controller`: runs the Jobs of a cluster that name it in managedBy."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jobferry import log
from jobferry.cli.arguments import Parser
from jobferry.errors import BadInput

_ABOUT = """Runs the Jobs of a cluster whose spec.managedBy is NAME; Kubernetes' own controller leaves those alone.

Run one of a name at a time: two would both make pods."""

_NAME = re.compile(r"([a-z0-9]([-.a-z0-9]*[a-z0-9])?)/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_LONGEST = 63
_RESERVED = "kubernetes.io/job-controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a command line asks for."""

    name: str
    kubeconfig: Path | None
    context: str | None
    log_level: str


def main(arguments: Sequence[str]) -> None:
    """Run the controller until it is stopped."""
    asked = plan(arguments)
    log.configure(level=asked.log_level.upper(), as_json=False)
    from jobferry import app  # noqa: PLC0415 (a wrong argument is told before the rest is loaded)

    app.run_job_controller(asked.name, kubeconfig=asked.kubeconfig, context=asked.context)


def plan(arguments: Sequence[str]) -> Plan:
    """Return what a command line asks for; raises `BadInput`."""
    parser = Parser("jobferry job-controller", "--name NAME [option ...]", _ABOUT)
    add = parser.add_argument
    add("--name", required=True, metavar="NAME", help="what managedBy says in the Jobs to run")
    add("--kubeconfig", type=Path, metavar="FILE", help="by default as for kubectl")
    add("--context", metavar="NAME", help="the cluster's context in it")
    levels = ("debug", "info", "warning", "error")
    add("--log-level", choices=levels, default="info", help="how much to tell. Default: info.")
    given = parser.parse_args(arguments)
    return Plan(
        name=_checked(given.name),
        kubeconfig=given.kubeconfig,
        context=given.context,
        log_level=given.log_level,
    )


def _checked(name: str) -> str:
    if name == _RESERVED:
        hint = "Its Jobs are run already. Choose a name of your own, such as example.com/mine."
        raise BadInput(f"--name: {name} is the cluster's own Job controller", hint=hint)
    if len(name) > _LONGEST or not _NAME.fullmatch(name):
        hint = (
            "A name is a domain, a slash and a path, 63 characters at most: example.com/mine."
        )
        raise BadInput(f"--name: {name!r} cannot stand in managedBy", hint=hint)
    return name
