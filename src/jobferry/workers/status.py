"""The status of a Worker: what the dispatcher has found out, in the words that people read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobferry.clock import Seconds
from jobferry.core import times
from jobferry.objects import Obj, conditions
from jobferry.objects.times import timestamp
from jobferry.workers import cluster
from jobferry.workers.cluster import UNKNOWN, Cluster
from jobferry.workers.link import State
from jobferry.workers.looking import Door
from jobferry.workers.resource import WorkerHead

REFERENCES = "ReferencesVisible"
"""The condition that says whether we may look for what workloads refer to."""

CONFIRM_EVERY: Seconds = 5.0
"""How often it is noted of a lost worker that it is still missed: what was not noted does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What one dispatcher has to say about a worker."""

    state: State
    lost_since: datetime | None
    """Since when its being out of reach counts."""

    twin: str | None
    """The older Worker that stands for the same cluster."""

    held_by: str | None
    """What it waits for before it can go, if it is being removed."""

    closed: Sequence[Door] | None = None
    """Where we may not look for what workloads refer to; None: nothing was looked for yet."""


def standing(status: Obj, head: WorkerHead, facts: Facts, now: datetime) -> Obj:
    """Return what to say about how it stands with a worker."""
    state, listed = facts.state, status.get("conditions")
    ready = _readiness(head, facts)
    for condition in (
        _condition("Connected", state.is_up, state.reason, state.message),
        _condition("Ready", ready[0] == "Ready", *ready),
        _duplicate(facts.twin),
        *_visibility(facts.closed),
    ):
        condition["observedGeneration"] = head.metadata.generation
        listed = conditions.set(listed, condition, now)
    return {"conditions": listed, **_identity(state), **_loss(status, facts, now)}


def is_contradicted(status: Obj, dispatcher: str, standing: Obj) -> bool:
    """Tell whether another replica of a dispatcher said otherwise: one that led before, whose write came late.

    Where a hub has several dispatchers it may have been another one, which sees the worker otherwise: both would
    contradict each other for ever.
    """
    are_others = bool({*(status.get("dispatchers") or {})} - {dispatcher})
    return not are_others and status.get("conditions") != standing["conditions"]


def counts(status: Obj, dispatcher: str, mirrors: int, active: int) -> Obj:
    """Return how much work is there, of all dispatchers of the hub; each knows its own and adds them up."""
    own = {"mirrors": mirrors, "active": active}
    every: dict[str, Obj] = {**(status.get("dispatchers") or {}), dispatcher: own}
    totals = {key: sum(each.get(key, 0) for each in every.values()) for key in own}
    return {"dispatchers": {dispatcher: own}, **totals}


def mirrors(status: Obj, dispatcher: str) -> int:
    """Return how many mirrors a dispatcher was last known to have there."""
    return int(((status.get("dispatchers") or {}).get(dispatcher) or {}).get("mirrors", 0))


def recall(status: Obj, head: WorkerHead, now: datetime) -> tuple[Cluster, datetime | None]:
    """Read back which cluster it was, and since when it has been lost.

    Time in which no dispatcher looked does not count, and nothing does if the Worker is another one now.
    """
    connected = conditions.find(status.get("conditions"), "Connected") or {}
    if connected.get("observedGeneration") != head.metadata.generation:
        return UNKNOWN, None
    known = cluster.recall(status)
    since, confirmed = status.get("lostSince"), status.get("lostConfirmed")
    if not since or not confirmed:
        return known, None
    unwatched = now - times.instant(confirmed)
    return known, times.instant(since) + max(unwatched, timedelta(0))


def _readiness(head: WorkerHead, facts: Facts) -> tuple[str, str]:
    state, drain = facts.state, head.spec.drain
    if head.is_being_removed:
        return "Removing", f"It is being removed: {facts.held_by or 'nothing is left there'}."
    if not state.is_up or state.silent_since is not None:
        return state.reason, state.message
    if facts.twin is not None:
        return "DuplicateCluster", f"It is the same cluster as Worker {facts.twin}."
    if drain != "None":
        return "Drained", f"It gets no new work (drain: {drain})."
    return "Ready", "Takes work."


def _duplicate(twin: str | None) -> Obj:
    if twin is None:
        message = "No other Worker stands for this cluster, or they share it."
        return _condition("DuplicateCluster", False, "Allowed", message)
    message = f"It is the same cluster as Worker {twin}, and not both say sharedCluster."
    return _condition("DuplicateCluster", True, "SameCluster", message)


def _visibility(closed: Sequence[Door] | None) -> list[Obj]:
    """Say whether we may look for what workloads refer to; nothing, as long as none refers to anything."""
    if closed is None:
        return []
    if not closed:
        message = "What workloads refer to is looked for before they are sent there."
        return [_condition(REFERENCES, True, "Allowed", message)]
    kinds = ",".join(dict.fromkeys(door.resource.kind for door in closed))
    spaces = ",".join(dict.fromkeys(door.namespace for door in closed if door.namespace))
    message = (
        f"We may not look there for {kinds}{f' in {spaces}' if spaces else ''}: whether it has what workloads refer to"
        f" is not known. `jobferry manifests worker --references {kinds}"
        f"{f' --namespaces {spaces}' if spaces else ''}` has the rights."
    )
    return [_condition(REFERENCES, False, "Forbidden", message)]


def _identity(state: State) -> Obj:
    """Say which cluster it is, and which kinds it serves in our sight; what was known stays until it is reached again."""
    found = state.cluster
    if found == UNKNOWN:
        return {}
    return {
        "clusterUID": found.uid,
        "serverVersion": found.version,
        "kinds": [each for each in found.kinds if cluster.kind_of(each) not in state.hidden],
    }


def _loss(status: Obj, facts: Facts, now: datetime) -> Obj:
    """Say since when it is lost: of several dispatchers, who is most patient has the word."""
    if facts.lost_since is None:
        return {"lostSince": None, "lostConfirmed": None}
    said = status.get("lostSince")
    since = max(facts.lost_since, times.instant(said)) if said else facts.lost_since
    return {"lostSince": timestamp(since), "lostConfirmed": timestamp(now)}


def _condition(type: str, holds: bool, reason: str, message: str) -> Obj:
    status = "True" if holds else "False"
    return {"type": type, "status": status, "reason": reason, "message": message}
