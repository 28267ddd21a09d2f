"""What the JSON of a Job says about its life, in the words that people read: pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from jobferry.cli import job_events
from jobferry.core import placement
from jobferry.core.marks import PREFIX
from jobferry.kinds.job.status import count, end, is_suspended
from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj, conditions

QUEUE_LABEL = f"{PREFIX}queue"
HUB = "<hub>"
"""In place of a worker: where Jobs run that nobody delegated."""

STARTING = "Starting"
"""How a Job stands that has pods, of which none is ready."""

UNKNOWN = "Unknown"
"""How a Job stands whose worker is not heard of."""

_BUILT_IN = "kubernetes.io/job-controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is shown of a Job."""

    namespace: str
    name: str
    state: str
    worker: str | None
    """None: it waits for one."""

    attempt: int
    progress: str
    queue: str
    age: str
    lasted: str
    """How long it has run, or ran."""

    message: str
    """Why it ended as it did, or is not running yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What else is known that matters to Jobs."""

    absent: Mapping[str, str] = field(default_factory=dict)
    """What to say of workers that nothing is heard of: see `absences`."""

    events: Mapping[str, Sequence[Obj]] = field(default_factory=dict)
    """By the UID of the Job that they are about."""

    queues: Mapping[str, str] = field(default_factory=dict)
    """By namespace: the Queue of Jobs that name none."""


ALONE = Around()


def facts(job: Obj, now: datetime, around: Around = ALONE) -> Facts:
    """Read a Job."""
    how, words = _standing(job, now, around)
    status = job.get("status") or {}
    meta = job["metadata"]
    return Facts(
        namespace=meta.get("namespace") or "",
        name=meta["name"],
        state=how,
        worker=worker(job),
        attempt=placement.last_attempt(job),
        progress=progress(job),
        queue=_queue(job, around),
        age=durations.since(meta.get("creationTimestamp"), now),
        lasted=_lasted(status, now),
        message=words,
    )


def _standing(job: Obj, now: datetime, around: Around) -> tuple[str, str]:
    """Return in which state a Job is, and why; on a worker that is not heard of nobody knows."""
    absent, events = around.absent, around.events.get(job["metadata"].get("uid") or "", ())
    how, placed = state(job), placement.read(job)
    missed = (
        [absent[each.worker] for each in placed.shards if each.worker in absent]
        if placed
        else []
    )
    if missed and how in ("Placed", STARTING, "Running"):
        return UNKNOWN, ", ".join(missed)
    if how == "Placed" and placed:
        names = [each.worker for each in placed.shards]
        refused = job_events.refusals(events, names, now)
        if refused:
            return "Waiting", ", ".join(f"{name}: {why}" for name, why in refused.items())
    if how == "Waiting":
        return how, job_events.why_waiting(events)
    return how, message(job)


def _queue(job: Obj, around: Around) -> str:
    meta = job["metadata"]
    named = str((meta.get("labels") or {}).get(QUEUE_LABEL) or "")
    if named or not is_delegated(job):
        return named
    return around.queues.get(meta.get("namespace") or "", "")


def manager(job: Obj) -> str:
    """Return who runs a Job, by its own word; empty: its cluster."""
    named = str(job["spec"].get("managedBy") or "")
    return "" if named == _BUILT_IN else named


def is_delegated(job: Obj) -> bool:
    """Tell whether a Job is meant for a dispatcher, whichever it is; one that has placed it knows."""
    return manager(job).startswith(PREFIX) or placement.vouched(job) is not None


def state(job: Obj) -> str:
    """Say in one word how a Job stands."""
    status = job.get("status") or {}
    if job["metadata"].get("deletionTimestamp"):
        return "Deleting"
    if ended := end(status):
        return str(ended["type"])
    if job["spec"].get("suspend") or is_suspended(status):
        return "Suspended"
    if count(status, "active"):
        return "Running" if is_running(job) else STARTING
    if is_delegated(job):
        return "Waiting" if placement.read(job) is None else "Placed"
    return "Waiting"


def is_running(job: Obj) -> bool:
    """Tell whether a pod of a Job runs; one that is active may still wait for its image, or for ever."""
    status = job.get("status") or {}
    if status.get("ready") is None:  # not every cluster counts them
        return count(status, "active") > 0
    return count(status, "ready") > 0


def message(job: Obj) -> str:
    """Say why a Job ended as it did, or what it is short of."""
    status = job.get("status") or {}
    if state(job) == STARTING:
        return f"0 of {plural(count(status, 'active'), 'pod')} ready"
    return str((end(status) or {}).get("message") or "")


def plural(number: int, what: str) -> str:
    """Say how many there are of something."""
    return f"{number} {what}" + ("" if number == 1 else "s")


def worker(job: Obj) -> str | None:
    """Name the worker of a Job; who else runs it stands in angle brackets."""
    placed = placement.read(job)
    if placed is not None:
        return ",".join(shard.worker for shard in placed.shards)
    if is_delegated(job):
        return None
    return f"<{manager(job)}>" if manager(job) else HUB


def progress(job: Obj) -> str:
    """Say how much of a Job is done, as in 3/10; what failed is told, too."""
    status, spec = job.get("status") or {}, job["spec"]
    done, failed = count(status, "succeeded"), count(status, "failed")
    completions = spec.get("completions")
    if completions is None:  # its pods agree among themselves when all is done
        completions = f"1 of {spec.get('parallelism') or 1}"
    return f"{done}/{completions}" + (f" ({failed} failed)" if failed else "")


def placed_at(job: Obj) -> str | None:
    """Return when a Job was placed for the first time."""
    listed = (job.get("status") or {}).get("conditions")
    found = conditions.find(listed, placement.CONDITION) or {}
    return found.get("lastTransitionTime")


def _lasted(status: Obj, now: datetime) -> str:
    started = status.get("startTime")
    if not started:
        return ""
    ended = status.get("completionTime") or (end(status) or {}).get("lastTransitionTime")
    until = datetime.fromisoformat(ended) if ended else now
    return durations.human(durations.seconds_between(started, until))
