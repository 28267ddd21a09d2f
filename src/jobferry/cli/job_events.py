"""The events about Jobs on the hub, and what they tell about those that wait."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import EVENTS
from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj

_REFUSED = "Worker {worker} refused it: "
_PLACED = "Placed on worker {worker},"
"""How the dispatcher tells of it in events; after the first attempt a comma follows, and why."""

_WAITS = {"NoWorker", "NoQueue", "NamespaceNotAllowed", "RecordTooLarge", "Refused"}
"""The reasons of events that say why a Job has no worker."""


async def read(hub: Client, job: Obj) -> list[Obj]:
    """Read those about a Job; none if we may not."""
    meta = job["metadata"]
    return await _list(hub, meta["namespace"], f"involvedObject.uid={meta['uid']}")


async def read_all(hub: Client, namespace: str | None) -> dict[str, list[Obj]]:
    """Read those about all Jobs of a namespace, or of all, by the UID of the Job; none if we may not."""
    found: dict[str, list[Obj]] = {}
    for event in await _list(hub, namespace, "involvedObject.kind=Job"):
        found.setdefault(event["involvedObject"].get("uid") or "", []).append(event)
    return found


def refusals(events: Sequence[Obj], workers: Iterable[str], now: datetime) -> dict[str, str]:
    """Return which workers have refused the Job since it was last placed there, when, and why.

    The dispatcher asks them again, after a minute at first and then less and less often.
    """
    found = {}
    for worker in workers:
        refused = _last(events, "Refused", _REFUSED.format(worker=worker))
        if refused is None:
            continue
        placed = _last(events, "Placed", _PLACED.format(worker=worker))
        if placed is None or _told(placed) <= _told(refused):
            why = str(refused["message"]).removeprefix(_REFUSED.format(worker=worker))
            ago = durations.since(_told(refused), now)
            found[worker] = f"it refused it {ago} ago: {why}"
    return found


def lacking(events: Sequence[Obj], worker: str) -> str:
    """Return what was last said about what a worker lacks that the workload refers to; empty if nothing was."""
    told = _last(events, "ReferencesMissing", f"Worker {worker} lacks")
    return str(told["message"]) if told is not None else ""


def why_waiting(events: Sequence[Obj]) -> str:
    """Return what was last said about why a Job has no worker; empty if nothing was."""
    told = [each for each in events if each.get("reason") in _WAITS and _told(each)]
    return str(max(told, key=_told)["message"]) if told else ""


async def _list(hub: Client, namespace: str | None, fields: str) -> list[Obj]:
    try:
        return (
            await hub.list(Scope(resource=EVENTS, namespace=namespace, fields=fields))
        ).items
    except errors.Forbidden:
        return []


def _last(events: Sequence[Obj], reason: str, start: str) -> Obj | None:
    told = [
        event
        for event in events
        if event.get("reason") == reason
        and f"{event.get('message')},".startswith(start)
        and _told(event)
    ]
    return max(told, key=_told, default=None)


def _told(event: Obj) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")
