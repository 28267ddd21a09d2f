"""All kinds: those that come with Jobferry, those that users declare, and those that it refuses."""

from collections.abc import Iterable, Mapping

from jobferry.errors import BadInput
from jobferry.kinds.adapter import Adapter, Context
from jobferry.kinds.app_wrapper import AppWrapper
from jobferry.kinds.custom import CustomKind
from jobferry.kinds.pod import POD, Pod
from jobferry.kinds.ray import RayCluster, RayJob
from jobferry.kinds.rows import APP_WRAPPER, RAY_CLUSTER, RAY_JOB, ROWS
from jobferry.kinds.table import Row
from jobferry.kinds.tekton import PIPELINE_RUN, TASK_RUN, PipelineRun, TaskRun
from jobferry.kinds.train_job import TRAIN_JOB, TrainJob

SERVES = "it serves, and never ends: Jobferry dispatches batch work. Wrap what it needs for one run into a Job or JobSet."

REFUSED: Mapping[str, str] = {
    "Deployment.apps": SERVES,
    "LeaderWorkerSet.leaderworkerset.x-k8s.io": SERVES,
    "RayService.ray.io": f"{SERVES} A RayJob does that for Ray.",
    "StatefulSet.apps": SERVES,
}
"""Kinds that are never dispatched, and why."""


def make(context: Context, declared: Iterable[Row] = ()) -> dict[str, Adapter]:
    """Return the adapters of all kinds but Jobs, by their names; raises `BadInput` if one is declared that is known."""
    known = _built_in(context)
    for row in declared:
        if why := REFUSED.get(row.name):
            raise BadInput(f"{row.name} cannot be declared: {why}")
        if row.name in known or row.name == "Job.batch":
            raise BadInput(f"{row.name} cannot be declared: it is known already")
        known[row.name] = CustomKind(row, context)
    return known


def _built_in(context: Context) -> dict[str, Adapter]:
    plain = [CustomKind(row, context) for row in ROWS]
    coded = [
        RayCluster(RAY_CLUSTER, context),
        RayJob(RAY_JOB, context),
        TrainJob(TRAIN_JOB, context),
        PipelineRun(PIPELINE_RUN, context),
        TaskRun(TASK_RUN, context),
        Pod(POD, context),
    ]
    wrapped = {each.name: each for each in (*plain, *coded)}
    every = (*plain, *coded, AppWrapper(APP_WRAPPER, context, wrapped))
    return {each.name: each for each in sorted(every, key=lambda each: each.name)}
