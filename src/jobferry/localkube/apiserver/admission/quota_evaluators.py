"""Which requests change what a ResourceQuota counts."""

from collections.abc import Callable
from dataclasses import dataclass

from jobferry.localkube.apiserver.admission.request import (
    CREATE,
    UPDATE,
    Request,
    Topic,
)
from jobferry.objects import quota_pods, quotas
from jobferry.objects.quotas import Measure


def _always(_request: Request) -> bool:
    """Look at every request."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluator:
    """Says which requests for one kind are to be measured, and how."""

    measure: Measure
    handles: Callable[[Topic], bool]
    """Which sorts of requests can change what is used."""
    concerns: Callable[[Request], bool] = _always
    """Whether a request that it handles changes what is used."""


IGNORED = frozenset(
    {
        ("", "bindings"),
        ("", "componentstatuses"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("", "events"),
        ("events.k8s.io", "events"),
    }
)
"""What is not stored, or was never counted."""


def evaluator_of(group: str, resource: str) -> Evaluator:
    """Return how requests for a resource are measured: most only count what they make."""
    measure = quotas.measure_of(group, resource)
    if (group, resource) == ("", "pods"):
        return Evaluator(measure=measure, handles=_handles_pods, concerns=_moves_pod)
    if (group, resource) == ("", "services"):
        return Evaluator(measure=measure, handles=lambda topic: topic.writes("", "services"))
    if (group, resource) == ("", "persistentvolumeclaims"):
        return Evaluator(
            measure=measure, handles=lambda topic: topic.subresource in ("", "status")
        )
    return Evaluator(measure=measure, handles=lambda topic: topic.creates(group, resource))


def _handles_pods(topic: Topic) -> bool:
    if topic == ("", "pods", "resize", UPDATE):
        return True
    return topic.writes("", "pods")


def _moves_pod(request: Request) -> bool:
    """Tell whether a pod is made, resized, or comes to be in other scopes."""
    if request.operation == CREATE or request.subresource:
        return True
    before, after = request.old or {}, request.obj or {}
    return quota_pods.is_terminating(before) != quota_pods.is_terminating(after)
