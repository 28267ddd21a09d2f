"""TrainJobs of Kubeflow Trainer: what they run is in a runtime that they name, patched and filled in by them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jobferry.kinds import pods, references
from jobferry.kinds.adapter import MULTIKUEUE
from jobferry.kinds.custom import CustomKind
from jobferry.kinds.paths import every, found, items, number, path, word
from jobferry.kinds.pods import Pods
from jobferry.kinds.references import Reference
from jobferry.kinds.referred import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME
from jobferry.kinds.rows import JOB_SET_PODS
from jobferry.kinds.table import Row
from jobferry.objects import Obj, merge_keys, strategic_patch
from jobferry.objects.patch_errors import BadPatch
from jobferry.objects.resource import Resource

GROUP = "trainer.kubeflow.org"

STEP = f"{GROUP}/trainjob-ancestor-step"
"""The label of a replicated job that says what it is for."""

TRAINER = "trainer"
STEPS = frozenset({TRAINER, "dataset-initializer", "model-initializer"})
NODE = "node"
"""The name of the container that trains, and of the replicated job of MPI's nodes."""

KUEUE = "kueue.x-k8s.io/manager"
"""Who patches runtimes on the hub by the decisions of a Kueue there."""

PATCHES = path("spec.runtimePatches")

_COUNTS = ("ready", "succeeded", "failed")

TRAIN_JOB = Row(
    resource=Resource(GROUP, "v1alpha1", "trainjobs", "TrainJob"),
    own_controller=f"{GROUP}/trainjob-controller",
    is_closed=True,
    caution="Kubeflow Trainer before 2.3.0 does not look at managedBy: one that runs on the hub would run TrainJobs"
    f" there as well, those of {MULTIKUEUE} too.",
    own_pods=JOB_SET_PODS,
    strips=(path("spec.runtimePatches.*.time"),),
    forwards_stopped=(PATCHES,),
    forwards_still=True,
    looks_up=(TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME),
    started=(),
    ended=(),
    ready=tuple(path(f"status.jobsStatus.*.{each}") for each in _COUNTS),
    busy=(path("status.jobsStatus.*.active"),),
)


@dataclass(frozen=True)
class TrainJob(CustomKind):
    """TrainJobs; without their runtime only the nodes that they ask for themselves are known."""

    def draft(self, hub: Obj) -> Obj:
        """Return what a worker is to run, without what a Kueue on the hub decided."""
        drafted = CustomKind.draft(self, hub)
        patches = found(drafted, PATCHES)
        if not isinstance(patches, list):
            return drafted
        kept = [each for each in patches if found(each, ("manager",)) != KUEUE]
        return {**drafted, "spec": {**drafted["spec"], "runtimePatches": kept}}

    def pods(self, hub: Obj) -> Iterator[Pods]:
        """Yield the pods of its runtime as it fills them in."""
        runtime = self._runtime(hub)
        if runtime is None:
            node: Obj = {"resources": found(hub, path("spec.trainer.resourcesPerNode")) or {}}
            yield Pods({"containers": [node]}, number(hub, path("spec.trainer.numNodes"), 1))
            return
        policy = found(runtime, path("spec.mlPolicy")) or {}
        for job in items(runtime, path("spec.template.spec.replicatedJobs")):
            patched = _patched(hub, job)
            yield Pods(_filled(hub, policy, job, patched), _count(hub, policy, job))

    def missing_pods(self, hub: Obj) -> str | None:
        """Say so if the runtime is not known."""
        if self._runtime(hub) is not None:
            return None
        return f"its {_reference(hub)} is not on the hub, or may not be read there"

    def needed(self, hub: Obj) -> Iterator[Reference]:
        """Yield the runtime, the secrets of what is loaded before, and what the pods refer to."""
        yield _reference(hub)
        for name in every(hub, path("spec.initializer.*.secretRef.name")):
            yield references.secret(name if isinstance(name, str) else "")
        yield from pods.needed(self.pods(hub))
        for container in ("trainer", "initializer.dataset", "initializer.model"):
            yield from references.of_environment(found(hub, path(f"spec.{container}")) or {})

    def _runtime(self, hub: Obj) -> Obj | None:
        return self.context.lookup(hub["metadata"].get("namespace") or "", _reference(hub))


def _reference(hub: Obj) -> Reference:
    named = found(hub, path("spec.runtimeRef"))
    kind = word(named, ("kind",)) or "ClusterTrainingRuntime"
    group = word(named, ("apiGroup",)) or GROUP
    return Reference(group, kind, word(named, ("name",)), kind != "ClusterTrainingRuntime")


def _step(job: Obj) -> str:
    return str((found(job, path("template.metadata.labels")) or {}).get(STEP) or "")


def _count(hub: Obj, policy: Obj, job: Obj) -> int:
    """Return how many pods a replicated job of a runtime has."""
    replicas = 1 if _step(job) in STEPS else number(job, ("replicas",), 1)
    nodes = number(hub, path("spec.trainer.numNodes"), number(policy, ("numNodes",), 1))
    if policy.get("mpi") is not None:
        if word(job, ("name",)) == NODE:
            # One of the nodes is the launcher then, which is a replicated job of its own.
            return max(nodes - 1, 1) if _is_launcher_node(policy) else nodes
        return replicas
    if _step(job) == TRAINER:
        return nodes
    return replicas * number(job, path("template.spec.parallelism"), 1)


def _is_launcher_node(policy: Obj) -> bool:
    return bool(found(policy, path("mpi.runLauncherAsNode")))


def _patched(hub: Obj, job: Obj) -> Any:
    """Return the pod of a replicated job as the patches of a TrainJob make it."""
    at = path("template.spec.template.spec")
    spec = found(job, at)
    for patch in items(hub, PATCHES):
        for part in items(patch, path("trainingRuntimeSpec.template.spec.replicatedJobs")):
            if part.get("name") == job.get("name"):
                spec = _merged(spec, found(part, at))
    return spec


def _merged(spec: Any, patch: Any) -> Any:
    if not isinstance(spec, dict) or not isinstance(patch, dict):
        return spec
    try:
        return strategic_patch.apply(
            spec, patch, merge_keys.fields_of("v1", "Pod")["spec"].fields
        )
    except BadPatch:
        return spec  # its worker will say what is wrong with it


def _filled(hub: Obj, policy: Obj, job: Obj, spec: Any) -> Any:
    """Return a pod with the resources that a TrainJob wants for each node."""
    wanted = found(hub, path("spec.trainer.resourcesPerNode"))
    is_node = _is_launcher_node(policy) and job.get("name") == NODE
    if not isinstance(wanted, dict) or not (is_node or _step(job) == TRAINER):
        return spec
    containers = [
        {**each, "resources": _resources(each.get("resources") or {}, wanted)}
        if each.get("name") == NODE
        else each
        for each in items(spec, ("containers",))
    ]
    return {**spec, "containers": containers}


def _resources(base: Obj, wanted: Obj) -> Obj:
    """Return the runtime's resources with a TrainJob's over them, one by one, as Trainer does from 2.3 on."""
    return {
        member: {**(base.get(member) or {}), **(wanted.get(member) or {})}
        for member in ("limits", "requests")
    }
