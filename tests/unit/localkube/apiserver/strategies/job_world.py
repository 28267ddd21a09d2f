"""Jobs for tests: as the handlers give them to a strategy."""

import copy
from collections.abc import Iterable
from typing import Any

from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import job
from jobferry.objects import Obj, merge_patch

UID = "the-uid"
POD: Obj = {"containers": [{"name": "main", "image": "a:1"}], "restartPolicy": "Never"}
INDEXED: Obj = {"completionMode": "Indexed", "completions": 3, "parallelism": 2}
Found = list[tuple[str, str]]
"""Fields, and what is wrong with them."""


def new_job(changes: Obj | None = None, **metadata: Any) -> Obj:
    """Return a Job ready to be validated, its spec changed by a merge patch."""
    spec = merge_patch.apply({"template": {"spec": copy.deepcopy(POD)}}, changes or {})
    about = {"name": "train", "namespace": "ml", "uid": UID, "generation": 1} | metadata
    made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": spec}
    job.STRATEGY.default(made)
    job.STRATEGY.prepare_create(made)
    return made


def stored(changes: Obj | None = None, status: Obj | None = None) -> Obj:
    """Return a Job as storage holds it."""
    made = new_job(changes)
    made["metadata"]["resourceVersion"] = "5"
    made["status"] = status or {}
    return made


def changed(old: Obj, patch: Obj) -> Obj:
    """Return what a merge patch makes of a stored Job, ready to be validated."""
    new: Obj = merge_patch.apply(copy.deepcopy(old), patch)
    job.STRATEGY.default(new)
    job.STRATEGY.prepare_update(new, old)
    return new


def found(problems: Iterable[Problem]) -> Found:
    """Return what was found, each thing once."""
    return list(dict.fromkeys((each.field, _kind(each)) for each in problems))


def _kind(problem: Problem) -> str:
    return problem.reason.removeprefix("FieldValue")
