"""What an attempt of a Job leaves to the next: what was earned, and whether anything is left to run."""

from dataclasses import replace
from datetime import datetime

from jobferry.core import times
from jobferry.kinds.job.base import Base
from jobferry.kinds.job.status import COMPLETE, FAILED, count, decision, is_indexed
from jobferry.objects import Obj

DEADLINE = "activeDeadlineSeconds"
LIMITS = ("completions", "backoffLimit", DEADLINE)


def wanted_status(hub_job: Obj, mirror: Obj, base: Base) -> Obj:
    """Return the status that the mirror would have the hub Job show: its own, on top of the base."""
    status, spec = mirror.get("status") or {}, hub_job["spec"]
    return {**status, **base.plus(status, spec).counters(spec)}


def carried(hub_job: Obj, mirror: Obj | None, base: Base, now: datetime) -> Base:
    """Return the base of the next attempt; `mirror` is None if nothing is known of it any more.

    What the hub shows counts at least. The deadline is one for all attempts: as on one cluster, it runs
    from the start that the hub shows.
    """
    spec, shown = hub_job["spec"], hub_job.get("status") or {}
    earned = base.plus((mirror or {}).get("status") or {}, spec) | Base().plus(shown, spec)
    started = shown.get("startTime")
    passed = (now - times.instant(started)).total_seconds() if started else 0
    return replace(earned, seconds=max(0, int(passed)))


def earlier(hub_job: Obj, mirror: Obj) -> Base:
    """Return the base that a mirror was made with, as far as it can be told without the record of it.

    Of each limit the mirror got what was left: the rest is the base. That is exact, but for limits that
    somebody has changed since, on one side only. Successes for which there is no limit are those that
    the hub shows and the mirror does not; indexes, those that the hub shows.
    """
    spec, asked = hub_job["spec"], mirror["spec"]
    shown, status = hub_job.get("status") or {}, mirror.get("status") or {}
    used = {key: max(0, (spec.get(key) or 0) - (asked.get(key) or 0)) for key in LIMITS}
    if is_indexed(spec):
        earned = Base().plus(shown, spec)
        indexes = earned.completed_indexes, earned.failed_indexes
        return Base(earned.succeeded, used["backoffLimit"], *indexes, used[DEADLINE])
    succeeded = used["completions"]
    if spec.get("completions") is None:
        succeeded = max(0, count(shown, "succeeded") - count(status, "succeeded"))
    return Base(succeeded, used["backoffLimit"], seconds=used[DEADLINE])


def outcome(hub_job: Obj, mirror: Obj | None, base: Base) -> Obj | None:
    """Return the status to want for a Job of which nothing is left to run; None if there is.

    That is so if the last mirror had decided how to end, and only its pods were still going; or if the attempts
    before have used up a limit, or were lost after the last success.
    """
    spec = hub_job["spec"]
    limit, deadline = spec.get("backoffLimit"), spec.get(DEADLINE)
    completions = spec.get("completions")
    decided = decision((mirror or {}).get("status") or {})
    if decided is not None:
        type, said = decided
        end = _end(type, said.get("reason") or "", said.get("message") or "")
    elif limit is not None and base.failed > limit:
        end = _end(
            FAILED, "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        )
    elif deadline is not None and base.seconds >= deadline:
        end = _end(FAILED, "DeadlineExceeded", "Job was active longer than specified deadline")
    elif completions is not None and base.succeeded >= completions:
        message = "Reached expected number of succeeded pods"
        end = _end(COMPLETE, "CompletionsReached", message)
    else:
        return None
    return {**base.counters(spec), "conditions": [end]}


def _end(type: str, reason: str, message: str) -> Obj:
    return {"type": type, "status": "True", "reason": reason, "message": message}
