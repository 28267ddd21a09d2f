"""What a Job's controller wants to know of a pod."""

from collections.abc import Iterable
from datetime import UTC, datetime

from jobferry.clock import span
from jobferry.localkube.controllers.heads import Condition, ContainerStatus, Pod
from jobferry.localkube.controllers.job.jobs import Spec, parsed
from jobferry.objects import gotext

INDEX = "batch.kubernetes.io/job-completion-index"
"""The annotation, and the label, that say which index a pod works on."""

FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
"""The annotations that say how often pods of the same index have failed before."""

_MOST = 2**31 - 1
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


def is_active(pod: Pod) -> bool:
    """Tell whether a pod runs, or will."""
    return not pod.is_finished and not pod.metadata.is_deleted


def is_terminating(pod: Pod) -> bool:
    """Tell whether a pod that was deleted has not ended yet."""
    return not pod.is_finished and pod.metadata.is_deleted


def is_ready(pod: Pod) -> bool:
    """Tell whether all containers of a pod are ready."""
    ready = condition(pod, "Ready")
    return ready is not None and ready.status == "True"


def has_succeeded(pod: Pod) -> bool:
    """Tell whether a pod has ended well."""
    return pod.status.phase == "Succeeded"


def has_failed(pod: Pod, spec: Spec) -> bool:
    """Tell whether a pod has failed; one that is deleted has, unless the Job waits to see."""
    if pod.status.phase == "Failed":
        return True
    return not spec.replaces_only_failed and is_terminating(pod)


def index(pod: Pod) -> int | None:
    """Return the index that a pod works on."""
    number = gotext.parse_int(pod.metadata.annotations.get(INDEX, ""))
    return None if number is None or number < 0 else number


def is_counted(pod: Pod, spec: Spec) -> bool:
    """Tell whether what becomes of a pod counts: those of an Indexed Job need one of its indexes."""
    if not spec.is_indexed:
        return True
    number = index(pod)
    return number is not None and number < spec.size


def failures(pod: Pod) -> int:
    """Return how often pods of the same index had failed before this one."""
    return _number(pod, FAILURES)


def ignored_failures(pod: Pod) -> int:
    """Return how often they had failed in ways that the Job ignores."""
    return _number(pod, IGNORED_FAILURES)


def all_failures(pod: Pod) -> int:
    """Return how often they had failed in whichever way."""
    return failures(pod) + ignored_failures(pod)


def restarts(pods: Iterable[Pod]) -> int:
    """Return how often containers of unfinished pods were started again."""
    return sum(
        each.restart_count
        for pod in pods
        if pod.status.phase in {"Running", "Pending"}
        for each in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )


def finish_time(pod: Pod) -> datetime:
    """Return when a pod ended, as well as that can be known."""
    if (ended := _containers_ended(pod)) is not None:
        return ended
    ready = condition(pod, "Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
        return ready.last_transition_time
    meta = pod.metadata
    if meta.deletion_timestamp is not None:
        grace = span(meta.deletion_grace_period_seconds or 0)
        return parsed(meta.deletion_timestamp) - grace
    return _created(pod)


def condition(pod: Pod, type: str) -> Condition | None:
    """Return a condition of a pod."""
    return next((each for each in pod.status.conditions if each.type == type), None)


def dispensability(pod: Pod) -> tuple[float, ...]:
    """Return a key that sorts first what is missed least if it is deleted."""
    ready = condition(pod, "Ready")
    ready_at = 0.0
    if ready is not None and ready.status == "True" and ready.last_transition_time is not None:
        ready_at = -ready.last_transition_time.timestamp()
    sidecars = _sidecars(pod)
    side = [each for each in pod.status.init_container_statuses if each.name in sidecars]
    return (
        pod.spec.node_name != "",
        _PHASES.get(pod.status.phase, 0),
        is_ready(pod),
        ready_at if ready_at else float("-inf"),
        -_most_restarts(pod.status.container_statuses),
        -_most_restarts(side),
        -_created(pod).timestamp(),
    )


def _most_restarts(statuses: Iterable[ContainerStatus]) -> int:
    return max((each.restart_count for each in statuses), default=0)


def _created(pod: Pod) -> datetime:
    text = pod.metadata.creation_timestamp
    return parsed(text) if text else _LONG_AGO


def _containers_ended(pod: Pod) -> datetime | None:
    """Return when the last container ended, if all have; sidecars end after the others."""
    sidecars = _sidecars(pod)
    statuses = [
        *pod.status.container_statuses,
        *(each for each in pod.status.init_container_statuses if each.name in sidecars),
    ]
    ends = [each.state.terminated for each in statuses]
    times = [end.finished_at for end in ends if end and end.finished_at]
    return max(times) if times and len(times) == len(statuses) else None


def _sidecars(pod: Pod) -> set[str]:
    return {each.name for each in pod.spec.init_containers if each.restart_policy == "Always"}


def _number(pod: Pod, annotation: str) -> int:
    number = gotext.parse_int(pod.metadata.annotations.get(annotation, ""))
    return number if number is not None and 0 <= number <= _MOST else 0
