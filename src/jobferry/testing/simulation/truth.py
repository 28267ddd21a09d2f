"""What there is in the clusters in truth, read past all APIs."""

from collections.abc import Iterator
from dataclasses import dataclass

from jobferry.core import marks, placement, placement_object
from jobferry.core.marks import Marks, Standing
from jobferry.core.placement import Placement
from jobferry.dispatch.queues import QUEUES
from jobferry.objects import Obj, conditions
from jobferry.testing.simulation import job_sets
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
SETS_AT = f"/custom/{job_sets.RESOURCE.group}/{job_sets.RESOURCE.plural}/"
PLACEMENTS_AT = f"/custom/{placement_object.RESOURCE.group}/{placement_object.RESOURCE.plural}/"

WORKLOADS_AT = (JOBS_AT, SETS_AT)
"""Where what is delegated to us is kept, and its mirrors."""


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
        for prefix in WORKLOADS_AT:
            for obj in objects(world.clusters[name], prefix):
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


def workloads(world: World) -> list[Obj]:
    """Return all that is delegated to our dispatchers: Jobs, and JobSets."""
    sets = objects(world.clusters["hub"], SETS_AT)
    return [
        *claimed(world),
        *(each for each in sets if each["spec"].get("managedBy") == MANAGER),
    ]


def placed(world: World, workload: Obj) -> Placement | None:
    """Return where a workload was placed, by a record that nobody can have forged."""
    if is_job(workload):
        return placement.vouched(workload)
    for record in objects(world.clusters["hub"], PLACEMENTS_AT):
        if (found := placement_object.read(workload, record)) is not None:
            return found
    return None


def is_job(obj: Obj) -> bool:
    """Tell a Job from a JobSet."""
    return "replicatedJobs" not in obj["spec"]


def active_pods(cluster: SimulatedCluster, workload: Obj) -> list[Obj]:
    """Return the pods of a workload that run, or may."""
    uid = workload["metadata"]["uid"]
    return [
        pod
        for pod in objects(cluster, PODS_AT)
        if _is_of(pod, uid)
        and pod.get("status", {}).get("phase") in ("Pending", "Running", None)
    ]


def _is_of(pod: Obj, uid: str) -> bool:
    """Tell whether a pod is one of a Job, or of a JobSet."""
    meta = pod["metadata"]
    owners = (owner["uid"] for owner in meta.get("ownerReferences", ()))
    return uid in (*owners, meta.get("labels", {}).get(job_sets.UID_LABEL))


def finish(workload: Obj) -> Obj | None:
    """Return the condition by which a Job or a JobSet has ended."""
    listed = (workload.get("status") or {}).get("conditions")
    for kind in ("Complete", "Completed", "Failed"):
        found = conditions.find(listed, kind)
        if found is not None and found.get("status") == "True":
            return found
    return None


def address(obj: Obj) -> str:
    """Name an object."""
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"
