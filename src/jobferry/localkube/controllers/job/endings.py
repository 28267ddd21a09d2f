"""Whether a Job is to end, and why."""

from dataclasses import dataclass

from jobferry.clock import Seconds
from jobferry.localkube.controllers.job import pods, policies
from jobferry.localkube.controllers.job.view import View
from jobferry.objects import conditions

SUCCESS = "SuccessCriteriaMet"
FAILURE = "FailureTarget"


@dataclass(frozen=True, slots=True)
class Ending:
    """That a Job is to end."""

    condition: str
    """What says so until all of its pods are gone."""

    reason: str
    message: str

    @property
    def is_success(self) -> bool:
        """Whether it ends well."""
        return self.condition == SUCCESS

    @property
    def final_condition(self) -> str:
        """What says that it has ended."""
        return "Complete" if self.is_success else "Failed"


COMPLETED = Ending(SUCCESS, "CompletionsReached", "Reached expected number of succeeded pods")
_TOO_MANY_FAILURES = Ending(
    FAILURE, "BackoffLimitExceeded", "Job has reached the specified backoff limit"
)
_TOO_LATE = Ending(FAILURE, "DeadlineExceeded", "Job was active longer than specified deadline")
_TOO_MANY_INDEXES = Ending(
    FAILURE,
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)
_SOME_INDEXES = Ending(FAILURE, "FailedIndexes", "Job has failed indexes")


def decide(view: View) -> Ending | None:
    """Say whether a Job is to end, other than by having done all that was asked."""
    return _noted(view) or _failure(view) or _index_failure(view) or _success(view)


def time_left(view: View) -> Seconds | None:
    """Return how long a Job may run yet; None if no end is set."""
    limit = view.job.spec.active_deadline_seconds
    if limit is None or view.start is None or view.job.spec.suspend:
        return None
    return limit - (view.now - view.start).total_seconds()


def is_complete(view: View, active: int) -> bool:
    """Tell whether all that was asked for is done, if so many pods are active."""
    wanted = view.job.spec.completions
    is_enough = view.succeeded > 0 if wanted is None else view.succeeded >= wanted
    return is_enough and active == 0


def _noted(view: View) -> Ending | None:
    """Return the end that stands in the status already: it is not taken back."""
    entries = [each for each in view.job.status.get("conditions") or () if _is_true(each)]
    for type in (SUCCESS, FAILURE):
        entry = conditions.find(entries, type)
        if entry is not None:
            return Ending(type, entry.get("reason") or "", entry.get("message") or "")
    return None


def _is_true(condition: dict[str, str]) -> bool:
    return condition.get("status") == "True"


def _failure(view: View) -> Ending | None:
    for pod in view.pods:
        if view.has_failed(pod) and (verdict := view.judge(pod)).action == policies.FAIL_JOB:
            return Ending(FAILURE, "PodFailurePolicy", verdict.reason)
    if view.failed > view.job.spec.backoff_limit or _restarts_too_often(view):
        return _TOO_MANY_FAILURES
    left = time_left(view)
    return _TOO_LATE if left is not None and left <= 0 else None


def _restarts_too_often(view: View) -> bool:
    if not view.job.spec.restarts_in_place:
        return False
    return pods.restarts(view.pods) >= max(1, view.job.spec.backoff_limit)


def _index_failure(view: View) -> Ending | None:
    failed, spec = view.failed_indexes, view.job.spec
    if failed is None or not spec.is_indexed:
        return None
    if spec.max_failed_indexes is not None and len(failed) > spec.max_failed_indexes:
        return _TOO_MANY_INDEXES
    is_all = len(failed) + len(view.completed) >= spec.size
    return _SOME_INDEXES if len(failed) and is_all else None


def _success(view: View) -> Ending | None:
    spec = view.job.spec
    if not spec.is_indexed:
        return None
    rule = policies.met_rule(spec.success_policy, view.completed, spec.size)
    return (
        None
        if rule is None
        else Ending(SUCCESS, "SuccessPolicy", f"Matched rules at index {rule}")
    )
