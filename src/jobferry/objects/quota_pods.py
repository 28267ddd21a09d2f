"""How pods are measured against a ResourceQuota."""

from collections.abc import Iterable
from datetime import datetime

from jobferry.clock import span
from jobferry.objects import Obj, amounts, conditions, demand, labels
from jobferry.objects.amounts import ONE, Amounts

_COUNT = "count/pods"
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_HUGE_PAGES = "hugepages-"
_REQUESTS = "requests."
_DEVICE_CLASS = "deviceclass.resource.kubernetes.io/"

_TRACKED = frozenset(
    {
        _COUNT,
        "pods",
        *_COMPUTE,
        *(f"requests.{name}" for name in _COMPUTE),
        *(f"limits.{name}" for name in _COMPUTE),
    }
)
_REQUIRED = frozenset(
    {f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory")}
)
"""What every container has to ask for where a quota limits it: a mistake of old, says upstream."""


def tracks(name: str) -> bool:
    """Tell whether a resource of a quota is measured on pods."""
    if name in _TRACKED or name.startswith((_HUGE_PAGES, _REQUESTS + _HUGE_PAGES)):
        return True
    if not name.startswith(_REQUESTS):
        return False
    return not _is_native(name) or name.startswith(_REQUESTS + _DEVICE_CLASS)


def usage(pod: Obj, now: datetime) -> Amounts:
    """Return what a pod uses; one that has ended, or should have, is only counted as an object."""
    if not _lives(pod, now):
        return {_COUNT: ONE}
    return {_COUNT: ONE} | _compute(*_totals(pod))


def missing(required: Iterable[str], pod: Obj) -> str:
    """Say what which containers have to ask for, but do not."""
    spec = pod.get("spec") or {}
    needed = sorted(_REQUIRED.intersection(required))
    if not needed or _asks_as_a_whole(spec):
        return ""
    lacking: dict[str, set[str]] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        found = _compute(amounts.of(container, "requests"), amounts.of(container, "limits"))
        for name in needed:
            if name not in found:
                lacking.setdefault(name, set()).add(container.get("name", ""))
    said = "; ".join(
        f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking)
    )
    return f"must specify {said}" if said else ""


def in_scope(requirement: Obj, pod: Obj) -> bool:
    """Tell whether a pod is in the scope of a quota."""
    scope = requirement.get("scopeName", "")
    if scope in ("Terminating", "NotTerminating"):
        return is_terminating(pod) is (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return _is_best_effort(pod) is (scope == "BestEffort")
    if scope == "PriorityClass":
        return _has_priority_class(requirement, pod)
    return scope == "CrossNamespacePodAffinity" and _looks_across_namespaces(pod)


def is_terminating(pod: Obj) -> bool:
    """Tell whether a pod is sure to end some time."""
    deadline = (pod.get("spec") or {}).get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


# -- amounts -----------------------------------------------------------------------------------


def _compute(requests: Amounts, limits: Amounts) -> Amounts:
    """Name what is requested and limited as quotas do."""
    found = {"pods": ONE}
    for name in _COMPUTE:
        if name in requests:
            found[name] = found[f"requests.{name}"] = requests[name]
        if name in limits:
            found[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name in _COMPUTE:
            continue
        if name.startswith(_HUGE_PAGES):
            found[name] = found[_REQUESTS + name] = amount
        elif _is_extended(name) or name.startswith(_DEVICE_CLASS):
            found[_REQUESTS + name] = amount
    return found


def _totals(pod: Obj) -> tuple[Amounts, Amounts]:
    """Return what a pod requests and is limited to, with its overhead."""
    spec = pod.get("spec") or {}
    containers = _Containers(pod)
    requests = amounts.of_containers(spec, containers.requests)
    limits = amounts.of_containers(spec, containers.limits)
    requests = amounts.override(requests, spec, "requests", _is_pod_level)
    limits = amounts.override(limits, spec, "limits", _is_pod_level)
    overhead = amounts.read(spec.get("overhead"))
    for name, amount in overhead.items():
        if limits.get(name):
            limits[name] += amount
    return demand.add(requests, overhead), limits


class _Containers:
    """What containers hold: while one is resized, the larger of what it asks for and what it has."""

    def __init__(self, pod: Obj) -> None:
        spec, state = pod.get("spec") or {}, pod.get("status") or {}
        self._running = {container["name"] for container in spec.get("containers") or ()}
        self._statuses = {
            each.get("name"): each
            for field in ("containerStatuses", "initContainerStatuses")
            for each in state.get(field) or ()
            if each.get("resources") is not None
        }
        pending = conditions.find(state.get("conditions"), "PodResizePending") or {}
        self._is_refused = pending.get("reason") == "Infeasible"

    def requests(self, container: Obj) -> Amounts:
        """Return what a container requests."""
        return self._effective(container, "requests", "allocatedResources")

    def limits(self, container: Obj) -> Amounts:
        """Return what a container is limited to."""
        return self._effective(container, "limits", None)

    def _effective(self, container: Obj, what: str, allocated: str | None) -> Amounts:
        asked = amounts.of(container, what)
        state = self._statuses.get(container.get("name")) if self._statuses else None
        if state is None or not self._is_resizable(container):
            return asked
        has = amounts.of(state, what)
        if allocated:
            has = amounts.larger(has, amounts.read(state.get(allocated)))
        return has if self._is_refused else amounts.larger(asked, has)

    def _is_resizable(self, container: Obj) -> bool:
        return container.get("restartPolicy") == "Always" or container["name"] in self._running


def _asks_as_a_whole(spec: Obj) -> bool:
    resources = spec.get("resources") or {}
    names = (*(resources.get("requests") or ()), *(resources.get("limits") or ()))
    return any(map(_is_pod_level, names))


def _is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith(_HUGE_PAGES)


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    if _is_native(name) or name.startswith(_REQUESTS):
        return False
    return not labels.key_problems(_REQUESTS + name)


# -- states and scopes -------------------------------------------------------------------------


def _lives(pod: Obj, now: datetime) -> bool:
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    metadata = pod.get("metadata") or {}
    deleted, grace = (
        metadata.get("deletionTimestamp"),
        metadata.get("deletionGracePeriodSeconds"),
    )
    if deleted is None or grace is None:
        return True
    return now <= datetime.fromisoformat(deleted) + span(grace)


def _is_best_effort(pod: Obj) -> bool:
    known = (pod.get("status") or {}).get("qosClass")
    if known:
        return bool(known == "BestEffort")
    spec = pod.get("spec") or {}
    whole = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    holders = whole if spec.get("resources") is None else (spec,)
    return not any(
        amount.unscaled > 0
        for holder in holders
        for what in ("requests", "limits")
        for name, amount in amounts.of(holder, what).items()
        if name in ("cpu", "memory")
    )


def _has_priority_class(requirement: Obj, pod: Obj) -> bool:
    name = (pod.get("spec") or {}).get("priorityClassName")
    if requirement.get("operator") == "Exists":
        return bool(name)
    expression = {
        "key": "PriorityClass",
        "operator": requirement.get("operator"),
        "values": requirement.get("values") or [],
    }
    selector = labels.from_object({"matchExpressions": [expression]})
    return selector.matches({"PriorityClass": name} if name else {})


def _looks_across_namespaces(pod: Obj) -> bool:
    affinity = (pod.get("spec") or {}).get("affinity") or {}
    for which in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(which) or {}
        terms = [
            *(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()),
            *(
                each.get("podAffinityTerm") or {}
                for each in rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
            ),
        ]
        if any(
            term.get("namespaces") or term.get("namespaceSelector") is not None
            for term in terms
        ):
            return True
    return False
