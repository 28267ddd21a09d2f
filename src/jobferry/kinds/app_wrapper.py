"""AppWrappers: objects of any kind, wrapped into one that starts and ends with them."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobferry.kinds import pods, statuses
from jobferry.kinds.custom import CustomKind
from jobferry.kinds.paths import Path, changed, found, items, number, path, without, word
from jobferry.kinds.pods import Pods
from jobferry.kinds.references import Reference
from jobferry.kinds.table import CONDITIONS, PodSet, Says
from jobferry.objects import Obj
from jobferry.objects.demand import pods_of_job
from jobferry.objects.resource import Resource

DEPLOYED = Says("ResourcesDeployed")
"""While that is so, a failed one is still being cleaned up."""

UNHEALTHY = Says("Unhealthy")
"""What says why one failed."""

TEMPLATED = (PodSet(at=("spec",)),)
"""The pods of a Deployment or StatefulSet, as of any other that has a template and replicas."""

NO_PODS = Pods(None, 1)
"""Of an object that makes no sense."""

NONSENSE = (AttributeError, KeyError, TypeError, ValueError)
"""What comes of asking the adapter of a kind for an object of which no API server has checked anything."""

_STEP = re.compile(r"([^\[\]]+)((?:\[[0-9]{1,9}\])*)$")


@dataclass(frozen=True)
class AppWrapper(CustomKind):
    """AppWrappers; what they wrap is known by the adapters of those kinds."""

    wrapped: Mapping[str, CustomKind] = field(default_factory=dict)
    """By Kind.name."""

    @property
    def end_members(self) -> tuple[Path, ...]:
        """The members of an object that tell whether it ended."""
        return path("status.phase"), CONDITIONS

    def finish(self, obj: Obj) -> str | None:
        """Return how it ended; one that failed has ended once it is cleaned up."""
        ended = statuses.ending(self.row, obj)
        return None if ended == statuses.FAILED and DEPLOYED.holds(obj) else ended

    def failed(self, hub: Obj, reason: str, message: str, now: datetime) -> Obj:
        """Return the status of one that failed: nothing of it is deployed, and a condition says why."""
        status = statuses.failure(self.row, hub, reason, message, now)
        listed = statuses.with_condition(self.row, hub, UNHEALTHY, reason, message, now)
        return {**status, "conditions": listed}

    def pods(self, hub: Obj) -> Iterator[Pods]:
        """Yield the pods of what is wrapped."""
        for component in _components(hub):
            yield from self._pods(component) or ()

    def _pods(self, component: Obj) -> list[Pods] | None:
        """Return the pods of one component, as it declares them or as its kind has them; None: not known."""
        declared = items(component, ("podSets",))
        if declared:
            return list(_declared(component, declared))
        inner = found(component, ("template",))
        if not isinstance(inner, dict):
            return None
        kind = _kind(inner)
        if kind not in self.wrapped:
            return _built_in(kind, inner)
        try:
            return list(self.wrapped[kind].pods(inner))
        except NONSENSE:
            return [NO_PODS]

    def missing_pods(self, hub: Obj) -> str | None:
        """Name the first component whose pods are not known, if there is one that may have some."""
        for number_, component in enumerate(_components(hub)):
            inner = found(component, ("template",))
            kind = _kind(inner) if isinstance(inner, dict) else ""
            if self._pods(component) is None and kind not in WITHOUT_PODS:
                return f"spec.components[{number_}], a {kind or 'nothing'}, declares no podSets"
            its = self.wrapped.get(kind) if not items(component, ("podSets",)) else None
            if its and (why := _missing_pods(its, inner)):
                return f"spec.components[{number_}], a {kind}: {why}"
        return None

    @property
    def looks_up(self) -> tuple[Resource, ...]:
        """What any kind that may be wrapped looks up."""
        every = (each for kind in self.wrapped.values() for each in kind.looks_up)
        return tuple(dict.fromkeys(every))

    def needed(self, hub: Obj) -> Iterator[Reference]:
        """Yield what the wrapped objects refer to, but for what is wrapped beside them."""
        inside = {
            (_kind(inner).partition(".")[0], word(inner, ("metadata", "name")))
            for component in _components(hub)
            if isinstance(inner := found(component, ("template",)), dict)
        }
        for reference in self._references(hub):
            if (reference.kind, reference.name) not in inside:
                yield reference

    def _references(self, hub: Obj) -> Iterator[Reference]:
        yield from pods.needed(self.pods(hub))
        for component in _components(hub):
            inner = found(component, ("template",))
            if isinstance(inner, dict) and (kind := self.wrapped.get(_kind(inner))):
                yield from _readable(kind.needed(inner))

    def draft(self, hub: Obj) -> Obj:
        """Return what a worker is to run: wrapped objects are the worker's to run, too."""
        drafted = CustomKind.draft(self, hub)
        whole: Obj = changed(drafted, ("spec", "components", "*"), self._portable)
        return whole

    def _portable(self, component: Any) -> Any:
        inner = found(component, ("template",))
        if not isinstance(inner, dict):
            return component
        kind = self.wrapped.get(_kind(inner))
        row = kind.row if kind else None
        for each in (row.managed_by, *row.nested) if row else (("spec", "managedBy"),):
            inner = without(inner, each, self.names_us)
        return {**component, "template": inner}


WITHOUT_PODS = frozenset(
    {
        "ConfigMap",
        "Ingress.networking.k8s.io",
        "NetworkPolicy.networking.k8s.io",
        "PersistentVolumeClaim",
        "PodGroup.scheduling.x-k8s.io",
        "Role.rbac.authorization.k8s.io",
        "RoleBinding.rbac.authorization.k8s.io",
        "Route.route.openshift.io",
        "Secret",
        "Service",
        "ServiceAccount",
    }
)
"""What is wrapped beside workloads, and runs nothing."""


def _components(hub: Obj) -> Iterator[Obj]:
    """Yield what is wrapped, each object as it will be on a worker: in the namespace of what wraps it, whatever it says."""
    for component in items(hub, ("spec", "components")):
        inner = found(component, ("template",))
        if isinstance(inner, dict):
            meta = found(inner, ("metadata",))
            named = meta if isinstance(meta, dict) else {}
            there = {**named, "namespace": word(hub, path("metadata.namespace"))}
            yield {**component, "template": {**inner, "metadata": there}}
        else:
            yield component


def _missing_pods(kind: CustomKind, inner: Any) -> str | None:
    with suppress(*NONSENSE):
        return kind.missing_pods(inner)
    return None


def _readable(found: Iterator[Reference]) -> Iterator[Reference]:
    with suppress(*NONSENSE):
        yield from found


def _kind(obj: Obj) -> str:
    group = word(obj, ("apiVersion",)).rpartition("/")[0]
    return f"{word(obj, ('kind',))}.{group}".rstrip(".")


def _built_in(kind: str, inner: Obj) -> list[Pods] | None:
    """Return the pods of an object of Kubernetes itself."""
    spec = found(inner, ("spec",))
    if not isinstance(spec, dict):
        return None
    match kind:
        case "Pod":
            return [Pods(spec, 1)]
        case "Job.batch":
            return [Pods(found(spec, path("template.spec")), _of_job(inner))]
        case "Deployment.apps" | "StatefulSet.apps":
            return [each for pod_set in TEMPLATED for each in pods.of_set(inner, pod_set)]
        case _:
            return None


def _of_job(job: Obj) -> int:
    try:
        return pods_of_job(job)
    except (TypeError, ValueError):
        return 1


def _declared(component: Obj, declared: list[Obj]) -> Iterator[Pods]:
    for pod_set in declared:
        template = _at(component, word(pod_set, ("path",)))
        yield Pods(found(template, ("spec",)) or {}, number(pod_set, ("replicas",), 1))


def _at(component: Obj, text: str) -> Any:
    """Return what is at a path as AppWrappers write it, as in template.spec.replicatedJobs[0].template."""
    value: Any = component
    for step in text.split("."):
        match = _STEP.match(step)
        value = found(value, (match[1],)) if match else None
        for index in re.findall(r"\d+", match[2]) if match else ():
            is_there = isinstance(value, list) and int(index) < len(value)
            value = value[int(index)] if is_there else None
    return value
