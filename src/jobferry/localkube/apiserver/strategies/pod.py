"""Pods: what is filled in, checked and warned of; how long they stay when they are deleted."""

from collections.abc import Mapping, Sequence

from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import (
    pod_defaults,
    pod_disabled,
    pod_status,
    pod_update,
)
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import (
    names,
    resources,
)
from jobferry.objects import Obj, quantities
from jobferry.objects.demand import Demand

_COMPUTE = ("cpu", "memory")
_GATED = "Scheduling is blocked due to non-empty scheduling gates"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def default(pod: Obj) -> None:
    """Fill in a pod."""
    pod_defaults.default_pod(pod)
    if (status := pod.get("status")) is not None:
        _settle_addresses(status)


def _settle_addresses(status: Obj) -> None:
    """Make the one address and the list of addresses agree; the one wins."""
    address, listed = status.get("podIP"), status.get("podIPs") or []
    if address and (not listed or listed[0].get("ip") != address):
        status["podIPs"] = [{"ip": address}]
    elif listed and not address:
        status["podIP"] = listed[0].get("ip") or ""


def prepare_create(pod: Obj) -> None:
    """Start the status, and complete what depends on the pod's own labels."""
    spec, given = pod["spec"], pod.get("status") or {}
    pod["status"] = status = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        gated = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": pod["metadata"].get("creationTimestamp"),
            "reason": "SchedulingGated",
            "message": _GATED,
        }
        pod["status"] = status = {"phase": "Pending", "conditions": [gated]}  # type: ignore[dict-item]
    status["qosClass"] = given.get("qosClass") or qos_class(spec)
    pod_disabled.drop_from_spec(spec)
    carried = pod["metadata"].get("labels") or {}
    for term in _own_terms(spec):
        _apply_label_keys(term, carried)


def _own_terms(spec: Obj) -> list[Obj]:
    """Return all that selects other pods by labels of this one."""
    terms = list(spec.get("topologySpreadConstraints") or ())
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(kind) or {}
        terms += pods.get(_REQUIRED) or ()
        terms += (each.get("podAffinityTerm") or {} for each in pods.get(_PREFERRED) or ())
    return terms


def _apply_label_keys(term: Obj, carried: Mapping[str, str]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for member, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(member) or ():
            if key in carried:
                added = {"key": key, "operator": operator, "values": [carried[key]]}
                selector.setdefault("matchExpressions", []).append(added)


def qos_class(spec: Obj) -> str:
    """Return how a pod is treated when its node runs short: by its requests and limits."""
    whole = spec.get("resources")
    every = [whole] if whole is not None else _requirements(spec)
    guaranteed = all(
        {*_positive(each.get("limits"))} == {*_COMPUTE} for each in every if each is not whole
    ) and (
        whole is None or not whole.get("limits") or {*_positive(whole["limits"])} == {*_COMPUTE}
    )
    requests, limits = (_summed(every, kind) for kind in ("requests", "limits"))
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"


def _requirements(spec: Obj) -> list[Obj]:
    return [
        container.get("resources") or {}
        for kind in ("containers", "initContainers")
        for container in spec.get(kind) or ()
    ]


def _positive(amounts: Mapping[str, str] | None) -> Demand:
    found = {name: resources.parse((amounts or {}).get(name)) for name in _COMPUTE}
    return {name: amount for name, amount in found.items() if amount > quantities.ZERO}


def _summed(every: Sequence[Obj], kind: str) -> Demand:
    total: Demand = {}
    for each in every:
        for name, amount in _positive(each.get(kind)).items():
            total[name] = total[name] + amount if name in total else amount
    return total


def prepare_update(pod: Obj, old: Obj) -> None:
    """Keep the status as it was."""
    pod["status"] = old.get("status") or {}
    pod_disabled.drop_from_spec(pod["spec"])


def prepare_status_update(pod: Obj, old: Obj) -> None:
    """Keep all but the status and some metadata as it was."""
    pod["spec"] = old["spec"]
    about, was = pod["metadata"], old["metadata"]
    about.pop("deletionTimestamp", None)
    about.pop("ownerReferences", None)
    if owners := was.get("ownerReferences"):
        about["ownerReferences"] = owners
    status, before = pod.setdefault("status", {}), old.get("status") or {}
    for member in ("qosClass", "observedGeneration"):
        if not status.get(member) and before.get(member):
            status[member] = before[member]
    _keep_generations(status.get("conditions") or (), before.get("conditions") or ())
    pod_disabled.drop_from_status(status)


def _keep_generations(conditions: Sequence[Obj], before: Sequence[Obj]) -> None:
    """Take over which generation a condition is about, where a change does not say."""
    known: dict[str, list[int]] = {}
    for condition in before:
        seen = condition.get("observedGeneration") or 0
        known.setdefault(condition.get("type") or "", []).append(seen)
    for condition in conditions:
        earlier = known.get(condition.get("type") or "")
        seen = earlier.pop(0) if earlier else 0
        if not condition.get("observedGeneration") and seen:
            condition["observedGeneration"] = seen


def validate_create(pod: Obj) -> Sequence[Problem]:
    """Say what is wrong with a new pod."""
    return list(pod_update.create_problems(pod))


def validate_update(pod: Obj, old: Obj) -> Sequence[Problem]:
    """Say what is wrong with a changed pod."""
    return list(pod_update.update_problems(pod, old))


def validate_status_update(pod: Obj, old: Obj) -> Sequence[Problem]:
    """Say what is wrong with a changed status."""
    return list(pod_status.status_problems(pod, old))


def warn_create(pod: Obj) -> Sequence[str]:
    """Warn of a new pod."""
    if complaints := names.label_problems(pod["metadata"].get("name") or ""):
        warning = (
            "metadata.name: this is used in the Pod's hostname, which can result in surprising "
            f"behavior; a DNS label is recommended: [{' '.join(complaints)}]"
        )
        return [warning]
    return ()


def fields(pod: Obj) -> Mapping[str, str]:
    """Return what field selectors see of a pod."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    node = spec.get("nodeName") or ""
    addresses = status.get("podIPs") or ({"ip": status.get("podIP") or ""},)
    return {
        "spec.nodeName": node,
        "spec.host": node,
        "spec.restartPolicy": spec.get("restartPolicy") or "",
        "spec.schedulerName": spec.get("schedulerName") or "",
        "spec.serviceAccountName": spec.get("serviceAccountName") or "",
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.phase": status.get("phase") or "",
        "status.podIP": addresses[0].get("ip") or "",
        "status.nominatedNodeName": status.get("nominatedNodeName") or "",
    }


def grace_period(pod: Obj, wanted: int | None) -> int:
    """Return how long a deleted pod stays: not at all where nothing of it runs."""
    spec = pod.get("spec") or {}
    ended = (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded")
    if ended or not spec.get("nodeName"):
        return 0
    period = spec.get("terminationGracePeriodSeconds") or 0 if wanted is None else wanted
    return 1 if period < 0 else int(period)


STRATEGY = Strategy(
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate_create=validate_create,
    validate_update=validate_update,
    warn_create=warn_create,
    name_problems=names.is_subdomain,
    fields=fields,
    field_names=frozenset({*fields({}), "status.podIPs"}),
    unknown_field="field label not supported: {0}",
    grace_period=grace_period,
    returns_deleted=True,
    reset_fields=("status",),
)

STATUS = Strategy(
    default=default,
    prepare_update=prepare_status_update,
    validate_update=validate_status_update,
    name_problems=names.is_subdomain,
    fields=fields,
    field_names=STRATEGY.field_names,
    unknown_field=STRATEGY.unknown_field,
    reset_fields=("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
)
