"""Service: stored and checked in shape; localkube has no network, so no address leads anywhere."""

from collections.abc import Iterator, Mapping, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import keeping, service_families, service_rules
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import addresses, cidrs, metadata, names, values
from jobferry.objects import Obj

NO_ADDRESS_GIVEN = (
    "spec.clusterIP: there is no network here, and no address is given to services"
)
_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"
_AFFINITY_SECONDS = 10800
_IN_CLUSTER = ("NodePort", "LoadBalancer", "ClusterIP")
_INGRESS = "status.loadBalancer.ingress"


# -- defaults -------------------------------------------------------------------------------------


def _default(service: Obj) -> None:
    spec = service.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    _default_affinity(spec)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if service_rules.is_exposed(spec):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] in _IN_CLUSTER:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
        balancer = (service.get("status") or {}).get("loadBalancer") or {}
        for point in balancer.get("ingress") or ():
            if point.get("ip"):
                point.setdefault("ipMode", "VIP")


def _default_affinity(spec: Obj) -> None:
    affinity = spec.setdefault("sessionAffinity", "None")
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}


# -- what the endpoints do ------------------------------------------------------------------------


def _prepare_create(service: Obj) -> None:
    service["status"] = {"loadBalancer": {}}
    service_families.settle_create(service["spec"])
    _drop_traffic(service["spec"])


def _prepare_update(new: Obj, old: Obj) -> None:
    spec, before = new["spec"], old.get("spec") or {}
    keeping.status(new, old)
    _keep_node_ports(spec, before)
    service_families.settle_update(spec, before)
    _drop_unneeded(spec, before)
    _drop_traffic(spec)
    if spec["type"] != "LoadBalancer" and "status" in new:
        new["status"] = {**new["status"], "loadBalancer": {}}


def _drop_traffic(spec: Obj) -> None:
    # Upstream checks and keeps it, and hides it from every reader.
    is_fine = spec.get("internalTrafficPolicy") in service_rules.TRAFFIC
    if is_fine and not service_families.needs_address(spec):
        del spec["internalTrafficPolicy"]


def _uses_node_ports(spec: Obj) -> bool:
    return spec.get("type") in ("NodePort", "LoadBalancer")


def _keep_node_ports(spec: Obj, before: Obj) -> None:
    """Fill in the ports on nodes that an update leaves out, by the names of the ports."""
    if not _uses_node_ports(spec) or not _uses_node_ports(before):
        return
    known = {each.get("name"): each.get("nodePort", 0) for each in before.get("ports") or ()}
    used = _node_ports(spec) & _node_ports(before)
    for port in spec.get("ports") or ():
        number = known.get(port.get("name"), 0)
        if number and not port.get("nodePort") and number not in used:
            port["nodePort"] = number


def _node_ports(spec: Obj) -> set[int]:
    return {each["nodePort"] for each in spec.get("ports") or () if each.get("nodePort")}


def _drop_unneeded(spec: Obj, before: Obj) -> None:
    """Take out what a change of the type makes pointless, unless it was changed too."""
    if service_families.needs_address(before) and not service_families.needs_address(spec):
        if spec.get("clusterIPs") == before.get("clusterIPs"):
            _drop_same(spec, before, "clusterIP", "clusterIPs")
        _drop_same(spec, before, "ipFamilies", "ipFamilyPolicy")
    is_unneeded = _uses_node_ports(before) and not _uses_node_ports(spec)
    if is_unneeded and _node_ports(spec) <= _node_ports(before):
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)
    if before.get("type") == "LoadBalancer" and spec["type"] != "LoadBalancer":
        _drop_same(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if _checks_health(before) and not _checks_health(spec):
        _drop_same(spec, before, "healthCheckNodePort")
    if service_rules.is_exposed(before) and not service_rules.is_exposed(spec):
        _drop_same(spec, before, "externalTrafficPolicy")


def _checks_health(spec: Obj) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _drop_same(spec: Obj, before: Obj, *members: str) -> None:
    for member in members:
        if spec.get(member) == before.get(member):
            spec.pop(member, None)


# -- what is wrong --------------------------------------------------------------------------------


def _validate_create(service: Obj) -> Sequence[Problem]:
    # The families are looked at first, when addresses are given out; then nothing else is.
    if found := list(service_families.family_problems(service["spec"], {})):
        return found
    return [
        *metadata.create_problems(service, namespaced=True, name_problems=names.is_old_label),
        *service_rules.service_problems(service, None),
    ]


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    spec, before = new["spec"], old.get("spec") or {}
    if found := list(service_families.family_problems(spec, before)):
        return found
    return [
        *metadata.update_problems(new, old),
        *service_families.change_problems(spec, before),
        *_class_problems(spec, before),
        *service_rules.service_problems(new, old),
    ]


def _class_problems(spec: Obj, before: Obj) -> Iterator[Problem]:
    name = spec.get("loadBalancerClass")
    if spec["type"] != "LoadBalancer":
        if name is not None:
            yield problems.forbidden("spec.loadBalancerClass", service_rules.BALANCED)
        return
    if before.get("type") == "LoadBalancer" and name != before.get("loadBalancerClass"):
        yield problems.invalid("spec.loadBalancerClass", name, "may not change once set")
    if name is not None:
        yield from values.qualified("spec.loadBalancerClass", name)


def _validate_status(new: Obj, old: Obj) -> Sequence[Problem]:
    found = list(metadata.update_problems(new, old))
    points = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    if points and new["spec"].get("type") != "LoadBalancer":
        what = "may only be used when `spec.type` is 'LoadBalancer'"
        return [*found, problems.forbidden(_INGRESS, what)]
    for index, point in enumerate(points):
        found.extend(_point_problems(point, f"{_INGRESS}[{index}]"))
    return found


def _point_problems(point: Obj, field: str) -> Iterator[Problem]:
    address, mode, host = point.get("ip"), point.get("ipMode"), point.get("hostname")
    if address:
        yield from addresses.address_problems(f"{field}.ip", address)
    if mode is not None and not address:
        what = "may not be specified when `ip` is not set"
        yield problems.forbidden(f"{field}.ipMode", what)
    elif mode is not None and mode not in ("Proxy", "VIP"):
        yield problems.not_in_enum(f"{field}.ipMode", mode, ("Proxy", "VIP"))
    if host:
        yield from values.subdomain(f"{field}.hostname", host)
        if addresses.parse(host):
            what = "must be a DNS name, not an IP address"
            yield problems.invalid(f"{field}.hostname", host, what)


# -- warnings and fields --------------------------------------------------------------------------


def _warnings(service: Obj) -> Sequence[str]:
    return list(_all_warnings(service))


def _warnings_update(new: Obj, _old: Obj) -> Sequence[str]:
    return list(_all_warnings(new))


def _warnings_status(new: Obj, _old: Obj) -> Sequence[str]:
    points = ((new.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return [
        warning
        for index, point in enumerate(points)
        for warning in addresses.warnings(f"{_INGRESS}[{index}]", point.get("ip") or "")
    ]


def _all_warnings(service: Obj) -> Iterator[str]:
    spec = service["spec"]
    if _HINTS in (service["metadata"].get("annotations") or {}):
        yield f"annotation {_HINTS} is deprecated, please use {_MODE} instead"
    if service_families.is_headless(spec):
        yield from _headless_warnings(spec)
    elif spec.get("clusterIP"):
        for index, text in enumerate(spec.get("clusterIPs") or ()):
            yield from addresses.warnings(f"spec.clusterIPs[{index}]", text)
    elif service_families.needs_address(spec):
        yield NO_ADDRESS_GIVEN
    for index, text in enumerate(spec.get("externalIPs") or ()):
        yield from addresses.warnings(f"spec.externalIPs[{index}]", text)
    if text := spec.get("loadBalancerIP"):
        yield from addresses.warnings("spec.loadBalancerIP", text)
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from cidrs.warnings(f"spec.loadBalancerSourceRanges[{index}]", text)
    yield from _type_warnings(spec)


def _headless_warnings(spec: Obj) -> Iterator[str]:
    for member in ("loadBalancerIP", "externalIPs"):
        if spec.get(member):
            yield f"spec.{member} is ignored for headless services"
    if spec.get("sessionAffinity") != "None":
        yield "spec.SessionAffinity is ignored for headless services"


def _type_warnings(spec: Obj) -> Iterator[str]:
    if spec["type"] == "ExternalName" and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if spec["type"] != "ExternalName" and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _fields(service: Obj) -> Mapping[str, str]:
    spec = service.get("spec") or {}
    return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}


STRATEGY = Strategy(
    returns_deleted=True,
    default=_default,
    prepare_create=_prepare_create,
    prepare_update=_prepare_update,
    validate_create=_validate_create,
    validate_update=_validate_update,
    warn_create=_warnings,
    warn_update=_warnings_update,
    name_problems=names.is_old_label,
    versioned=None,
    fields=_fields,
    field_names=frozenset({"spec.clusterIP", "spec.type"}),
    unknown_field="field label not supported: {0}",
    create_on_update=True,
    reset_fields=("status",),
)
"""Services."""

STATUS = Strategy(
    default=_default,
    prepare_update=keeping.spec,
    validate_update=_validate_status,
    warn_update=_warnings_status,
    name_problems=names.is_old_label,
    versioned=None,
    reset_fields=("spec",),
)
"""services/status."""
