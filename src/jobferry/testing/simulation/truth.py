"""What there is in the clusters in truth, read past all APIs."""

from collections.abc import Iterator
from dataclasses import dataclass

from jobferry.core import marks
from jobferry.core.marks import Marks, Standing
from jobferry.dispatch.queues import QUEUES
from jobferry.objects import Obj, conditions
from jobferry.testing.simulation.clusters import SimulatedCluster
from jobferry.testing.simulation.prepared import SYSTEM
from jobferry.testing.simulation.shapes import MANAGER
from jobferry.testing.simulation.world import World
from jobferry.workers.resource import WORKERS

JOBS_AT = "/registry/batch/jobs/"
PODS_AT = "/registry/core/pods/"
LEASES_AT = "/registry/coordination.k8s.io/leases/"
WORKERS_AT = f"/custom/{WORKERS.group}/{WORKERS.plural}/"
QUEUES_AT = f"/custom/{QUEUES.group}/{QUEUES.plural}/"


def objects(cluster: SimulatedCluster, prefix: str) -> list[Obj]:
    """Return what a cluster holds; nothing, if it is down."""
    if cluster.server is None:
        return []
    return [entry.object for entry in cluster.server.storage.range(prefix).entries]


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror, and where it is."""

    on: str
    obj: Obj
    marks: Marks

    def __str__(self) -> str:
        return f"{address(self.obj)} on {self.on}, attempt {self.marks.attempt}"


def mirrors(world: World) -> Iterator[Mirror]:
    """Find all mirrors on all workers that bear all marks."""
    for name in world.workers:
        for obj in objects(world.clusters[name], JOBS_AT):
            found = marks.read(obj)
            if found and found.judge(obj).standing is Standing.CURRENT:
                yield Mirror(name, obj, found)


def leader(world: World) -> str:
    """Name the dispatcher that leads; empty: none does."""
    for lease in objects(world.clusters["hub"], LEASES_AT):
        if lease["metadata"]["namespace"] == SYSTEM:
            return str(lease["spec"].get("holderIdentity") or "").partition("-")[0]
    return ""


def claimed(world: World) -> list[Obj]:
    """Return the Jobs of the hub that are delegated to our dispatchers."""
    every = objects(world.clusters["hub"], JOBS_AT)
    return [each for each in every if each["spec"].get("managedBy") == MANAGER]


def active_pods(cluster: SimulatedCluster, job: Obj) -> list[Obj]:
    """Return the pods of a Job that run, or may."""
    uid = job["metadata"]["uid"]
    return [
        pod
        for pod in objects(cluster, PODS_AT)
        if any(owner["uid"] == uid for owner in pod["metadata"].get("ownerReferences", ()))
        and pod.get("status", {}).get("phase") in ("Pending", "Running", None)
    ]


def finish(job: Obj) -> Obj | None:
    """Return the condition by which a Job has ended."""
    listed = (job.get("status") or {}).get("conditions")
    for kind in ("Complete", "Failed"):
        found = conditions.find(listed, kind)
        if found is not None and found.get("status") == "True":
            return found
    return None


def address(obj: Obj) -> str:
    """Name an object."""
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"
