"""What is due for a pod: which containers to start, to ask to end, to kill. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from jobferry.clock import Seconds, span
from jobferry.localkube.runner import containers
from jobferry.localkube.runner.containers import NOTHING, Knowledge, Known, Part
from jobferry.objects import Obj

GRACE: Seconds = 30.0
AGAIN: Seconds = 1.0
"""When to kill again what has not ended by then."""

DEADLINE = "Pod was active on the node longer than the specified deadline"


@dataclass(slots=True)
class Step:
    """What is due now."""

    starts: list[str]
    stops: list[str]
    """To be asked to end (SIGTERM)."""
    kills: list[str]
    wake: datetime | None = None
    """When to look again, if nothing happens before."""
    is_over: bool = False
    """Whether nothing of the pod runs, or will run again."""
    reason: str = ""
    """Why the pod as a whole failed, if not by its containers."""
    message: str = ""

    def wake_at(self, moment: datetime) -> None:
        """Look again then, at the latest."""
        self.wake = moment if self.wake is None else min(self.wake, moment)


def decide(pod: Obj, known: Knowledge, now: datetime) -> Step:
    """Say what is due for a pod that is not finished."""
    step = Step([], [], [])
    if pod["metadata"].get("deletionTimestamp"):
        grace = pod["metadata"].get("deletionGracePeriodSeconds")
        _end(pod, known, now, step, GRACE if grace is None else grace)
        return step
    if _is_overdue(pod, now, step):
        step.reason, step.message = "DeadlineExceeded", DEADLINE
        _end(pod, known, now, step, grace_of(pod))
        return step
    if _go_on(pod, known, now, step):
        _end(pod, known, now, step, grace_of(pod))
    else:
        _end_unwell(pod, known, now, step)
    return step


def grace_of(pod: Obj) -> Seconds:
    """Return how long the containers of a pod may take to end."""
    return float(pod["spec"].get("terminationGracePeriodSeconds", GRACE))


def _is_overdue(pod: Obj, now: datetime, step: Step) -> bool:
    limit = pod["spec"].get("activeDeadlineSeconds")
    if limit is None:
        return False
    start = (pod.get("status") or {}).get("startTime")
    began = datetime.fromisoformat(start) if start else now
    end = began + span(limit)
    if now < end:
        step.wake_at(end)
    return now >= end


def _go_on(pod: Obj, known: Knowledge, now: datetime, step: Step) -> bool:
    """Start what is due; tell whether the pod has done what it was made for, or has failed."""
    all_parts = list(containers.parts(pod))
    has_begun = any(
        known.get(part.name, NOTHING).current for part in all_parts if not part.is_init
    )
    for part in all_parts:
        if not part.is_init:
            continue
        one = known.get(part.name, NOTHING)
        if part.is_sidecar:
            _keep_running(pod, part, one, now, step)
            if not has_begun and not (
                one.is_running and one.current and one.current.is_started
            ):
                return False
        elif not has_begun and not one.has_succeeded:
            _keep_running(pod, part, one, now, step)
            return _has_failed_for_good(pod, part, one)
    mains = [part for part in all_parts if not part.is_init]
    for part in mains:
        _keep_running(pod, part, known.get(part.name, NOTHING), now, step)
    is_done = all(_is_done(pod, part, known.get(part.name, NOTHING)) for part in mains)
    if is_done:
        step.starts.clear()
    return is_done


def _has_failed_for_good(pod: Obj, part: Part, one: Known) -> bool:
    return _is_done(pod, part, one) and not one.has_succeeded


def _is_done(pod: Obj, part: Part, one: Known) -> bool:
    end = one.current.end if one.current else None
    return end is not None and not containers.restarts(pod, part, end.exit_code)


def _keep_running(pod: Obj, part: Part, one: Known, now: datetime, step: Step) -> None:
    """Start a container that has to run and does not."""
    if one.is_running or _is_done(pod, part, one):
        return
    moment = now if one.current is None else containers.due(one)
    if one.trouble is not None:
        moment = max(moment, one.trouble.again_at)
    if moment <= now:
        step.starts.append(part.name)
    else:
        step.wake_at(moment)


def _end(pod: Obj, known: Knowledge, now: datetime, step: Step, grace: Seconds) -> None:
    """End what still runs: sidecars after all others, the last one first."""
    step.starts.clear()
    running = [
        part for part in containers.parts(pod) if known.get(part.name, NOTHING).is_running
    ]
    step.is_over = not running
    others = [part for part in running if not part.is_sidecar]
    for part in others or running[-1:]:
        _end_one(part.name, known[part.name], now, step, grace)


def _end_one(name: str, one: Known, now: datetime, step: Step, grace: Seconds) -> None:
    if one.stopping_since is None and grace > 0:
        step.stops.append(name)
        step.wake_at(now + span(grace))
        return
    end = (one.stopping_since or now) + span(grace)
    if now >= end:
        step.kills.append(name)
        step.wake_at(now + timedelta(seconds=AGAIN))
    else:
        step.wake_at(end)


def _end_unwell(pod: Obj, known: Knowledge, now: datetime, step: Step) -> None:
    for part in containers.parts(pod):
        one = known.get(part.name, NOTHING)
        if one.is_running and one.current and one.current.unwell:
            _end_one(part.name, one, now, step, grace_of(pod))
