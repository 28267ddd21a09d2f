"""Which pods belong to a Job."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job.jobs import Job
from jobferry.objects import Obj, labels

Match = Callable[[Mapping[str, str]], bool]


@dataclass(frozen=True, slots=True)
class Claims:
    """Whose the pods are."""

    ours: tuple[Pod, ...]
    adopt: tuple[Pod, ...]
    """Those that nobody manages and that the Job's selector matches."""

    release: tuple[Pod, ...]
    """Those that the Job manages though its selector does not match."""


def claims(job: Job, managed: Iterable[Pod], unmanaged: Iterable[Pod]) -> Claims:
    """Say which pods are the Job's: of those that it manages, and of those that nobody does."""
    match = matcher(job.spec.selector)
    ours = [pod for pod in managed if match(pod.metadata.labels)]
    if job.metadata.is_deleted:
        return Claims(tuple(ours), (), ())
    adopt = [
        pod for pod in unmanaged if not pod.metadata.is_deleted and match(pod.metadata.labels)
    ]
    release = [pod for pod in managed if not match(pod.metadata.labels)]
    return Claims(tuple(ours), tuple(adopt), tuple(release))


def matcher(selector: Obj | None) -> Match:
    """Return what tells whether labels match a selector."""
    wanted = (selector or {}).get("matchLabels")
    if not wanted or selector is None or selector.get("matchExpressions"):
        return labels.from_object(selector).matches
    # What nearly every Job has; parsing it as a selector would cost more than all the rest.
    pairs = wanted.items()
    return lambda found: all(found.get(key) == value for key, value in pairs)
