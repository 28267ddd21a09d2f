"""The options of logs, exec and attach, read from a query and checked as an API server does."""

from dataclasses import dataclass
from datetime import UTC, datetime

from jobferry.localkube.apiserver import problems, status
from jobferry.localkube.apiserver.nodes import LogOptions
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.requests import options
from jobferry.localkube.apiserver.requests.target import Query
from jobferry.localkube.apiserver.types import gotime

_NO_FIELD = "[]"
"""How a server names the field of a problem that belongs to none."""

_EVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkOptions:
    """With which streams somebody wants to talk with a process, as PodExecOptions says it."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    command: tuple[str, ...] = ()


def container(query: Query) -> str:
    """Return the container that is asked for, or nothing."""
    return options.text(query, "container")


def log_options(query: Query, pod: str) -> LogOptions:
    """Read which part of a log is wanted."""
    found = LogOptions(
        follow=bool(options.flag(query, "follow")),
        previous=bool(options.flag(query, "previous")),
        since_seconds=options.number(query, "sinceSeconds"),
        since_time=_since(query),
        timestamps=bool(options.flag(query, "timestamps")),
        tail_lines=options.number(query, "tailLines"),
        limit_bytes=options.number(query, "limitBytes"),
    )
    wrong = _log_problems(found)
    if query.get("stream"):
        wrong.append(problems.forbidden("stream", "may not be specified"))
    if wrong:
        raise status.invalid("", "PodLogOptions", pod, wrong)
    return found


def talk_options(query: Query) -> TalkOptions:
    """Read how to talk with a process; a terminal has one output only, as a kubelet has it."""
    if query.get("dryRun"):
        raise status.bad_request("dryRun is not supported")
    tty = bool(options.flag(query, "tty"))
    return TalkOptions(
        stdin=bool(options.flag(query, "stdin")),
        stdout=bool(options.flag(query, "stdout")),
        stderr=bool(options.flag(query, "stderr")) and not tty,
        tty=tty,
        command=tuple(query.get("command", ())),
    )


def _since(query: Query) -> datetime | None:
    values = query.get("sinceTime")
    if not values:
        return None
    if values[0] in ("", "null"):
        return _EVER
    try:
        moment = gotime.canonical(values[0])
    except gotime.BadTime as error:
        raise status.bad_request(str(error)) from error
    return _EVER if moment is None else datetime.fromisoformat(moment)


def _log_problems(wanted: LogOptions) -> list[Problem]:
    found = []
    if wanted.tail_lines is not None and wanted.tail_lines < 0:
        why = "must be greater than or equal to 0"
        found.append(problems.invalid("tailLines", wanted.tail_lines, why))
    if wanted.limit_bytes is not None and wanted.limit_bytes < 1:
        why = "must be greater than 0"
        found.append(problems.invalid("limitBytes", wanted.limit_bytes, why))
    if wanted.since_seconds is not None and wanted.since_time is not None:
        why = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        found.append(problems.forbidden(_NO_FIELD, why))
    elif wanted.since_seconds is not None and wanted.since_seconds < 1:
        why = "must be greater than 0"
        found.append(problems.invalid("sinceSeconds", wanted.since_seconds, why))
    return found
