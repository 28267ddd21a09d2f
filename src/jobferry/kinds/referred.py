"""Where API servers have what workloads refer to; kinds that are not here are not looked for."""

from collections.abc import Iterable, Mapping

from jobferry.errors import BadInput
from jobferry.kinds.references import Reference
from jobferry.objects.resource import Resource

SECRET = Resource("", "v1", "secrets", "Secret")
"""Apart from the others: whoever may look whether a Secret is there may read what is in it."""

GENERAL = (
    Resource("", "v1", "configmaps", "ConfigMap"),
    SECRET,
    Resource("", "v1", "serviceaccounts", "ServiceAccount"),
    Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"),
    Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False),
    Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False),
    Resource("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False),
    Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim"),
    Resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"),
)
"""What the pods of workloads of any kind may refer to."""

_TRAINER = "trainer.kubeflow.org"
TRAINING_RUNTIME = Resource(_TRAINER, "v1alpha1", "trainingruntimes", "TrainingRuntime")
CLUSTER_TRAINING_RUNTIME = Resource(
    _TRAINER,
    "v1alpha1",
    "clustertrainingruntimes",
    "ClusterTrainingRuntime",
    namespaced=False,
)
PIPELINE = Resource("tekton.dev", "v1", "pipelines", "Pipeline")
TASK = Resource("tekton.dev", "v1", "tasks", "Task")
STEP_ACTION = Resource("tekton.dev", "v1beta1", "stepactions", "StepAction")

SPECIAL = (TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME, PIPELINE, TASK, STEP_ACTION)
"""What workloads of some kinds refer to, in the groups of these kinds."""

RESOURCES: Mapping[tuple[str, str], Resource] = {
    (each.group, each.kind): each for each in (*GENERAL, *SPECIAL)
}
"""By group and kind."""

OLDER: Mapping[str, tuple[str, ...]] = {
    "resource.k8s.io": ("v1beta2", "v1beta1"),
}
"""Versions of groups that clusters serve which do not serve the one above yet, the newest first."""


def resource(reference: Reference) -> Resource | None:
    """Return where to look for what is referred to; None: we do not know."""
    return RESOURCES.get((reference.group, reference.kind))


def of_kinds(kinds: Iterable[Resource]) -> list[Resource]:
    """Return all that workloads of these kinds may refer to, Secrets too."""
    groups = {each.group for each in kinds}
    return [*GENERAL, *(each for each in SPECIAL if each.group in groups)]


def find(text: str, kinds: Iterable[Resource] = ()) -> list[Resource]:
    """Return what is meant: kinds by their names, or of all that workloads of `kinds` refer to, most or all.

    Most are all but Secrets. Raises `BadInput`.
    """
    every = of_kinds(kinds)
    match text.lower():
        case "all":
            return every
        case "most":
            return [each for each in every if each != SECRET]
        case _:
            return [_find(name) for name in text.split(",")]


def _find(name: str) -> Resource:
    low = name.lower()
    for each in RESOURCES.values():
        if low in (each.kind.lower(), each.plural, str(each)):
            return each
    known = ", ".join(each.kind for each in RESOURCES.values())
    raise BadInput(f"references: there is no kind {name!r}", hint=f"It is one of {known}.")
