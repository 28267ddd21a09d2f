"""Who leads according to a Lease, and what a candidate does about it: pure functions on a `State`.

Nobody reads the clock of another. The leader counts from the moment at which it sent its last renewal that
succeeded, and stops after `deadline`; the others count from the moment at which they saw that renewal, which is
later, and take over after `duration`, which is longer. A renewal that they did not see makes their write fail:
each is guarded by the resourceVersion it was decided on.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import inf

import msgspec

from jobferry.clock import Seconds
from jobferry.errors import BadInput
from jobferry.kube.items import Head
from jobferry.objects import Obj
from jobferry.objects.times import micro_timestamp

JITTER = 0.1
"""The share of `retry` by which a candidate is late at random, so that not all try at the same moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long leadership lasts."""

    duration: int = 15
    """Seconds after the last renewal that was seen until somebody else may take over."""

    deadline: Seconds = 10.0
    """A leader that could not renew for this long stops; what is left of `duration` is for cleaning up."""

    retry: Seconds = 2.0
    """A leader renews this often; whoever failed to reach the server waits this long."""

    def __post_init__(self) -> None:
        if not 0 < 2 * self.retry <= self.deadline < self.duration:
            raise BadInput(
                f"a lease of {self.duration} s, to be renewed within {self.deadline:g} s, tried every"
                f" {self.retry:g} s, is not safe",
                hint="The deadline must be less than the duration and give time for two tries.",
            )

    @property
    def patience(self) -> Seconds:
        """How long an answer may take: one that never comes must not cost the leadership."""
        return self.deadline / 2  # a second try has to fit in


TERMS = Terms()
"""What Kubernetes' own controllers use."""


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a Lease says."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    lease_transitions: int = 0
    renew_time: str = ""


class LeaseHead(Head, frozen=True, gc=False):
    """A Lease as it was at one resourceVersion."""

    spec: Spec = Spec()


@dataclass(frozen=True, slots=True)
class State:
    """All that a candidate knows; times are readings of its own monotonic clock."""

    record: LeaseHead | None = None
    """The Lease as last seen; None: there was none."""

    is_current: bool = False
    """False until the Lease was looked at, and after it proved to be another than `record`."""

    free_at: Seconds = -inf
    """From then on nobody leads, if `record` stays as it is."""

    renewed_at: Seconds | None = None
    """When the write was sent by which we lead; None: we do not."""

    rest_until: Seconds = -inf
    """A try failed; the next one is not before this."""

    is_in_doubt: bool = False
    """A claim was sent whose answer is not known: it may have been, or yet be, carried out."""

    @property
    def holder(self) -> str:
        """Who leads according to the Lease; empty: nobody."""
        return self.record.spec.holder_identity if self.record else ""


@dataclass(frozen=True, slots=True)
class ReadLease:
    """Read the Lease."""

    within: Seconds


@dataclass(frozen=True, slots=True)
class WriteLease:
    """Write ourselves into the Lease."""

    within: Seconds


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so long, unless there is news."""

    delay: Seconds


@dataclass(frozen=True, slots=True)
class StepDown:
    """Stop leading, at once."""

    why: str


Action = ReadLease | WriteLease | Wait | StepDown


def see(state: State, record: LeaseHead | None, now: Seconds) -> State:
    """Take in what the Lease looks like now."""
    if record is None:
        # Deleted by hand. Whoever held it may not have noticed, so `free_at` stays as it was.
        return replace(state, record=None)
    if record == state.record:
        return state
    held = record.spec.lease_duration_seconds if record.spec.holder_identity else 0
    return replace(state, record=record, free_at=now + held)


def decide(state: State, me: str, terms: Terms, now: Seconds, chance: float) -> Action:
    """Say what a candidate does now; `chance` is a random number from 0 to 1."""
    if state.renewed_at is None:
        return _as_standby(state, me, terms, now, chance)
    if why := why_not(state, me, terms, now):
        return StepDown(why)
    return _as_leader(state, state.renewed_at, terms, now)


def why_not(state: State, me: str, terms: Terms, now: Seconds) -> str | None:
    """Say why we must not act as the leader; None: we may."""
    if state.renewed_at is None:
        return "it was not taken"
    if now >= state.renewed_at + terms.deadline:
        return f"it could not be renewed within {terms.deadline:g} s"
    if state.record is None:
        return "it was deleted"
    if state.holder != me:
        return f"{state.holder or 'nobody'} holds it"
    return None


def may_have_claimed(state: State, me: str, now: Seconds) -> bool:
    """Tell whether the others may take us for the leader, though we never learnt that we are."""
    # Otherwise somebody else wrote meanwhile, so that our claim failed or will.
    return state.is_in_doubt and (state.holder == me or now >= state.free_at)


def _as_standby(state: State, me: str, terms: Terms, now: Seconds, chance: float) -> Action:
    late = JITTER * terms.retry * chance
    if now < state.rest_until:
        return Wait(state.rest_until - now + late)
    if not state.is_current:
        return ReadLease(terms.patience)
    # Ours without leading: the answer to an earlier write never came.
    if state.holder == me or now >= state.free_at:
        return WriteLease(terms.patience)
    return Wait(state.free_at - now + late)


def _as_leader(state: State, renewed_at: Seconds, terms: Terms, now: Seconds) -> Action:
    left = renewed_at + terms.deadline - now
    due = max(state.rest_until, renewed_at + terms.retry if state.is_current else -inf)
    if now < due:
        return Wait(min(due - now, left))
    within = min(terms.patience, left)
    return WriteLease(within) if state.is_current else ReadLease(within)


def claim(record: LeaseHead | None, me: str, terms: Terms, now: datetime) -> Obj:
    """Return what to write into a Lease to take or keep it; `now` only informs people."""
    spec: Obj = {"holderIdentity": me, "leaseDurationSeconds": terms.duration}
    if record is None or record.spec.holder_identity != me:
        spec["acquireTime"] = micro_timestamp(now)
        spec["leaseTransitions"] = record.spec.lease_transitions + 1 if record else 0
    elif record.spec.renew_time == micro_timestamp(now):
        # A write that changes nothing is none, and the others would not see it.
        now += timedelta(microseconds=1)
    return {**spec, "renewTime": micro_timestamp(now)}


def release(now: datetime) -> Obj:
    """Return what to write into a Lease to give it up."""
    return {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micro_timestamp(now)}
