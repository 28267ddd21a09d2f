"""The pods that a Job wants, as they are sent to the API server."""

from jobferry.kube.resources import JOBS
from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import pods
from jobferry.localkube.controllers.job.view import View
from jobferry.objects import Obj, owners

LONGEST_PREFIX = 58
"""Of a pod's name: the five characters that come after it make it a host name."""

LONGEST_NAME = 253

_ENV = "JOB_COMPLETION_INDEX"
_ENV_FIELD = f"metadata.labels['{pods.INDEX}']"


def owner(view: View) -> Obj:
    """Return the reference by which pods belong to the Job."""
    meta = view.job.metadata
    job = {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": meta.name, "uid": meta.uid},
    }
    return owners.owner_reference(job)


def draft(view: View, index: int | None) -> Obj:
    """Return a new pod, for an index or, where there are none, for any."""
    template = view.job.spec.template
    meta = template.get("metadata") or {}
    name = view.job.metadata.name
    finalizers = [each for each in meta.get("finalizers") or () if each != view.finalizer]
    pod: Obj = {
        "metadata": {
            "namespace": view.job.metadata.namespace,
            "generateName": f"{name}-" if len(name) < LONGEST_NAME else name,
            "labels": dict(meta.get("labels") or {}),
            "annotations": dict(meta.get("annotations") or {}),
            "finalizers": [*finalizers, view.finalizer],
            "ownerReferences": [owner(view)],
        },
        "spec": template.get("spec") or {},
    }
    return pod if index is None else _numbered(pod, view, index)


def _numbered(pod: Obj, view: View, index: int) -> Obj:
    """Tell a pod which index it works on."""
    meta, name = pod["metadata"], view.job.metadata.name
    tail = f"-{index}-"
    meta["generateName"] = f"{name[: LONGEST_PREFIX - len(tail)]}{tail}"
    meta["labels"][pods.INDEX] = meta["annotations"][pods.INDEX] = str(index)
    if view.job.spec.backoff_limit_per_index is not None:
        meta["annotations"] |= _failures(view, view.delayed.get(index))
    spec = {**pod["spec"], "hostname": f"{name}-{index}"}
    for member in ("initContainers", "containers"):
        if member in spec:
            spec[member] = [_with_index(container) for container in spec[member]]
    return {**pod, "spec": spec}


def _failures(view: View, replaced: Pod | None) -> dict[str, str]:
    """Carry on how often an index has failed."""
    counted = ignored = 0
    if replaced is not None:
        counts = view.judge(replaced).counts
        counted = pods.failures(replaced) + counts
        ignored = pods.ignored_failures(replaced) + (not counts)
    said = {pods.FAILURES: str(counted)}
    return said | {pods.IGNORED_FAILURES: str(ignored)} if ignored else said


def _with_index(container: Obj) -> Obj:
    env = container.get("env") or []
    if any(each.get("name") == _ENV for each in env):
        return container
    source = {"fieldRef": {"fieldPath": _ENV_FIELD}}
    return {**container, "env": [*env, {"name": _ENV, "valueFrom": source}]}
