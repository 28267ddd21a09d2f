"""What is seen during a demo: plain values that can be written down and shown again."""

import msgspec

from jobferry.clock import Seconds
from jobferry.core import placement
from jobferry.kinds.job import base as bases
from jobferry.local.layout import HUB
from jobferry.objects import Obj, conditions


class Sight(msgspec.Struct, frozen=True, omit_defaults=True, tag=True, kw_only=True):
    """Something was seen, so long after the start."""

    at: Seconds


class Ready(Sight, frozen=True):
    """All clusters run, and the dispatcher has its workers."""


class Creating(Sight, frozen=True):
    """The Jobs are about to be created on the hub."""

    delegated: int
    """How many of them name us in managedBy."""

    total: int


class WorkerSeen(Sight, frozen=True):
    """The hub says whether it reaches a worker."""

    name: str
    is_ready: bool


class Killed(Sight, frozen=True):
    """Somebody has killed a worker."""

    name: str
    pid: int


class JobSeen(Sight, frozen=True):
    """A Job of a cluster has changed."""

    cluster: str
    name: str
    place: str
    """Where it runs; empty: nobody has decided that yet."""

    attempt: int = 0
    """For the how many-th time it was placed; 0: it runs where it was created."""

    total: int = 1
    kept: int = 0
    """How much of it earlier attempts have done."""

    done: int = 0
    failed: int = 0
    active: int = 0
    end: str = ""
    """Complete, Failed, or nothing yet."""


class JobGone(Sight, frozen=True):
    """A Job of a cluster is no longer there."""

    cluster: str
    name: str


Any = Ready | Creating | WorkerSeen | Killed | JobSeen | JobGone


def of_worker(at: Seconds, worker: Obj) -> WorkerSeen:
    """Read what a Worker object says."""
    is_ready = conditions.is_true((worker.get("status") or {}).get("conditions"), "Ready")
    return WorkerSeen(at=at, name=worker["metadata"]["name"], is_ready=is_ready)


def of_job(at: Seconds, cluster: str, job: Obj) -> JobSeen:
    """Read what a Job says, on the hub or on a worker."""
    record, spec, status = placement.read(job), job["spec"], job.get("status") or {}
    is_delegated = cluster == HUB and "managedBy" in spec
    shard = record.shards[0] if record else None
    ends = (
        end
        for end in ("Complete", "Failed")
        if conditions.is_true(status.get("conditions"), end)
    )
    return JobSeen(
        at=at,
        cluster=cluster,
        name=job["metadata"]["name"],
        place=shard.worker if shard else "" if is_delegated else cluster,
        attempt=record.attempt if record else 0,
        total=spec.get("completions") or 1,
        kept=bases.read(shard.base).succeeded if shard else 0,
        done=status.get("succeeded", 0),
        failed=status.get("failed", 0),
        active=status.get("active", 0),
        end=next(ends, ""),
    )
