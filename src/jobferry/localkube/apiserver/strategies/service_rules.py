"""What is wrong with a service."""

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import service_families
from jobferry.localkube.apiserver.validation import addresses, cidrs, metadata, names, values
from jobferry.objects import Obj

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
BALANCED = "may only be used when `type` is 'LoadBalancer'"
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_AFFINITIES = ("ClientIP", "None")
_MAX_AFFINITY = 86400
TRAFFIC = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_HINTS = "service.kubernetes.io/topology-aware-hints"
_MODE = "service.kubernetes.io/topology-mode"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def is_exposed(spec: Obj) -> bool:
    """Tell whether a service can be reached from outside the cluster."""
    type = spec.get("type")
    return type in ("LoadBalancer", "NodePort") or (
        type == "ClusterIP" and bool(spec.get("externalIPs"))
    )


def service_problems(service: Obj, old: Obj | None) -> Iterator[Problem]:
    """Say what is wrong with a service, its metadata aside."""
    spec = service.get("spec") or {}
    before = (old or {}).get("spec") or {}
    yield from _topology_problems(service["metadata"].get("annotations") or {})
    yield from _type_problems(spec)
    yield from _ports_problems(spec)
    yield from metadata.labels_problems(spec.get("selector"), "spec.selector")
    yield from _affinity_problems(spec)
    if service_families.needs_address(spec):
        yield from service_families.address_problems(spec, before)
    yield from _external_problems(spec, before)
    yield from values.one_of("spec.type", spec.get("type"), TYPES)
    yield from _numbers_problems(spec)
    yield from _ranges_problems(service, old)
    yield from _balancer_problems(spec)
    yield from _policy_problems(spec)


def _topology_problems(annotations: dict[str, str]) -> Iterator[Problem]:
    mode, hints = annotations.get(_MODE), annotations.get(_HINTS)
    if mode is not None and hints is not None and mode != hints:
        what = f"must match annotations[{_HINTS}] when both are specified"
        yield problems.invalid(f"metadata.annotations[{_MODE}]", mode, what)


def _type_problems(spec: Obj) -> Iterator[Problem]:
    type, is_headless = spec.get("type"), service_families.is_headless(spec)
    if not spec.get("ports") and not is_headless and type != "ExternalName":
        yield problems.required("spec.ports")
    if is_headless and type in ("LoadBalancer", "NodePort"):
        what = f"may not be set to 'None' for {type} services"
        yield problems.invalid("spec.clusterIPs[0]", "None", what)
    if type == "ExternalName":
        yield from _external_name_problems(spec)


def _external_name_problems(spec: Obj) -> Iterator[Problem]:
    for member in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(member):
            what = "may not be set for ExternalName services"
            yield problems.forbidden(f"spec.{member}", what)
    name = (spec.get("externalName") or "").removesuffix(".")
    if name:
        yield from values.subdomain("spec.externalName", name)
    else:
        yield problems.required("spec.externalName")


def _ports_problems(spec: Obj) -> Iterator[Problem]:
    ports = spec.get("ports") or ()
    seen: set[str] = set()
    for index, port in enumerate(ports):
        field, name = f"spec.ports[{index}]", port.get("name") or ""
        if name:
            yield from values.dns_label(f"{field}.name", name)
            if name in seen:
                yield problems.duplicate(f"{field}.name", name)
            seen.add(name)
        elif len(ports) > 1:
            yield problems.required(f"{field}.name")
        yield from _port_problems(port, field)


def _port_problems(port: Obj, field: str) -> Iterator[Problem]:
    number, target = port.get("port", 0), port.get("targetPort", 0)
    yield from values.each(f"{field}.port", number, names.port_problems(number))
    yield from values.one_of(f"{field}.protocol", port.get("protocol"), _PROTOCOLS)
    if isinstance(target, str):
        complaints = names.port_name_problems(target)
    else:
        complaints = names.port_problems(target)
    yield from values.each(f"{field}.targetPort", target, complaints)
    if port.get("appProtocol") is not None:
        yield from values.qualified(f"{field}.appProtocol", port["appProtocol"])


def _affinity_problems(spec: Obj) -> Iterator[Problem]:
    affinity = spec.get("sessionAffinity")
    yield from values.one_of("spec.sessionAffinity", affinity, _AFFINITIES)
    if affinity == "ClientIP":
        # The defaults have seen to it that it is there.
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        seconds = client.get("timeoutSeconds", 0)
        if not 0 < seconds <= _MAX_AFFINITY:
            field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            what = f"must be greater than 0 and less than {_MAX_AFFINITY}"
            yield problems.invalid(field, seconds, what)


def _external_problems(spec: Obj, before: Obj) -> Iterator[Problem]:
    kept = before.get("externalIPs") or ()
    for index, text in enumerate(spec.get("externalIPs") or ()):
        field = f"spec.externalIPs[{index}]"
        found = [] if text in kept else list(addresses.address_problems(field, text))
        yield from found or _special_problems(field, text)


def _special_problems(field: str, text: str) -> Iterator[Problem]:
    address = addresses.parse(text)
    if address is None:
        return
    if address.is_unspecified:
        yield problems.invalid(field, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        what = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
        yield problems.invalid(field, text, what)
    if address.is_link_local:
        what = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
        yield problems.invalid(field, text, what)
    if address.packed.startswith((b"\xe0\x00\x00", b"\xff\x02")) and address.is_multicast:
        what = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        yield problems.invalid(field, text, what)


def _numbers_problems(spec: Obj) -> Iterator[Problem]:
    ports = spec.get("ports") or ()
    if spec.get("type") == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                what = "may not be used when `type` is 'ClusterIP'"
                yield problems.forbidden(f"spec.ports[{index}].nodePort", what)
    seen: set[Any] = set()
    for index, port in enumerate(ports):
        number = port.get("nodePort")
        if number and (port.get("protocol"), number) in seen:
            yield problems.duplicate(f"spec.ports[{index}].nodePort", number)
        seen.add((port.get("protocol"), number))
    yield from _repeated_ports(ports)


def _repeated_ports(ports: Sequence[Obj]) -> Iterator[Problem]:
    seen: set[Any] = set()
    for index, port in enumerate(ports):
        key = port.get("protocol", ""), port.get("port", 0)
        if key in seen:
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            body = f"Duplicate value: {orjson.dumps(shown).decode()}"
            yield Problem("FieldValueDuplicate", f"spec.ports[{index}]", body)
        seen.add(key)


def _ranges_problems(service: Obj, old: Obj | None) -> Iterator[Problem]:
    spec, before = service.get("spec") or {}, (old or {}).get("spec") or {}
    is_balanced = spec.get("type") == "LoadBalancer"
    annotation = (service["metadata"].get("annotations") or {}).get(_RANGES)
    if ranges := spec.get("loadBalancerSourceRanges"):
        field = "spec.LoadBalancerSourceRanges"
        if not is_balanced:
            yield problems.forbidden(field, BALANCED)
        kept = [each.strip() for each in before.get("loadBalancerSourceRanges") or ()]
        for index, text in enumerate(ranges):
            if text.strip() not in kept:
                yield from cidrs.cidr_problems(f"{field}[{index}]", text.strip())
    elif annotation is not None:
        field = f"metadata.annotations[{_RANGES}]"
        if not is_balanced:
            yield problems.forbidden(field, BALANCED)
        old_meta = (old or {}).get("metadata") or {}
        if annotation.strip() and annotation != (old_meta.get("annotations") or {}).get(
            _RANGES
        ):
            for text in annotation.split(","):
                yield from cidrs.cidr_problems(field, text.strip())


def _balancer_problems(spec: Obj) -> Iterator[Problem]:
    is_balanced = spec.get("type") == "LoadBalancer"
    if spec.get("allocateLoadBalancerNodePorts") is not None and not is_balanced:
        yield problems.forbidden("spec.allocateLoadBalancerNodePorts", BALANCED)
    name = spec.get("loadBalancerClass")
    if name is not None and is_balanced:
        yield from values.qualified("spec.loadBalancerClass", name)
    elif name is not None:
        yield problems.forbidden("spec.loadBalancerClass", BALANCED)


def _policy_problems(spec: Obj) -> Iterator[Problem]:
    policy, field = spec.get("externalTrafficPolicy"), "spec.externalTrafficPolicy"
    if is_exposed(spec):
        yield from values.one_of(field, policy, TRAFFIC)
    elif policy:
        what = "may only be set for externally-accessible services"
        yield problems.invalid(field, policy, what)
    yield from _health_problems(spec)
    inside = spec.get("internalTrafficPolicy")
    if inside is not None and inside not in TRAFFIC:
        yield problems.not_in_enum("spec.internalTrafficPolicy", inside, TRAFFIC)
    wanted = spec.get("trafficDistribution")
    if wanted is not None and wanted not in _DISTRIBUTIONS:
        yield problems.not_supported("spec.trafficDistribution", wanted, _DISTRIBUTIONS)


def _health_problems(spec: Obj) -> Iterator[Problem]:
    number, field = spec.get("healthCheckNodePort") or 0, "spec.healthCheckNodePort"
    if not number:
        # Upstream has given one out by now where it is needed. We give out none.
        return
    if spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
        yield from values.each(field, number, names.port_problems(number))
    else:
        what = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield problems.invalid(field, number, what)
