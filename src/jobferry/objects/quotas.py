"""How objects of each kind are measured against a ResourceQuota."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from jobferry.objects import Obj, amounts, demand, labels, quota_pods
from jobferry.objects.amounts import ONE, Amounts
from jobferry.objects.quantities import ZERO, Quantity


def _no_scope(_requirement: Obj, _obj: Obj) -> bool:
    """Leave an object out of every quota that has scopes."""
    return False


def _nothing_missing(_required: Iterable[str], _obj: Obj) -> str:
    """Require nothing."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Measures objects of one kind."""

    tracks: Callable[[str], bool]
    """Which resources of a quota it measures."""
    usage: Callable[[Obj, datetime], Amounts]
    """What an object uses now."""
    in_scope: Callable[[Obj, Obj], bool] = _no_scope
    """(requirement of a scope, object): whether the object is in that scope."""
    missing: Callable[[Iterable[str], Obj], str] = _nothing_missing
    """(resources of a quota, object): what the object has to say, but does not."""


OLD_NAMES = frozenset({"configmaps", "resourcequotas", "replicationcontrollers", "secrets"})
"""Core kinds that quotas may also count without `count/`."""


def measure_of(group: str, resource: str) -> Measure:
    """Return how objects of a resource are measured: most are just counted."""
    special = _SPECIAL.get(resource) if not group else None
    return special or _counter(group, resource)


def scopes(quota: Obj) -> Sequence[Obj]:
    """Return what objects have to be like to count."""
    spec = quota.get("spec") or {}
    exist = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return [*exist, *((spec.get("scopeSelector") or {}).get("matchExpressions") or ())]


def counted_as(group: str, resource: str) -> str:
    """Return the name by which quotas count objects of any kind."""
    return f"count/{resource}.{group}" if group else f"count/{resource}"


def _counter(group: str, resource: str) -> Measure:
    names = {counted_as(group, resource)}
    if not group and resource in OLD_NAMES:
        names.add(resource)
    usage = dict.fromkeys(names, ONE)
    return Measure(tracks=names.__contains__, usage=lambda _obj, _now: usage)


# -- services ----------------------------------------------------------------------------------

_SERVICES = ("count/services", "services", "services.nodeports", "services.loadbalancers")


def _service_usage(service: Obj, _now: datetime) -> Amounts:
    spec = service.get("spec") or {}
    kind, ports = spec.get("type"), spec.get("ports") or []
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        ports = [port for port in ports if port.get("nodePort")]
    nodes = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    balancers = ONE if kind == "LoadBalancer" else ZERO
    return dict(zip(_SERVICES, (ONE, ONE, Quantity(nodes), balancers), strict=True))


# -- claims for volumes ------------------------------------------------------------------------

_CLAIMS, _STORAGE = "persistentvolumeclaims", "requests.storage"
_OF_CLASS = ".storageclass.storage.k8s.io/"


def _tracks_claims(name: str) -> bool:
    exact = name in (_CLAIMS, f"count/{_CLAIMS}", _STORAGE)
    return exact or name.endswith((_OF_CLASS + _CLAIMS, _OF_CLASS + _STORAGE))


def _claim_usage(claim: Obj, _now: datetime) -> Amounts:
    usage = {_CLAIMS: ONE, f"count/{_CLAIMS}": ONE}
    storage_class, storage = _storage_class(claim), _storage(claim)
    if storage_class:
        usage[storage_class + _OF_CLASS + _CLAIMS] = ONE
    if storage is not None:
        usage[_STORAGE] = storage
        if storage_class:
            usage[storage_class + _OF_CLASS + _STORAGE] = storage
    return usage


def _storage_class(claim: Obj) -> str:
    annotations = (claim.get("metadata") or {}).get("annotations") or {}
    old = annotations.get("volume.beta.kubernetes.io/storage-class")
    named = (claim.get("spec") or {}).get("storageClassName")
    return str(old if old is not None else named or "")


def _storage(claim: Obj) -> Quantity | None:
    """Return what a claim asks for, or got if that is more, in whole bytes."""
    asked = amounts.of(claim.get("spec") or {}, "requests").get("storage")
    if asked is None:
        return None
    got = amounts.read((claim.get("status") or {}).get("allocatedResources")).get("storage")
    return (got if got is not None and got > asked.rounded_up(0) else asked).rounded_up(0)


def _claim_in_scope(requirement: Obj, claim: Obj) -> bool:
    if requirement.get("scopeName") != "VolumeAttributesClass":
        return False
    state = claim.get("status") or {}
    wanted = (
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        state.get("currentVolumeAttributesClassName"),
        (state.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    names: list[str] = list(filter(None, wanted))
    selector = labels.from_object({"matchExpressions": [_as_expression(requirement)]})
    if not names:
        return selector.matches({})
    return any(selector.matches({"VolumeAttributesClass": name}) for name in names)


def _as_expression(requirement: Obj) -> Obj:
    values = requirement.get("values") or []
    key, operator = requirement["scopeName"], requirement.get("operator")
    return {"key": key, "operator": operator, "values": values}


_SPECIAL = {
    "pods": Measure(
        tracks=quota_pods.tracks,
        usage=quota_pods.usage,
        in_scope=quota_pods.in_scope,
        missing=quota_pods.missing,
    ),
    "services": Measure(tracks=_SERVICES.__contains__, usage=_service_usage),
    _CLAIMS: Measure(tracks=_tracks_claims, usage=_claim_usage, in_scope=_claim_in_scope),
}


def kinds(hard: Iterable[str]) -> set[tuple[str, str]]:
    """Return the group and resource of all kinds that are measured for these resources of a quota."""
    found = set()
    for name in hard:
        if name.startswith("count/"):
            resource, _, group = name.removeprefix("count/").partition(".")
            found.add((group, resource))
        for resource in (*_SPECIAL, *OLD_NAMES):
            if measure_of("", resource).tracks(name):
                found.add(("", resource))
    return found


def used(quota: Obj, measure: Measure, objs: Iterable[Obj], now: datetime) -> Amounts:
    """Return what objects of one kind use of a quota."""
    names = list(filter(measure.tracks, (quota.get("spec") or {}).get("hard") or ()))
    total = dict.fromkeys(names, ZERO)
    wanted = scopes(quota)
    for obj in objs:
        try:
            inside = [measure.in_scope(requirement, obj) for requirement in wanted]
        except labels.BadSelector:
            # Upstream counts no further. It is admission that says what is wrong with the scope.
            return total
        if all(inside):
            total = demand.add(total, amounts.only(measure.usage(obj, now), names))
    return total
