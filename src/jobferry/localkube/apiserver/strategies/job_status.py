"""What is wrong with a change to the status of a Job; the rules bear the numbers of our facts.

Most rules only look at what a change touches: a Job that is in a bad state already can still get
unrelated updates.
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.times import exact
from jobferry.localkube.apiserver.validation import values
from jobferry.objects import Obj, indexes

_TERMINAL = ("Failed", "Complete", "FailureTarget")
_CONDITIONS = "status.conditions"


@dataclass(frozen=True, slots=True)
class _Change:
    """A status, what it was, and which conditions are true in both."""

    spec: Obj
    new: Obj
    old: Obj
    true: Set[str]
    was_true: Set[str]

    def flipped(self, *conditions: str) -> bool:
        """Tell whether any of these conditions became true, or stopped being so."""
        return any((name in self.true) != (name in self.was_true) for name in conditions)

    def touched(self, member: str) -> bool:
        """Tell whether a field changed; absent and zero differ."""
        return bool(self.new.get(member) != self.old.get(member))

    def moved(self, member: str) -> bool:
        """Tell whether a time changed, if only by a fraction of a second that is not stored."""
        return exact(self.new.get(member)) != exact(self.old.get(member))

    def count(self, member: str) -> int:
        """Return a counter."""
        return int(self.new.get(member) or 0)

    @property
    def finished(self) -> bool:
        """Tell whether the Job is finished now."""
        return "Complete" in self.true or "Failed" in self.true

    @property
    def ended(self) -> bool:
        """Tell whether the Job finished by this change (or, which is as bad, was revived)."""
        return self.finished != ("Complete" in self.was_true or "Failed" in self.was_true)


def status_problems(job: Obj, old: Obj) -> Iterator[Problem]:
    """Say what is wrong with a changed status."""
    new, was = job.get("status") or {}, old.get("status") or {}
    change = _Change(job["spec"], new, was, _true(new), _true(was))
    yield from _numbers_problems(new)
    yield from _conditions_problems(change)
    yield from _finished_problems(change)
    yield from _indexes_problems(change)
    yield from _pods_problems(change)
    yield from _success_problems(change)
    yield from _history_problems(change)


def _true(status: Obj) -> Set[str]:
    return {
        condition.get("type")
        for condition in status.get("conditions") or ()
        if condition.get("status") == "True"
    }


def _numbers_problems(status: Obj) -> Iterator[Problem]:
    for member in ("active", "succeeded", "failed", "ready", "terminating"):  # S1 to S5
        yield from values.not_negative(f"status.{member}", status.get(member))
    uncounted = status.get("uncountedTerminatedPods") or {}
    seen: set[str] = set()
    for member in ("succeeded", "failed"):  # S6, S7
        for index, uid in enumerate(uncounted.get(member) or ()):
            field = f"status.uncountedTerminatedPods.{member}[{index}]"
            if not uid:
                yield problems.invalid(field, uid, "must not be empty")
            elif uid in seen:
                yield problems.duplicate(field, uid)
            seen.add(uid)


def _conditions_problems(change: _Change) -> Iterator[Problem]:
    complete, failed = "Complete" in change.true, "Failed" in change.true
    target = "FailureTarget" in change.true
    if complete and failed and change.flipped("Complete", "Failed"):  # S8
        what = "cannot set Complete=True and Failed=true conditions"
        yield problems.invalid_here(_CONDITIONS, what)
    if complete and target and change.flipped("Complete", "FailureTarget"):  # S9
        what = "cannot set Complete=True and FailureTarget=true conditions"
        yield problems.invalid_here(_CONDITIONS, what)
    yield from _times_problems(change, complete=complete)
    if failed and not target and (change.flipped("Failed") or change.touched("failedIndexes")):
        what = "cannot set Failed=True condition without the FailureTarget=true condition"
        yield problems.invalid_here(_CONDITIONS, what)  # S13
    met = "SuccessCriteriaMet"
    if complete and met not in change.true and change.flipped("Complete", met):  # S14
        what = (
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        )
        yield problems.invalid_here(_CONDITIONS, what)


def _times_problems(change: _Change, *, complete: bool) -> Iterator[Problem]:
    field, end = "status.completionTime", change.new.get("completionTime")
    start, ended = change.new.get("startTime"), change.moved("completionTime")
    if change.flipped("Complete") or ended:
        if end is not None and not complete:  # S10
            what = "cannot set completionTime when there is no Complete=True condition"
            yield problems.invalid(field, end, what)
        if end is None and complete:  # S11
            yield problems.required(field, "completionTime is required for Complete jobs")
    moved = ended or change.moved("startTime")
    if moved and start and end and exact(end) < exact(start):  # S12
        yield problems.invalid(field, end, "must be equal to or after `startTime`")


def _finished_problems(change: _Change) -> Iterator[Problem]:
    if not change.finished:
        return
    active = change.count("active")
    if active > 0 and (change.ended or change.touched("active")):  # S15
        what = "active>0 is invalid for finished job"
        yield problems.invalid("status.active", active, what)
    never_ran = change.spec.get("suspend") and change.spec.get("completions") == 0
    started = change.new.get("startTime") is not None or never_ran
    if not started and (change.ended or change.moved("startTime")):  # S16
        what = "startTime is required for finished job"
        yield problems.required("status.startTime", what)
    uncounted = change.new.get("uncountedTerminatedPods")
    was = change.old.get("uncountedTerminatedPods")
    counting = uncounted and any(uncounted.values())
    if counting and (change.ended or not values.same(uncounted, was)):  # S17
        what = "must be empty for finished job"
        yield problems.invalid("status.uncountedTerminatedPods", uncounted, what)


def _indexes_problems(change: _Change) -> Iterator[Problem]:
    completions, spec = change.spec.get("completions"), change.spec
    completed = change.new.get("completedIndexes") or ""
    failed = change.new.get("failedIndexes")
    completed_touched = completed != (change.old.get("completedIndexes") or "")
    failed_touched = change.touched("failedIndexes")
    limited = spec.get("backoffLimitPerIndex") is not None
    if completions is not None and completed_touched:  # S18
        yield from _format_problems(completed, completions, "completedIndexes")
    if completions is not None and failed_touched and limited and failed is not None:  # S19
        yield from _format_problems(failed, completions, "failedIndexes")
    if completed_touched and completed and spec.get("completionMode") != "Indexed":  # S20
        what = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield problems.invalid("status.completedIndexes", completed, what)
    if failed is None:
        return
    if failed_touched and not limited:  # S21
        what = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield problems.invalid("status.failedIndexes", failed, what)
    if completions is not None and (failed_touched or completed_touched):  # S22
        overlap = _overlap(completed, failed, completions)
        if overlap is not None:
            what = f"failedIndexes and completedIndexes overlap at index: {overlap}"
            yield problems.invalid("status.failedIndexes", failed, what)


def _format_problems(text: str, completions: int, member: str) -> Iterator[Problem]:
    try:
        indexes.parse(text, completions)
    except indexes.BadIndexes as error:
        yield problems.invalid(f"status.{member}", text, f"error parsing {member}: {error}")


def _overlap(completed: str, failed: str, completions: int) -> int | None:
    """Return an index in both lists; as upstream, only where both lists are in order."""
    ours, theirs = _intervals(completed, completions), _intervals(failed, completions)
    while ours and theirs:
        (first, last), (other_first, other_last) = ours[-1], theirs[-1]
        if first <= other_last and other_first <= last:
            return max(first, other_first)
        (ours if first <= other_first else theirs).pop()
    return None


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    """Return the intervals that can be read, the last one first."""
    found: list[tuple[int, int]] = []
    for fragment in text.split(","):
        try:
            found += indexes.parse(fragment, completions).intervals()
        except indexes.BadIndexes:
            continue
    return found[::-1]


def _pods_problems(change: _Change) -> Iterator[Problem]:
    terminating, ready = change.count("terminating"), change.count("ready")
    lingering = change.finished and terminating > 0
    if lingering and (change.ended or change.touched("terminating")):  # S23
        what = "terminating>0 is invalid for finished job"
        yield problems.invalid("status.terminating", terminating, what)
    moved = change.touched("ready") or change.count("active") != (change.old.get("active") or 0)
    if moved and "ready" in change.new and ready > change.count("active"):  # S24
        yield problems.invalid("status.ready", ready, "cannot set more ready pods than active")


def _success_problems(change: _Change) -> Iterator[Problem]:
    met = "SuccessCriteriaMet" in change.true
    for other in ("Failed", "FailureTarget"):  # S26, S27
        if met and other in change.true:
            what = f"cannot set SuccessCriteriaMet=True and {other}=true conditions"
            yield problems.invalid_here(_CONDITIONS, what)
    with_policy = change.spec.get("successPolicy") is not None
    if with_policy and "Complete" in change.true and not met:  # S29
        what = (
            "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        )
        yield problems.invalid_here(_CONDITIONS, what)


def _history_problems(change: _Change) -> Iterator[Problem]:
    for name in _TERMINAL:  # S30 to S32
        if name in change.was_true and name not in change.true:
            what = f"cannot disable the terminal {name}=True condition"
            yield problems.invalid_here(_CONDITIONS, what)
    spec = change.spec
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get(
        "parallelism"
    )
    for member in ("failed", "succeeded")[: 1 if elastic else 2]:  # S33, S34
        number = change.count(member)
        if number < (change.old.get(member) or 0):
            what = f"cannot decrease the {member} counter"
            yield problems.invalid(f"status.{member}", number, what)
    yield from _frozen_times_problems(change)
    met = "SuccessCriteriaMet"
    if met in change.was_true and met not in change.true:  # S37
        what = "cannot disable the SuccessCriteriaMet=True condition"
        yield problems.invalid_here(_CONDITIONS, what)
    if "Complete" in change.was_true and met not in change.was_true and met in change.true:
        what = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        yield problems.invalid_here(_CONDITIONS, what)  # S38


def _frozen_times_problems(change: _Change) -> Iterator[Problem]:
    end, was = change.new.get("completionTime"), change.old.get("completionTime")
    if end is not None and was is not None and change.moved("completionTime"):  # S35
        yield problems.invalid("status.completionTime", end, values.IMMUTABLE)
    resuming = "Suspended" in change.was_true and any(
        condition.get("type") == "Suspended" and condition.get("status") == "False"
        for condition in change.new.get("conditions") or ()
    )
    started = change.old.get("startTime") is not None and change.moved("startTime")
    if started and not resuming and not change.spec.get("suspend"):  # S36
        what = "startTime cannot be removed for unsuspended job"
        yield problems.required("status.startTime", what)
