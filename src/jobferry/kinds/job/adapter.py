"""The adapter of Jobs: what decisions, and the shell round them, know of them."""

from datetime import datetime

from jobferry.core import times
from jobferry.core.going import is_going
from jobferry.core.kind import Earned, Gang, Report, Stillness
from jobferry.core.marks import Marks
from jobferry.kinds.dropped import dropped_fields
from jobferry.kinds.forwarding import Edits
from jobferry.kinds.job import base as bases
from jobferry.kinds.job import edits, legal, moving, status
from jobferry.kinds.job.draft import draft
from jobferry.kinds.job.status import SUSPENDED, count, is_suspended
from jobferry.objects import Obj, conditions
from jobferry.objects.demand import Demand, of_job
from jobferry.objects.resource import Resource

IDLE: Obj = {"active": None, "ready": None, "terminating": None}
"""The merge patch of a status whose Job has no pods: those of an attempt that is over count no more."""


class JobKind:
    """Translates batch/v1 Jobs."""

    name = "Job.batch"
    resource = Resource("batch", "v1", "jobs", "Job")
    carries_record = True

    # What a Job is

    def demand(self, hub: Obj) -> Demand:
        """Return what the pods that a Job still has to run side by side need together."""
        return of_job(hub)

    def priority_class(self, hub: Obj) -> str:
        """Name the PriorityClass of a Job's pods; empty: the one of those that name none."""
        return hub["spec"]["template"]["spec"].get("priorityClassName") or ""

    def gang(self, hub: Obj) -> Gang | None:
        """Return nothing: a Job goes alone."""
        return None

    def refusal(self, hub: Obj) -> str | None:
        """Take every Job."""
        return None

    def is_suspended(self, hub: Obj) -> bool:
        """Tell whether its user wants it not to run."""
        return bool(hub["spec"].get("suspend"))

    def finish(self, obj: Obj) -> str | None:
        """Return how a Job ended, Complete or Failed; None if it did not."""
        condition = status.end(obj.get("status") or {})
        return condition["type"] if condition else None

    def finished_at(self, hub: Obj) -> datetime | None:
        """Return when it ended on the hub; whoever wrote the end may have left that out."""
        ended = (status.end(hub.get("status") or {}) or {}).get("lastTransitionTime")
        return times.instant(ended) if ended else None

    def resumed_at(self, hub: Obj) -> datetime | None:
        """Return when it was last suspended or resumed on the hub."""
        listed = (hub.get("status") or {}).get("conditions")
        since = (conditions.find(listed, SUSPENDED) or {}).get("lastTransitionTime")
        return times.instant(since) if since else None

    def has_run(self, hub: Obj) -> bool:
        """Tell whether its status shows a start, or any pod."""
        shown = hub.get("status") or {}
        members = ("active", "succeeded", "failed", "terminating")
        return bool(shown.get("startTime")) or any(count(shown, each) for each in members)

    def has_run_since(self, hub: Obj, base: Earned) -> bool:
        """Tell whether its status shows more than what was earned before this attempt."""
        shown = hub.get("status") or {}
        earned = bases.read(base)
        return (
            status.has_pods(shown)
            or count(shown, "succeeded") > earned.succeeded
            or count(shown, "failed") > earned.failed
        )

    # Its mirror

    def mirror(self, hub: Obj, marks: Marks, base: Earned) -> Obj:
        """Return the Job to create on a worker."""
        made = draft(hub, bases.read(base))
        return edits.note(marks.stamp(made), hub, made)

    def dropped_fields(self, sent: Obj, answer: Obj) -> list[str]:
        """Name what a worker dropped of a mirror's spec."""
        return dropped_fields(sent, answer)

    def edits(self, hub: Obj, mirror: Obj, base: Earned) -> Edits:
        """Compare a hub Job with its mirror and with what was forwarded."""
        return edits.edits(hub, mirror, bases.read(base))

    def waits_since(self, mirror: Obj) -> datetime | None:
        """Return when a mirror was started of which no pod was ever ready or ended."""
        return status.waits_since(mirror.get("status") or {})

    # Its status

    def report(self, hub: Obj, mirror: Obj, base: Earned, now: datetime) -> Report | None:
        """Return the mirror's status on top of the base, as the hub accepts it."""
        wanted = moving.wanted_status(hub, mirror, bases.read(base))
        return _report(hub, legal.legalise(hub, wanted, now))

    def is_about_to_end(self, mirror: Obj) -> bool:
        """Tell whether only the condition is missing that ends it."""
        return status.is_about_to_end(mirror.get("status") or {})

    def waiting(self, hub: Obj, now: datetime) -> Report | None:
        """Return the status of a Job that runs nowhere."""
        return _report(hub, legal.unplaced(hub, now))

    def fail(self, hub: Obj, reason: str, message: str, now: datetime) -> Report | None:
        """Return the status of a Job that we give up ourselves."""
        return _report(hub, legal.fail(hub, reason, message, now))

    def idle(self, hub: Obj) -> Obj:
        """Return the merge patch of the status of a Job that has no pods."""
        return IDLE

    # Moving it

    def stop(self, mirror: Obj) -> Obj | None:
        """Return the merge patch that suspends a mirror."""
        return {"spec": {"suspend": True}}

    def stillness(self, mirror: Obj) -> Stillness:
        """Tell whether pods of a mirror run, or may.

        Of one that was deleted a worker starts no more pods, but those that run may run to their end.
        """
        said = mirror.get("status") or {}
        runs = bool(count(said, "active") or count(said, "terminating"))
        if is_going(mirror):
            return Stillness.RUNS if runs else Stillness.STOPPED
        if not is_suspended(said):
            return Stillness.RUNS
        if not mirror["spec"].get("suspend"):
            return Stillness.RESUMES
        return Stillness.RUNS if runs else Stillness.STOPPED

    def stopped_at(self, mirror: Obj) -> datetime | None:
        """Return when a mirror said that it is suspended."""
        return self.resumed_at(mirror)

    def resume(self, hub: Obj, mirror: Obj, base: Earned, now: datetime) -> Obj:
        """Return the merge patch that lets a mirror which we suspended be as the hub wants it."""
        return edits.resume(hub, mirror, bases.read(base), now)

    def carried(self, hub: Obj, mirror: Obj | None, base: Earned, now: datetime) -> Earned:
        """Return the base of the next attempt."""
        return bases.write(moving.carried(hub, mirror, bases.read(base), now))

    def earlier(self, hub: Obj, mirror: Obj) -> Earned:
        """Return the base that a mirror was made with, as far as it can be told."""
        return bases.write(moving.earlier(hub, mirror))

    def outcome(
        self, hub: Obj, mirror: Obj | None, base: Earned, now: datetime
    ) -> Report | None:
        """Return the status of a Job of which nothing is left to run; None if there is."""
        wanted = moving.outcome(hub, mirror, bases.read(base))
        return _report(hub, legal.legalise(hub, wanted, now)) if wanted else None


def _report(hub: Obj, wanted: Obj) -> Report | None:
    patch = legal.patch(hub, wanted)
    return Report(patch, _type(wanted)) if patch else None


def _type(said: Obj) -> str | None:
    condition = status.end(said)
    return condition["type"] if condition else None


JOB = JobKind()
"""Knows nothing but its arguments: one is enough for all."""
