"""The draft of a Job's mirror: what the worker is to run, before marks say whose it is."""

from jobferry.kinds.job.base import Base
from jobferry.kinds.job.status import is_indexed
from jobferry.kinds.metadata import travelling, without_generated
from jobferry.objects import Obj

STAYS = ("managedBy", "ttlSecondsAfterFinished")
"""Members of a hub Job's spec that mean the hub: with them the worker would not run the mirror, or lose it."""


def draft(hub_job: Obj, base: Base) -> Obj:
    """Return the mirror of a hub Job that still has to do what the base does not hold."""
    metadata = hub_job["metadata"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "labels": travelling(metadata.get("labels")),
            "annotations": travelling(metadata.get("annotations")),
        },
        "spec": _remaining(_portable(hub_job["spec"]), base),
    }


def _portable(spec: Obj) -> Obj:
    """Return the spec without what is of the hub; a selector by hand, and its labels, stay as given."""
    portable = {key: value for key, value in spec.items() if key not in STAYS}
    if spec.get("manualSelector"):
        return portable
    portable.pop("selector", None)
    template = spec["template"]
    metadata = template.get("metadata") or {}
    own = {**metadata, "labels": without_generated(metadata.get("labels"))}
    return {**portable, "template": {**template, "metadata": own}}


def _remaining(spec: Obj, base: Base) -> Obj:
    """Return the spec with what earlier attempts have left of its limits, and of its work.

    The pods of a Job without indexes are all alike, so only the missing successes are asked for. With
    indexes all run again, until mirrors can be told which ones not to run.
    """
    used = {"backoffLimit": base.failed, "activeDeadlineSeconds": base.seconds}
    if not is_indexed(spec):
        used["completions"] = base.succeeded
    left = {key: max(0, spec[key] - amount) for key, amount in used.items() if spec.get(key)}
    return {**spec, **left}
