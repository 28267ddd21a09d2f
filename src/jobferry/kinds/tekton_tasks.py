"""The tasks of Tekton: what the pod of each needs, and which of a pipeline may run side by side."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jobferry.kinds import references
from jobferry.kinds.adapter import Lookup
from jobferry.kinds.paths import found, items, path, word
from jobferry.kinds.pods import Pods
from jobferry.kinds.references import Reference
from jobferry.objects import Obj

GROUP = "tekton.dev"

MOST_AT_ONCE = 2**63 - 1
"""Of what a matrix may make: more cannot be told from it, nor written."""

_RESULT = re.compile(r"\$\((?:tasks|finally)\.([\w-]+)\.")
"""How a task names what another one makes."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task that is run, as far as it is known."""

    name: str
    spec: Obj | None
    """Its steps; None: they are not known."""

    reference: Reference | None = None
    """The Task that has its steps, unless it has them itself."""

    run: Obj = field(default_factory=dict)
    """What the run says of it: serviceAccountName, podTemplate, computeResources, stepSpecs, sidecarSpecs."""

    after: frozenset[str] = frozenset()
    """The tasks that it waits for."""

    number: int = 1

    def pods(self) -> Pods:
        """Return its pods: one, unless it has a matrix."""
        template = found(self.run, ("podTemplate",))
        outside = dict(template) if isinstance(template, dict) else {}
        outside["serviceAccountName"] = word(self.run, ("serviceAccountName",))
        outside["volumes"] = [*items(outside, ("volumes",)), *items(self.spec, ("volumes",))]
        return Pods({**outside, "containers": self._containers()}, self.number)

    def _containers(self) -> list[Obj]:
        """Return its steps and sidecars: all are there at once, though steps take turns."""
        steps = list(_containers(self.spec, "steps", self.run, "stepSpecs"))
        sidecars = list(_containers(self.spec, "sidecars", self.run, "sidecarSpecs"))
        whole = found(self.run, ("computeResources",))
        if isinstance(whole, dict) and whole:
            return [
                {"resources": whole},
                *({**each, "resources": {}} for each in steps + sidecars),
            ]
        return steps + sidecars

    def references(self) -> Iterator[Reference]:
        """Yield what it refers to, besides what its pods do."""
        if self.reference:
            yield self.reference
        for step in items(self.spec, ("steps",)):
            yield Reference(GROUP, "StepAction", word(step, ("ref", "name")))


def _containers(spec: Obj | None, member: str, run: Obj, changes: str) -> Iterator[Obj]:
    changed = {
        word(each, ("name",)): found(each, ("computeResources",))
        for each in items(run, (changes,))
    }
    template = found(spec, ("stepTemplate",)) if member == "steps" else None
    for each in items(spec, (member,)):
        resources = found(each, ("computeResources",)) or found(template, ("computeResources",))
        yield {**each, "resources": changed.get(word(each, ("name",))) or resources or {}}


def of_run(task_run: Obj, lookup: Lookup) -> Task:
    """Return the task of a TaskRun."""
    return _task(task_run["spec"], "", lookup, _namespace(task_run))


def _task(
    holder: Obj, name: str, lookup: Lookup, namespace: str, run: Obj | None = None
) -> Task:
    """Return the task that something holds, or refers to."""
    spec = found(holder, ("taskSpec",))
    if isinstance(spec, dict):
        return Task(name, spec, None, holder if run is None else run)
    reference = _referred(found(holder, ("taskRef",)), "Task")
    found_spec = found(lookup(namespace, reference) if reference else None, ("spec",))
    return Task(name, found_spec, reference, holder if run is None else run)


def _referred(named: Any, kind: str) -> Reference | None:
    """Return the object of Tekton that is referred to by its name; a resolver finds its own on the worker."""
    if not isinstance(named, dict) or named.get("resolver") or not word(named, ("name",)):
        return None
    return Reference(GROUP, kind, word(named, ("name",)))


def _namespace(run: Obj) -> str:
    return str(run["metadata"].get("namespace") or "")


# Pipelines


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The tasks of a PipelineRun, as far as they are known."""

    tasks: tuple[Task, ...] = ()
    finally_: tuple[Task, ...] = ()
    reference: Reference | None = None
    is_known: bool = True

    @property
    def every(self) -> tuple[Task, ...]:
        """All tasks, those that come last included."""
        return self.tasks + self.finally_

    def levels(self) -> list[list[Task]]:
        """Return the tasks that may run side by side: those that wait for as many others in a row."""
        depths = _depths({task.name: task.after for task in self.tasks})
        levels: dict[int, list[Task]] = {}
        for task in self.tasks:
            levels.setdefault(depths[task.name], []).append(task)
        return [*levels.values(), list(self.finally_)]


def pipeline(pipeline_run: Obj, lookup: Lookup) -> Pipeline:
    """Return the tasks of a PipelineRun."""
    spec, namespace = found(pipeline_run, path("spec.pipelineSpec")), _namespace(pipeline_run)
    reference = None
    if not isinstance(spec, dict):
        reference = _referred(found(pipeline_run, path("spec.pipelineRef")), "Pipeline")
        spec = found(lookup(namespace, reference) if reference else None, ("spec",))
    if not isinstance(spec, dict):
        return Pipeline(reference=reference, is_known=False)
    runs = _runs(pipeline_run)
    tasks, last = (
        tuple(
            _pipeline_task(each, runs, lookup, namespace) for each in _own_tasks(spec, member)
        )
        for member in ("tasks", "finally")
    )
    return Pipeline(tasks, last, reference)


def _own_tasks(spec: Obj, member: str) -> Iterator[Obj]:
    """Yield the tasks that Tekton runs itself: others are for whoever knows their kind."""
    for each in items(spec, (member,)):
        version = word(each, path("taskRef.apiVersion")) or word(
            each, path("taskSpec.apiVersion")
        )
        if not version or version.startswith(f"{GROUP}/"):
            yield each


def _pipeline_task(entry: Obj, runs: "_Runs", lookup: Lookup, namespace: str) -> Task:
    name = word(entry, ("name",))
    run = {**runs.general, **runs.special.get(name, {})}
    task = _task(entry, name, lookup, namespace, run)
    return Task(
        task.name, task.spec, task.reference, task.run, _waits_for(entry), _times(entry)
    )


class _Runs(NamedTuple):
    """What a PipelineRun says of how its tasks run."""

    general: Obj
    special: Mapping[str, Obj]
    """By task; of several that are of one task, the first counts."""


def _runs(pipeline_run: Obj) -> _Runs:
    general = found(pipeline_run, path("spec.taskRunTemplate"))
    special: dict[str, Obj] = {}
    for each in items(pipeline_run, path("spec.taskRunSpecs")):
        special.setdefault(word(each, ("pipelineTaskName",)), each)
    return _Runs(general if isinstance(general, dict) else {}, special)


def _waits_for(entry: Obj) -> frozenset[str]:
    listed = found(entry, ("runAfter",))
    named = (
        [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    )
    used = {key: entry.get(key) for key in ("params", "when", "matrix")}
    return frozenset(named) | frozenset(_RESULT.findall(str(used)))


def _times(entry: Obj) -> int:
    """Return how many times a task runs side by side: once for each combination of its matrix."""
    number = 1
    for param in items(entry, path("matrix.params")):
        values = param.get("value")
        number = min(number * (len(values) if isinstance(values, list) else 1), MOST_AT_ONCE)
    return number


def _depths(after: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return for each task how many come before it, one after the other; where some wait in a circle, all count as first."""
    waits = {name: {each for each in before if each in after} for name, before in after.items()}
    followers: dict[str, list[str]] = {name: [] for name in after}
    for name, before in waits.items():
        for each in before:
            followers[each].append(name)
    depths = dict.fromkeys(after, 0)
    free = [name for name, before in waits.items() if not before]
    for name in free:  # it grows meanwhile
        for each in followers[name]:
            depths[each] = max(depths[each], depths[name] + 1)
            waits[each].discard(name)
            if not waits[each]:
                free.append(each)
    return depths if len(free) == len(depths) else dict.fromkeys(after, 0)


# What runs bring along


def workspaces(run: Obj) -> Iterator[Reference]:
    """Yield what the workspaces of a run refer to."""
    for each in items(run, path("spec.workspaces")):
        yield from references.of_volume(each)
        yield from references.of_claim_template(found(each, ("volumeClaimTemplate",)) or {})
