"""Jobs as the shell knows them: how they are delegated, and what they need."""

from jobferry.clock import Seconds
from jobferry.kinds import references
from jobferry.kinds.adapter import Context, Path, Selection
from jobferry.kinds.job.adapter import JobKind
from jobferry.kinds.references import Reference
from jobferry.objects import Obj
from jobferry.objects.resource import Resource

JOB_NAME = "batch.kubernetes.io/job-name"
"""The label of pods that names their Job."""


class DelegatedJob(JobKind):
    """The adapter of Jobs for one dispatcher."""

    managed_by_path: Path = ("spec", "managedBy")
    own_controller = "kubernetes.io/job-controller"
    accepts: frozenset[str] | None = None
    caution = ""
    end_members: tuple[Path, ...] = (("status", "conditions"),)
    owes_ttl = False
    looks_up: tuple[Resource, ...] = ()

    def __init__(self, context: Context) -> None:
        self.claims = context.claims

    def managed_by(self, obj: Obj) -> str:
        """Name who runs a Job; empty: nobody is named."""
        return str(obj["spec"].get("managedBy") or "")

    def ttl(self, hub: Obj) -> Seconds | None:
        """Leave it to the hub's own controller to delete Jobs that have ended: it does not ask who runs them."""
        return None

    def own_pods(self, mirror: Obj) -> tuple[Selection, ...]:
        """Tell which pods belong to a Job, by the label that its controller gives them."""
        return (Selection(labels=f"{JOB_NAME}={mirror['metadata']['name']}"),)

    def references(self, hub: Obj) -> list[Reference]:
        """Name what a worker must have so that the pods of a Job can run there."""
        spec = hub["spec"]["template"].get("spec") or {}
        return references.distinct(references.of_pod(spec))

    def unknown_demand(self, hub: Obj) -> str | None:
        """Know all of it."""
        return None
