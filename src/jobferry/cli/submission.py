"""A Job made from a command line: pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from jobferry.cli.job_facts import QUEUE_LABEL
from jobferry.errors import BadInput
from jobferry.objects import Obj, labels, quantities

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_LONGEST_NAME = 63
"""Pods bear the name of their Job as a label."""

_ROOM_FOR_SUFFIX = 6
_VARIABLE = re.compile(r"[A-Za-z_.-][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What somebody wants to be run."""

    program: Sequence[str]
    manager: str
    image: str
    name: str | None = None
    completions: int | None = None
    parallelism: int | None = None
    indexed: bool = False
    queue: str | None = None
    requests: Mapping[str, str] = field(default_factory=dict)
    """What each pod needs, by resource."""

    variables: Mapping[str, str] = field(default_factory=dict)
    backoff_limit: int | None = None


def job(wanted: Submission) -> Obj:
    """Return the Job to create; raises `BadInput`."""
    if not wanted.program:
        raise BadInput(
            "there is no program to run",
            hint="It comes last, after two dashes: jobferry submit -- python work.py",
        )
    metadata: Obj = _named(wanted)
    if wanted.queue is not None:
        metadata["labels"] = {QUEUE_LABEL: _queue(wanted.queue)}
    return {"metadata": metadata, "spec": _spec(wanted)}


def variables(given: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Read NAME=VALUE, or NAME alone, whose value is then that of the environment."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not _VARIABLE.fullmatch(name):
            raise BadInput(f"--env: expected NAME=VALUE, found {text!r}")
        if not equals and name not in environ:
            raise BadInput(f"--env: {name} is not set here", hint=f"Say --env {name}=VALUE.")
        found[name] = value if equals else environ[name]
    return found


def requests(**given: str | None) -> dict[str, str]:
    """Read what each pod needs; raises `BadInput` for what is no quantity."""
    found = {}
    for name, text in given.items():
        if text is None:
            continue
        try:
            amount = quantities.parse(text)
        except quantities.BadQuantity as error:
            raise BadInput(f"--{name}: {error}", hint=error.hint) from None
        if not amount or amount < quantities.ZERO:
            raise BadInput(f"--{name}: expected more than nothing, found {text}")
        found[name] = text
    return found


def _named(wanted: Submission) -> Obj:
    if wanted.name is None:
        stem = re.sub(r"[^a-z0-9]+", "-", PurePath(wanted.program[0]).name.lower()).strip("-")
        short = stem[: _LONGEST_NAME - _ROOM_FOR_SUFFIX] or "job"
        return {"generateName": f"{short}-"}
    if len(wanted.name) > _LONGEST_NAME or not _NAME.fullmatch(wanted.name):
        raise BadInput(
            f"--name: {wanted.name!r} cannot be the name of a Job",
            hint="It has small letters, digits and dashes, 63 at most, as in sweep-7.",
        )
    return {"name": wanted.name}


def _queue(name: str) -> str:
    if not name or labels.value_problems(name):
        raise BadInput(f"--queue: {name!r} cannot be the name of a Queue")
    return name


def _spec(wanted: Submission) -> Obj:
    if wanted.indexed and wanted.completions is None:
        raise BadInput(
            "--indexed needs --completions", hint="As in --completions 10 --indexed."
        )
    spec: Obj = {"managedBy": wanted.manager, "template": {"spec": _pod(wanted)}}
    numbers = {
        "completions": wanted.completions,
        "parallelism": wanted.parallelism,
        "backoffLimit": wanted.backoff_limit,
    }
    spec |= {name: number for name, number in numbers.items() if number is not None}
    if wanted.indexed:
        spec["completionMode"] = "Indexed"
    return spec


def _pod(wanted: Submission) -> Obj:
    container: Obj = {
        "name": "main",
        "image": wanted.image,
        "command": list(wanted.program),
    }
    if wanted.variables:
        container["env"] = [
            {"name": name, "value": value} for name, value in wanted.variables.items()
        ]
    if wanted.requests:
        container["resources"] = {"requests": dict(wanted.requests)}
    return {"restartPolicy": "Never", "containers": [container]}
