"""What is wrong with the spec of a pod, alone or in a template."""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import (
    addresses,
    containers,
    metadata,
    names,
    pod_resources,
    resources,
    scheduling,
    security,
    values,
    volumes,
    windows,
)
from jobferry.localkube.apiserver.validation.containers import Surroundings
from jobferry.objects import Obj

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_SERVERS = 3
_MAX_SEARCHES = 32
_MAX_SEARCH_TEXT = 2048
_MAX_HOSTNAME = 64


def spec_problems(spec: Obj, field: str, *, pod: Obj | None = None) -> Iterator[Problem]:
    """Say what is wrong with a spec; `pod` is the metadata of the pod, none in a template."""
    grace_period = spec.get("terminationGracePeriodSeconds")
    if grace_period is None:
        yield problems.required(f"{field}.terminationGracePeriodSeconds")
    good, wrong = volumes.volumes_problems(
        spec.get("volumes") or (),
        f"{field}.volumes",
        pod_name=(pod or {}).get("name") or "",
        is_pod=pod is not None,
    )
    yield from wrong
    claims = spec.get("resourceClaims") or ()
    yield from pod_resources.claims_problems(claims, f"{field}.resourceClaims")
    around = Surroundings(
        volumes=good,
        claims={claim["name"] for claim in claims if claim.get("name")},
        grace_period=grace_period,
        restart_policy=spec.get("restartPolicy") or "",
        host_users=spec.get("hostUsers") is not False,
    )
    yield from _all_containers_problems(spec, around, field)
    yield from pod_resources.spec_problems(spec, around.claims, field)
    yield from _policies_problems(spec, field, is_pod=pod is not None)
    yield from _placement_problems(spec, field)
    yield from _host_problems(spec, around, field)
    yield from _names_problems(spec, field)
    yield from _os_problems(spec, field)
    yield from _file_refs_problems(spec, field)


def all_containers(spec: Obj, field: str) -> list[tuple[str, Obj]]:
    """Return all containers with their paths, in the order of an API server's visits."""
    return [
        (f"{field}.{kind}[{index}]", container)
        for kind in ("initContainers", "containers", "ephemeralContainers")
        for index, container in enumerate(spec.get(kind) or ())
    ]


def _all_containers_problems(spec: Obj, around: Surroundings, field: str) -> Iterator[Problem]:
    main = spec.get("containers") or ()
    yield from containers.containers_problems(main, around, f"{field}.containers")
    if first := spec.get("initContainers"):
        path = f"{field}.initContainers"
        yield from containers.init_containers_problems(first, main, around, path)


def _policies_problems(spec: Obj, field: str, *, is_pod: bool) -> Iterator[Problem]:
    if spec.get("hostNetwork"):
        yield from _host_network_problems(spec, f"{field}.containers", is_pod=is_pod)
    policy = spec.get("restartPolicy")
    yield from values.one_of(f"{field}.restartPolicy", policy, RESTART_POLICIES)
    yield from values.one_of(f"{field}.dnsPolicy", spec.get("dnsPolicy"), DNS_POLICIES)
    yield from metadata.labels_problems(spec.get("nodeSelector"), f"{field}.nodeSelector")
    context = spec.get("securityContext") or {}
    yield from security.pod_problems(context, spec, f"{field}.securityContext")


def _host_network_problems(spec: Obj, field: str, *, is_pod: bool) -> Iterator[Problem]:
    for place, container in enumerate(spec.get("containers") or ()):
        for index, port in enumerate(container.get("ports") or ()):
            host, own = port.get("hostPort", 0), port.get("containerPort", 0)
            if (is_pod or host) and host != own:
                path = f"{field}[{place}].ports[{index}].hostPort"
                what = "must match `containerPort` when `hostNetwork` is true"
                yield problems.invalid(path, host, what)


def _placement_problems(spec: Obj, field: str) -> Iterator[Problem]:
    if affinity := spec.get("affinity"):
        yield from scheduling.affinity_problems(affinity, f"{field}.affinity")
    yield from _dns_problems(spec, f"{field}.dnsConfig")
    for index, gate in enumerate(spec.get("readinessGates") or ()):
        path = f"{field}.readinessGates[{index}].conditionType"
        yield from values.qualified(path, gate.get("conditionType") or "")
    seen: set[str] = set()
    for index, gate in enumerate(spec.get("schedulingGates") or ()):
        name, path = gate.get("name") or "", f"{field}.schedulingGates[{index}]"
        yield from values.qualified(path, name)
        if name in seen:
            yield problems.duplicate(path, name)
        seen.add(name)
    if constraints := spec.get("topologySpreadConstraints"):
        path = f"{field}.topologySpreadConstraints"
        yield from scheduling.spread_problems(constraints, path)


def _dns_problems(spec: Obj, field: str) -> Iterator[Problem]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            what = "must provide `dnsConfig` when `dnsPolicy` is None"
            yield problems.required(field, what)
            return
        if not config.get("nameservers"):
            what = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield problems.required(f"{field}.nameservers", what)
            return
    if not config:
        return
    servers = config.get("nameservers") or []
    if len(servers) > _MAX_SERVERS:
        what = f"must not have more than {_MAX_SERVERS} nameservers"
        yield problems.invalid(f"{field}.nameservers", servers, what)
    for index, server in enumerate(servers):
        yield from addresses.address_problems(f"{field}.nameservers[{index}]", server)
    yield from _searches_problems(config.get("searches") or [], f"{field}.searches")
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield problems.required(f"{field}.options[{index}]", "must not be empty")


def _searches_problems(searches: list[str], field: str) -> Iterator[Problem]:
    if len(searches) > _MAX_SEARCHES:
        what = f"must not have more than {_MAX_SEARCHES} search paths"
        yield problems.invalid(field, searches, what)
    if names.size(" ".join(searches)) > _MAX_SEARCH_TEXT:
        what = (
            f"must not have more than {_MAX_SEARCH_TEXT} characters (including spaces) "
            "in the search list"
        )
        yield problems.invalid(field, searches, what)
    for index, search in enumerate(searches):
        if search != ".":
            domain = search.removesuffix(".")
            complaints = names.loose_subdomain_problems(domain)
            yield from values.each(f"{field}[{index}]", domain, complaints)


def _host_problems(spec: Obj, around: Surroundings, field: str) -> Iterator[Problem]:
    every = all_containers(spec, field)
    yield from windows.host_process_problems(spec, every, field)
    if not around.host_users:
        what = "when `hostUsers` is false"
        for member, called in (
            ("hostNetwork", "hostNetwork"),
            ("hostPID", "HostPID"),
            ("hostIPC", "HostIPC"),
        ):
            if spec.get(member):
                yield problems.forbidden(f"{field}.{called}", what)
        for path, container in every:
            if container.get("volumeDevices"):
                yield problems.forbidden(f"{path}.volumeDevices", what)
    if (hostname := spec.get("hostnameOverride")) is not None:
        yield from _hostname_problems(spec, hostname, f"{field}.hostnameOverride")


def _hostname_problems(spec: Obj, hostname: str, field: str) -> Iterator[Problem]:
    for member in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(member):
            yield problems.forbidden(field, f"may not be specified when {member} is true")
    if names.size(hostname) > _MAX_HOSTNAME:
        yield problems.too_long(field, _MAX_HOSTNAME)
    yield from values.subdomain(field, hostname)


def _names_problems(spec: Obj, field: str) -> Iterator[Problem]:
    for member in ("serviceAccountName", "nodeName"):
        if name := spec.get(member):
            yield from values.subdomain(f"{field}.{member}", name)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= names.MAX_INT32:
        what = names.between(1, names.MAX_INT32)
        yield problems.invalid(f"{field}.activeDeadlineSeconds", deadline, what)
    for member in ("hostname", "subdomain"):
        if name := spec.get(member):
            yield from values.dns_label(f"{field}.{member}", name)
    if tolerations := spec.get("tolerations"):
        yield from scheduling.tolerations_problems(tolerations, f"{field}.tolerations")
    yield from _aliases_problems(spec.get("hostAliases") or (), f"{field}.hostAliases")
    if name := spec.get("priorityClassName"):
        yield from values.subdomain(f"{field}.priorityClassName", name)
    if (name := spec.get("runtimeClassName")) is not None:
        yield from values.subdomain(f"{field}.runtimeClassName", name)


def _aliases_problems(aliases: Sequence[Obj], field: str) -> Iterator[Problem]:
    for index, alias in enumerate(aliases):
        path = f"{field}[{index}]"
        yield from addresses.address_problems(f"{path}.ip", alias.get("ip") or "")
        for place, hostname in enumerate(alias.get("hostnames") or ()):
            yield from values.subdomain(f"{path}.hostnames[{place}]", hostname)


def _os_problems(spec: Obj, field: str) -> Iterator[Problem]:
    if (policy := spec.get("preemptionPolicy")) is not None:
        known = ("PreemptLowerPriority", "Never")
        yield from values.one_of(f"{field}.preemptionPolicy", policy, known)
    if overhead := spec.get("overhead"):
        limits = {"limits": overhead}
        yield from resources.requirements_problems(limits, f"{field}.overhead")
    if (os := spec.get("os")) is None:
        return
    name = os.get("name") or ""
    if not name:
        yield problems.required(f"{field}.os.name")
    elif name == "linux":
        yield from windows.linux_problems(spec, all_containers(spec, field), field)
    elif name == "windows":
        yield from windows.windows_problems(spec, all_containers(spec, field), field)
    else:
        yield problems.not_in_enum(f"{field}.os", name, ("linux", "windows"))


def _file_refs_problems(spec: Obj, field: str) -> Iterator[Problem]:
    """Complain about variables from files in volumes that are not there, or of another type."""
    of_pod = {volume.get("name") or "": volume for volume in spec.get("volumes") or ()}
    for path, container in all_containers(spec, field):
        for index, variable in enumerate(container.get("env") or ()):
            ref = (variable.get("valueFrom") or {}).get("fileKeyRef")
            if ref is None:
                continue
            name = ref.get("volumeName") or ""
            at = f"{path}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in of_pod:
                yield problems.not_found(at, name)
            elif of_pod[name].get("emptyDir") is None:
                what = "referenced volume must be of type emptyDir"
                yield problems.invalid(at, name, what)
