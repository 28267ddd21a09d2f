"""The runs of Tekton: PipelineRuns and TaskRuns. They can be held before they start, and cancelled, but not paused."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from jobferry.core.kind import Earned
from jobferry.kinds import dropped, pods, tekton_tasks
from jobferry.kinds.custom import CustomKind
from jobferry.kinds.paths import found, path, word
from jobferry.kinds.pods import Pods
from jobferry.kinds.references import Reference
from jobferry.kinds.referred import PIPELINE, TASK
from jobferry.kinds.table import Labelled, Row, Says
from jobferry.kinds.tekton_tasks import Pipeline
from jobferry.objects import Obj
from jobferry.objects.demand import Demand
from jobferry.objects.resource import Resource

STATUS = path("spec.status")
"""What a user wants to happen to a run: that it waits, or is cancelled."""

PIPELINE_RUN = Row(
    resource=Resource(tekton_tasks.GROUP, "v1", "pipelineruns", "PipelineRun"),
    own_controller="tekton.dev/pipeline",
    forwards=(STATUS,),
    looks_up=(PIPELINE, TASK),
    own_pods=(Labelled("tekton.dev/pipelineRun"),),
    suspend=None,
    success=Says("Succeeded"),
    failure=Says("Succeeded", "False"),
    suspended=None,
    strips_annotations="chains.tekton.dev/",
)

TASK_RUN = replace(
    PIPELINE_RUN,
    resource=Resource(tekton_tasks.GROUP, "v1", "taskruns", "TaskRun"),
    forwards=(STATUS, path("spec.statusMessage")),
    looks_up=(TASK,),
    own_pods=(Labelled("tekton.dev/taskRun"),),
    ready=(path("status.steps.*.running"), path("status.steps.*.terminated")),
    required={"podName": ""},
)


@dataclass(frozen=True)
class _Run(CustomKind):
    """What both have in common."""

    def is_suspended(self, hub: Obj) -> bool:
        """Tell whether its user wants it not to start yet."""
        return word(hub, STATUS) == f"{self.row.resource.kind}Pending"

    def draft(self, hub: Obj) -> Obj:
        """Return what a worker is to run: by then it is to start."""
        drafted = CustomKind.draft(self, hub)
        if not self.is_suspended(hub):
            return drafted
        return {**drafted, "spec": {k: v for k, v in drafted["spec"].items() if k != "status"}}

    def dropped_fields(self, sent: Obj, answer: Obj) -> list[str]:
        """Name what a worker dropped of a mirror: not what is zero, which Tekton's webhook leaves out as Go does."""
        return dropped.dropped_fields({"spec": dropped.substance(sent["spec"])}, answer)

    def shown(self, hub: Obj, mirror: Obj, base: Earned) -> Obj:
        """Return the status that the hub is to show: none while it is pending, as Tekton's webhook refuses a start then."""
        return {} if self.is_suspended(hub) else CustomKind.shown(self, hub, mirror, base)


@dataclass(frozen=True)
class TaskRun(_Run):
    """TaskRuns: one pod each."""

    def pods(self, hub: Obj) -> Iterator[Pods]:
        """Yield the pod of its task."""
        yield tekton_tasks.of_run(hub, self.context.lookup).pods()

    def missing_pods(self, hub: Obj) -> str | None:
        """Say so if its task is not known."""
        return (
            _unknown(hub)
            if tekton_tasks.of_run(hub, self.context.lookup).spec is None
            else None
        )

    def needed(self, hub: Obj) -> Iterator[Reference]:
        """Yield its Task, what the steps refer to, and its workspaces."""
        yield from tekton_tasks.of_run(hub, self.context.lookup).references()
        yield from pods.needed(self.pods(hub))
        yield from tekton_tasks.workspaces(hub)


@dataclass(frozen=True)
class PipelineRun(_Run):
    """PipelineRuns: as many pods as tasks, but not all at once."""

    def _pipeline(self, hub: Obj) -> Pipeline:
        return tekton_tasks.pipeline(hub, self.context.lookup)

    def pods(self, hub: Obj) -> Iterator[Pods]:
        """Yield the pods of all tasks."""
        return (task.pods() for task in self._pipeline(hub).every)

    def needs(self, hub: Obj) -> Demand:
        """Return the most that tasks need together which may run side by side."""
        most: Demand = {}
        for level in self._pipeline(hub).levels():
            for name, amount in pods.needs(task.pods() for task in level).items():
                most[name] = max(amount, most.get(name, amount))
        return most

    def missing_pods(self, hub: Obj) -> str | None:
        """Name the tasks that are not known."""
        pipeline = self._pipeline(hub)
        if not pipeline.is_known:
            return _unknown(hub)
        unknown = [task.name for task in pipeline.every if task.spec is None]
        return f"the steps of {', '.join(unknown)} are not on the hub" if unknown else None

    def needed(self, hub: Obj) -> Iterator[Reference]:
        """Yield its Pipeline, all Tasks, what the steps refer to, and its workspaces."""
        pipeline = self._pipeline(hub)
        if pipeline.reference:
            yield pipeline.reference
        for task in pipeline.every:
            yield from task.references()
        yield from pods.needed(self.pods(hub))
        general = found(hub, path("spec.taskRunTemplate.podTemplate"))
        yield from pods.needed([Pods(general if isinstance(general, dict) else {}, 1)])
        yield from tekton_tasks.workspaces(hub)


def _unknown(run: Obj) -> str:
    resolver = word(run, path("spec.pipelineRef.resolver")) or word(
        run, path("spec.taskRef.resolver")
    )
    if resolver:
        return f"what it runs is found on the worker, by the resolver {resolver}"
    return "what it runs is not on the hub, or may not be read there"
