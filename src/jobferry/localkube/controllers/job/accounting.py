"""Which pods have ended and how, so that each is counted once, whatever happens to us meanwhile.

A pod that ended is first noted in the Job's status, by its UID or, if that says enough, by its index. Only then
it is let go, by dropping the finalizer that keeps it; and only then it is counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import pods, statuses
from jobferry.localkube.controllers.job.endings import Ending
from jobferry.localkube.controllers.job.view import View
from jobferry.objects import Obj

MOST = 500
"""Pods that are noted at once: more would make a status too large."""


@dataclass(frozen=True, slots=True)
class Tally:
    """A status in which all is noted, and the pods that can be let go after that."""

    status: Obj
    release: Sequence[Pod]
    is_partial: bool


def account(view: View, status: Obj, ending: Ending | None) -> Tally:
    """Note the pods that have ended; with the Job, all do."""
    notes = _Notes(view, status, ending)
    release = notes.take()
    status = statuses.note(notes.status, notes.succeeded, notes.failed)
    status = _indexes(view, status)
    if ending is not None:
        status = _ending(view, status, ending)
    return Tally(status, release, notes.is_full)


class _Notes:
    """Goes through the pods, and notes what became of each."""

    def __init__(self, view: View, status: Obj, ending: Ending | None) -> None:
        self._view = view
        self._ending = ending
        tracked = {pod.metadata.uid for pod in view.tracked}
        self.status = statuses.count_noted(status, tracked)
        self.succeeded = statuses.uncounted(self.status, "succeeded")
        self.failed = statuses.uncounted(self.status, "failed")
        self._new_indexes = 0

    @property
    def is_full(self) -> bool:
        return self._new_indexes + len(self.succeeded) + len(self.failed) >= MOST

    def take(self) -> list[Pod]:
        release = []
        for pod in self._ordered():
            if self._is_free(pod):
                release.append(pod)
                self._note(pod)
                if self.is_full:
                    break
        return release

    def _ordered(self) -> Sequence[Pod]:
        tracked = self._view.tracked
        if not self._view.job.spec.is_indexed:
            return tracked
        return sorted(tracked, key=lambda pod: -1 if (i := pods.index(pod)) is None else i)

    def _is_free(self, pod: Pod) -> bool:
        """Tell whether a pod need not be kept once it is noted."""
        view = self._view
        if self._ending is not None or view.job.metadata.is_deleted or pods.has_succeeded(pod):
            return True
        if not view.has_failed(pod):
            return False
        index = pods.index(pod)
        return index is None or view.delayed.get(index) is not pod

    def _note(self, pod: Pod) -> None:
        if pod.metadata.uid in self._view.uncounted_failed:
            return
        if pods.has_succeeded(pod):
            self._note_success(pod)
        elif self._is_failure(pod):
            self.failed.append(pod.metadata.uid)

    def _is_failure(self, pod: Pod) -> bool:
        """Tell whether a pod counts as failed; in a Job that fails, those that have not ended do too."""
        view = self._view
        fails = self._ending is not None and not self._ending.is_success
        return (
            (fails or view.has_failed(pod))
            and pods.is_counted(pod, view.job.spec)
            and view.judge(pod).counts
        )

    def _note_success(self, pod: Pod) -> None:
        view = self._view
        if not view.job.spec.is_indexed:
            if pod.metadata.uid not in view.uncounted_succeeded:
                self.succeeded.append(pod.metadata.uid)
        elif (index := pods.index(pod)) is not None and index < view.job.spec.size:
            # Its index says enough: it is in the status, once, whoever counts it.
            self._new_indexes += index not in view.noted_completed


def _indexes(view: View, status: Obj) -> Obj:
    """Write which indexes are done and which are given up."""
    spec = view.job.spec
    if not spec.is_indexed:
        return status
    done = view.succeeded
    if spec.completions != spec.parallelism:
        # Whoever wrote a number that is too high: an API server does not let it go down.
        done = max(done, view.job.status.get("succeeded") or 0)
    status = statuses.count(status, succeeded=done)
    members: Obj = {"completedIndexes": str(view.completed)}
    if view.failed_indexes is not None:
        members["failedIndexes"] = str(view.failed_indexes)
    kept = {name: value for name, value in status.items() if name not in members}
    if not members["completedIndexes"]:
        del members["completedIndexes"]
    return kept | members


def _ending(view: View, status: Obj, ending: Ending) -> Obj:
    if view.job.has(ending.condition):
        return status
    entry = statuses.condition(ending.condition, ending.reason, ending.message, view.now)
    return {**status, "conditions": [*(status.get("conditions") or ()), entry]}
