"""What a pass over a Job looks at, and what follows from it at once."""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import backoff, index_text, pods, policies
from jobferry.localkube.controllers.job.backoff import Record
from jobferry.localkube.controllers.job.jobs import Job
from jobferry.localkube.controllers.job.policies import Verdict
from jobferry.objects.indexes import IndexSet


@dataclass(frozen=True, kw_only=True)
class View:
    """A Job and its pods at one moment.

    Nothing of what we did ourselves is missing here: every answer to a write is in the informers before the
    next pass, so there is nothing that has to be expected.
    """

    job: Job
    pods: tuple[Pod, ...]
    """Its own, in no order."""

    now: datetime
    finalizer: str
    """Keeps a pod until it is accounted for."""

    record: Record = backoff.NONE

    # Pods by what they do

    @cached_property
    def active(self) -> list[Pod]:
        """The pods that run, or will."""
        return [pod for pod in self.pods if pods.is_active(pod)]

    @cached_property
    def terminating(self) -> list[Pod]:
        """The pods that are deleted, but have not ended yet."""
        return [pod for pod in self.pods if pods.is_terminating(pod)]

    @cached_property
    def tracked(self) -> list[Pod]:
        """The pods that are not accounted for yet."""
        return [pod for pod in self.pods if self.finalizer in pod.metadata.finalizers]

    @cached_property
    def uncounted_succeeded(self) -> frozenset[str]:
        """The UIDs of pods that are noted as ended well, but not counted yet."""
        return frozenset(self.job.uncounted("succeeded"))

    @cached_property
    def uncounted_failed(self) -> frozenset[str]:
        """The UIDs of pods that are noted as failed, but not counted yet."""
        return frozenset(self.job.uncounted("failed"))

    @cached_property
    def new_succeeded(self) -> list[Pod]:
        """The pods that ended well, of which nothing is noted yet."""
        return [
            pod
            for pod in self._counting
            if pods.has_succeeded(pod) and pod.metadata.uid not in self.uncounted_succeeded
        ]

    @cached_property
    def new_failed(self) -> list[Pod]:
        """The pods that failed, of which nothing is noted yet."""
        return [
            pod for pod in self._all_failed if pod.metadata.uid not in self.uncounted_failed
        ]

    @cached_property
    def _counting(self) -> list[Pod]:
        return [pod for pod in self.tracked if pods.is_counted(pod, self.job.spec)]

    @cached_property
    def _all_failed(self) -> list[Pod]:
        return [pod for pod in self._counting if self.has_failed(pod)]

    def has_failed(self, pod: Pod) -> bool:
        """Tell whether a pod has failed."""
        return pods.has_failed(pod, self.job.spec)

    def judge(self, pod: Pod) -> Verdict:
        """Say what the Job's own rules make of the failure of a pod."""
        return policies.judge(self.job.spec.pod_failure_policy, pod)

    # Counts

    @cached_property
    def succeeded(self) -> int:
        """How many pods, or indexes, are done."""
        if self.job.spec.is_indexed:
            return len(self.completed)
        noted = self.job.status.get("succeeded") or 0
        return noted + len(self.uncounted_succeeded) + len(self.new_succeeded)

    @cached_property
    def failed(self) -> int:
        """How many pods have failed, in ways that count."""
        noted = self.job.status.get("failed") or 0
        new = sum(self.judge(pod).counts for pod in self.new_failed)
        return noted + len(self.uncounted_failed) + new

    @cached_property
    def next_record(self) -> Record:
        """What is to be remembered of failures once the pods are accounted for."""
        return backoff.after(self.record, self.new_succeeded, self.new_failed)

    # Indexes

    @cached_property
    def noted_completed(self) -> IndexSet:
        """The indexes that stand in the status as done."""
        return index_text.read(self.job.status.get("completedIndexes"), self.job.spec.size)

    @cached_property
    def completed(self) -> IndexSet:
        """The indexes that are done."""
        found = IndexSet.of(
            number
            for pod in self._counting
            if pods.has_succeeded(pod) and (number := pods.index(pod)) is not None
        )
        # An index is done or has failed, never both: an API server refuses such a status.
        return self.noted_completed | (found - self._noted_failed_indexes)

    @cached_property
    def failed_indexes(self) -> IndexSet | None:
        """The indexes that are not tried again; None if the Job does not count by index."""
        if self.job.spec.backoff_limit_per_index is None:
            return None
        found = IndexSet.of(
            number
            for pod in self._all_failed
            if self._fails_its_index(pod) and (number := pods.index(pod)) is not None
        )
        return self._noted_failed_indexes | (found - self.completed)

    @cached_property
    def _noted_failed_indexes(self) -> IndexSet:
        return index_text.read(self.job.status.get("failedIndexes"), self.job.spec.size)

    def _fails_its_index(self, pod: Pod) -> bool:
        verdict = self.judge(pod)
        if verdict.action == policies.FAIL_INDEX:
            return True
        limit = self.job.spec.backoff_limit_per_index
        return limit is not None and verdict.counts and pods.failures(pod) >= limit

    @cached_property
    def delayed(self) -> dict[int, Pod]:
        """The last failed pod of each index that is to be tried again.

        It is kept until its replacement is there, which carries its count of failures on.
        """
        last: dict[int, Pod] = {}
        if self.failed_indexes is None:
            return last
        active = {pods.index(pod) for pod in self.active}
        for pod in self._all_failed:
            number = pods.index(pod)
            if number is None or number in active:
                continue
            is_over = number in self.completed or number in self.failed_indexes
            if not is_over and (number not in last or _is_later(pod, last[number])):
                last[number] = pod
        return last

    # Time

    @cached_property
    def start(self) -> datetime | None:
        """When the Job began to run: now, if nothing but this pass was missing."""
        noted = self.job.time("startTime")
        return self.now if noted is None and not self.job.spec.suspend else noted


def _is_later(pod: Pod, than: Pod) -> bool:
    return pods.all_failures(pod) >= pods.all_failures(than) and pods.finish_time(
        pod
    ) >= pods.finish_time(than)
