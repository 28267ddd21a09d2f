"""The kinds of KubeRay: RayJobs, which end, and RayClusters, which somebody deletes in the end."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from jobferry.core.kind import Earned
from jobferry.kinds import pods, references, statuses
from jobferry.kinds.custom import CustomKind
from jobferry.kinds.forwarding import Edits
from jobferry.kinds.paths import Path, found, items, number, path, word
from jobferry.kinds.pods import Pods
from jobferry.kinds.references import Reference
from jobferry.objects import Obj

AUTOSCALER: Obj = {"requests": {"cpu": "500m", "memory": "512Mi"}}
"""What KubeRay gives the autoscaler beside the head, unless somebody says otherwise."""

SUBMITTER: Obj = {
    "containers": [{"resources": {"requests": {"cpu": "500m", "memory": "200Mi"}}}]
}
"""The pod that submits a job, unless somebody says otherwise."""

CLEANER: Obj = {"resources": {"requests": {"cpu": "200m", "memory": "256Mi"}}}
"""What clears Redis once the head is gone: it is no init container, but it runs apart from the others like one."""

CLUSTER: Path = ("spec", "rayClusterSpec")


@dataclass(frozen=True)
class RayCluster(CustomKind):
    """RayClusters: never finished, but for one that we gave up."""

    def pods(self, hub: Obj) -> Iterator[Pods]:
        """Yield the head and the workers of each group."""
        return cluster_pods(hub.get("spec") or {})

    def missing_pods(self, hub: Obj) -> str | None:
        """Say nothing: all pods are there."""
        return None

    def needed(self, hub: Obj) -> Iterator[Reference]:
        """Yield what a cluster refers to."""
        yield from pods.needed(self.pods(hub))
        yield from cluster_references(hub.get("spec") or {})

    def failed(self, hub: Obj, reason: str, message: str, now: datetime) -> Obj:
        """Return the status of one that failed, as KubeRay writes it, and that it was us who gave it up."""
        return {**statuses.failure(self.row, hub, reason, message, now), "reason": message}


@dataclass(frozen=True)
class RayJob(CustomKind):
    """RayJobs: each with a cluster of its own."""

    @property
    def end_members(self) -> tuple[Path, ...]:
        """The members of an object that tell whether it ended."""
        return path("status.jobDeploymentStatus"), path("status.jobStatus")

    def finish(self, obj: Obj) -> str | None:
        """Return how it ended: one that was stopped is complete to KubeRay, but it is no success."""
        ended = statuses.ending(self.row, obj)
        is_success = word(obj, ("status", "jobStatus")) == "SUCCEEDED"
        return statuses.FAILED if ended == statuses.COMPLETE and not is_success else ended

    def pods(self, hub: Obj) -> Iterator[Pods]:
        """Yield the pods of its cluster, and the one that submits the job."""
        mode = word(hub, path("spec.submissionMode")) or "K8sJobMode"
        submitter = found(hub, path("spec.submitterPodTemplate.spec")) or SUBMITTER
        yield from cluster_pods(
            found(hub, CLUSTER) or {}, beside=submitter if mode == "SidecarMode" else {}
        )
        if mode == "K8sJobMode":
            yield Pods(submitter, 1)

    def missing_pods(self, hub: Obj) -> str | None:
        """Say so if it runs on pods that are there already."""
        return "it runs on a RayCluster that it selects" if _selects(hub) else None

    def needed(self, hub: Obj) -> Iterator[Reference]:
        """Yield what it and its cluster refer to."""
        yield from pods.needed(self.pods(hub))
        yield from cluster_references(found(hub, CLUSTER) or {})

    def refusal(self, hub: Obj) -> str | None:
        """Say why it cannot run on a worker, if it cannot."""
        if _selects(hub):
            return "spec.clusterSelector: the RayCluster that it selects is on the hub, or on some worker that is not known"
        return CustomKind.refusal(self, hub)

    def stop(self, mirror: Obj) -> Obj | None:
        """Return nothing: KubeRay deletes its cluster to suspend it, and does not wait for the pods of that.

        What is deleted with all that it made does.
        """
        return None

    def draft(self, hub: Obj) -> Obj:
        """Return what a worker is to run: never suspended where KubeRay would find that invalid."""
        drafted = CustomKind.draft(self, hub)
        if _can_stop(hub):
            return drafted
        return {**drafted, "spec": {**drafted["spec"], "suspend": False}}

    def edits(self, hub: Obj, mirror: Obj, base: Earned) -> Edits:
        """Compare the hub object with its mirror and with what was forwarded."""
        found = CustomKind.edits(self, hub, mirror, base)
        if not self.is_suspended(hub) or _can_stop(hub):
            return found
        why = "/spec/suspend: KubeRay suspends only what has shutdownAfterJobFinishes and no clusterSelector"
        return replace(found, refusals=(*found.refusals, why))

    def failed(self, hub: Obj, reason: str, message: str, now: datetime) -> Obj:
        """Return the status of one that failed: it has no conditions, so members say why."""
        status = statuses.failure(self.row, hub, reason, message, now)
        return {**status, "jobStatus": "FAILED", "reason": reason, "message": message}


def _selects(ray_job: Obj) -> bool:
    return bool(found(ray_job, ("spec", "clusterSelector")))


def _can_stop(ray_job: Obj) -> bool:
    is_shut_down = bool(found(ray_job, ("spec", "shutdownAfterJobFinishes")))
    return is_shut_down and not _selects(ray_job)


# Clusters, on their own or as parts of others


def cluster_pods(spec: Obj, beside: Obj | None = None) -> Iterator[Pods]:
    """Yield the pods of a RayCluster; `beside` is a pod whose containers run in the head."""
    head = found(spec, path("headGroupSpec.template.spec"))
    if head is not None:
        yield Pods(_head(spec, head, beside or {}), 1)
    for group in items(spec, ("workerGroupSpecs",)):
        template = found(group, path("template.spec"))
        if template is not None:
            hosts = number(group, ("numOfHosts",), 1)
            yield Pods(template, number(group, ("replicas",), 1) * hosts)


def _head(spec: Obj, head: object, beside: Obj) -> object:
    """Return the pod of the head with what KubeRay puts beside its containers."""
    if not isinstance(head, dict):
        return head
    more: list[object] = [*items(beside, ("containers",))]
    if spec.get("enableInTreeAutoscaling"):
        resources = found(spec, path("autoscalerOptions.resources")) or AUTOSCALER
        more.append({"resources": resources})
    first = [CLEANER] if spec.get("gcsFaultToleranceOptions") else []
    return {
        **head,
        "containers": [*items(head, ("containers",)), *more],
        "initContainers": [*items(head, ("initContainers",)), *first],
    }


_REDIS = "gcsFaultToleranceOptions"
_SECRETS = (
    path(f"{_REDIS}.redisPassword.valueFrom.secretKeyRef.name"),
    path(f"{_REDIS}.redisUsername.valueFrom.secretKeyRef.name"),
    path("authOptions.secretName"),
)


def cluster_references(spec: Obj) -> Iterator[Reference]:
    """Yield what a RayCluster refers to besides what its pods do."""
    for each in _SECRETS:
        yield references.secret(word(spec, each))
    yield references.claim(word(spec, path(f"{_REDIS}.storage.claimName")))
    for tls in items(spec, path("headGroupSpec.ingressOptions.tls")):
        yield references.secret(word(tls, ("secretName",)))
    options = spec.get("autoscalerOptions")
    if isinstance(options, dict):
        yield from references.of_environment(options)
