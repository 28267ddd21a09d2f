"""One pass over a Job: three decisions, with requests between them.

    plan = sync.plan(view)                        which pods to create and to delete
    account = sync.conclude(plan, done)           what is noted of those that ended; who is let go
    verdict = sync.settle(account, let_go)        what is counted; whether the Job is over

All of it is pure. `done` and `let_go` say what became of the requests.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from jobferry.clock import Seconds
from jobferry.kube.events import Type
from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import (
    accounting,
    drafts,
    endings,
    management,
    pods,
    statuses,
)
from jobferry.localkube.controllers.job.endings import Ending
from jobferry.localkube.controllers.job.view import View
from jobferry.objects import Obj
from jobferry.objects.times import timestamp


class News(NamedTuple):
    """What people are told."""

    type: Type
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done about pods."""

    view: View
    ending: Ending | None = None
    stop: Sequence[Pod] = ()
    """Pods to delete since the Job is to end; they are still accounted for."""

    remove: Sequence[Pod] = ()
    """Pods to delete since they are too many; they are forgotten."""

    create: Sequence[Obj] = ()
    is_managed: bool = False
    after: Seconds | None = None
    """When to look again, if nothing happens before."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a plan."""

    deleted: frozenset[str] = frozenset()
    """The UIDs of pods that were deleted, or are gone."""

    created: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What is to be written before pods are let go."""

    view: View
    status: Obj
    release: Sequence[Pod]
    """The pods that need not be kept once that is written."""

    ending: Ending | None
    is_partial: bool
    """Whether more pods are to be accounted for than fit into a status."""

    news: Sequence[News] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is to be written once pods were let go."""

    status: Obj
    is_finished: bool
    news: Sequence[News] = field(default_factory=tuple)


def plan(view: View) -> Plan:
    """Decide which pods to create and to delete."""
    ending = endings.decide(view)
    if ending is not None:
        return Plan(view=view, ending=ending, stop=view.active)
    after = endings.time_left(view)
    if view.job.metadata.is_deleted:
        return Plan(view=view, after=after)
    wish = management.wish(view)
    times = [time for time in (after, wish.after) if time is not None]
    return Plan(
        view=view,
        remove=wish.remove,
        create=[drafts.draft(view, index) for index in wish.create],
        is_managed=True,
        after=min(times, default=None),
    )


def conclude(plan: Plan, done: Done) -> Account:
    """Decide what is noted of the pods, now that the plan was carried out as far as it could be."""
    view = plan.view
    gone = [pod for pod in view.active if pod.metadata.uid in done.deleted]
    active = len(view.active) - len(gone) + done.created
    ready = sum(pods.is_ready(pod) for pod in view.active) - sum(map(pods.is_ready, gone))
    status = statuses.count(
        _started(view),
        active=active,
        ready=ready,
        terminating=len(view.terminating) + len(gone),
    )
    ending = plan.ending
    if ending is not None and len(gone) < len(plan.stop):
        ending = None  # a pod that still runs may change what is counted
    news: list[News] = []
    if plan.ending is None and endings.is_complete(view, active):
        ending = endings.COMPLETED
    elif plan.is_managed:
        status, news = _suspended(view, status)
    tally = accounting.account(view, status, ending)
    return Account(
        view=view,
        status=tally.status,
        release=tally.release,
        ending=ending,
        is_partial=tally.is_partial,
        news=news,
    )


def settle(account: Account, let_go: Collection[str]) -> Verdict:
    """Decide what is counted, now that these pods (their UIDs) are let go, and whether the Job is over."""
    tracked = {pod.metadata.uid for pod in account.view.tracked} - set(let_go)
    status = statuses.count_noted(account.status, tracked)
    verdict = Verdict(status=status, is_finished=False)
    is_over = (
        account.ending is not None
        and not account.is_partial
        and not any(status["uncountedTerminatedPods"].values())
        and not status["terminating"]
        and _may_finish(account.view, status)
    )
    return _finished(verdict, account) if is_over else verdict


def _started(view: View) -> Obj:
    """Return the status of a Job that runs, unless it is suspended."""
    status = view.job.status
    if view.start is None or status.get("startTime") is not None:
        return status
    return {**status, "startTime": timestamp(view.start)}


def _suspended(view: View, status: Obj) -> tuple[Obj, list[News]]:
    """Say that a Job is suspended, or is no longer."""
    if view.job.spec.suspend:
        said = News("Normal", "Suspended", "Job suspended")
        entry = statuses.condition("Suspended", "JobSuspended", said.message, view.now)
        changed = statuses.add(status, entry)
    else:
        said = News("Normal", "Resumed", "Job resumed")
        entry = statuses.condition("Suspended", "JobResumed", said.message, view.now, "False")
        if not any(each["type"] == "Suspended" for each in status.get("conditions") or ()):
            return status, []
        changed = statuses.add(status, entry)
        if changed is not status:
            changed = {**changed, "startTime": timestamp(view.now)}
    return changed, [] if changed is status else [said]


def _may_finish(view: View, status: Obj) -> bool:
    # An API server lets no Job finish that never started. One that was ended while it is suspended (since
    # somebody wrote its status) has to wait until it is resumed.
    is_empty = view.job.spec.suspend and view.job.spec.completions == 0
    return status.get("startTime") is not None or is_empty


def _finished(verdict: Verdict, account: Account) -> Verdict:
    view, ending = account.view, account.ending
    assert ending is not None  # noqa: S101 (the caller has looked)
    # Our clock may have been set back, but no Job ends before it started.
    end = max(view.now, view.start or view.now)
    final = statuses.condition(ending.final_condition, ending.reason, ending.message, end)
    status = statuses.add(verdict.status, final)
    if ending.is_success:
        status = {**status, "completionTime": timestamp(end)}
    return replace(verdict, status=status, is_finished=True, news=_told(view, ending, status))


def _told(view: View, ending: Ending, status: Obj) -> list[News]:
    if not ending.is_success:
        return [News("Warning", ending.reason, ending.message)]
    news = [News("Normal", "Completed", "Job completed")]
    wanted = view.job.spec.completions
    if wanted is not None and (status.get("succeeded") or 0) > wanted:
        text = "Too many succeeded pods running after completion count reached"
        news.insert(0, News("Warning", "TooManySucceededPods", text))
    return news
