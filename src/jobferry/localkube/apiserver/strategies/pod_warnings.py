"""What an API server warns of in pods and in templates for them."""

from collections.abc import Iterator, Sequence
from itertools import islice

from jobferry.localkube.apiserver.strategies import volume_warnings
from jobferry.localkube.apiserver.validation import (
    addresses,
    names,
    pod_annotations,
    pod_spec,
    resources,
)
from jobferry.objects import Obj, gotext

_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
OLD_APP_ARMOR = 'deprecated since v1.30; use the "appArmorProfile" field instead'
_SECCOMP = 'non-functional in v1.27+; use the "seccompProfile" field instead'
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MATCHES_NONE = "a null labelSelector results in matching no pod"
MOST = 1000
"""More than an answer has room for: of a port that all containers have, each pair is told."""
_BYTES = ("memory", "ephemeral-storage")


def template_warnings(template: Obj, field: str) -> list[str]:
    """Warn of a template for pods."""
    about = template.get("metadata") or {}
    found = _warnings(template["spec"], about, f"{field}.", of_template=True)
    return list(islice(found, MOST))


def pod_warnings(pod: Obj) -> list[str]:
    """Warn of a pod."""
    found = _warnings(pod["spec"], pod["metadata"], "", of_template=False)
    return list(islice(found, MOST))


def _warnings(spec: Obj, about: Obj, prefix: str, *, of_template: bool) -> Iterator[str]:
    field = f"{prefix}spec"
    annotations = about.get("annotations") or {}
    yield from _node_warnings(spec, field)
    for key, message in _ANNOTATIONS.items():
        if key in annotations:
            yield f"{prefix}metadata.annotations[{key}]: {message}"
    if spec.get("volumes"):
        yield from volume_warnings.volumes_warnings(spec["volumes"], f"{field}.volumes")
    yield from _repeated(spec.get("hostAliases") or (), "ip", f"{field}.hostAliases")
    yield from _pull_secrets_warnings(spec, f"{field}.imagePullSecrets")
    yield from _fractions(spec.get("overhead") or {}, f"{field}.overhead")
    every = pod_spec.all_containers(spec, field)
    if annotations:
        path = f"{prefix}metadata.annotations"
        yield from _profile_warnings(spec, annotations, every, path, with_app_armor=of_template)
    for path, container in every:
        yield from _container_warnings(container, path)
    yield from _ports_warnings(every)
    yield from _port_names_warnings(every)
    grace_period = spec.get("terminationGracePeriodSeconds")
    if grace_period is not None and grace_period < 0:
        what = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{field}.terminationGracePeriodSeconds: {what}"
    yield from _affinity_warnings(spec.get("affinity") or {}, f"{field}.affinity")
    yield from _address_warnings(spec, field)


def _node_warnings(spec: Obj, field: str) -> Iterator[str]:
    for label in spec.get("nodeSelector") or ():
        if label in _NODE_LABELS:
            yield f"{field}.nodeSelector[{label}]: {_NODE_LABELS[label]}"
    nodes = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    path = f"{field}.affinity.nodeAffinity"
    terms = (nodes.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        at = f"{path}.{_REQUIRED}.nodeSelectorTerms[{index}]"
        yield from _term_warnings(term, at, with_values=False)
    for index, preferred in enumerate(nodes.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{index}].preference"
        yield from _term_warnings(preferred.get("preference") or {}, at, with_values=True)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        at = f"{field}.topologySpreadConstraints[{index}]"
        key = constraint.get("topologyKey") or ""
        if key in _NODE_LABELS:
            yield f"{at}.topologyKey: {key} is {_NODE_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{at}.labelSelector: {_MATCHES_NONE}"


def _term_warnings(term: Obj, field: str, *, with_values: bool) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        key, path = expression.get("key") or "", f"{field}.matchExpressions[{index}]"
        if key in _NODE_LABELS:
            yield f"{path}.key: {key} is {_NODE_LABELS[key]}"
        for place, value in enumerate(expression.get("values") or () if with_values else ()):
            for complaint in names.label_value_problems(value):
                yield f"{path}.values[{place}]: {value} is invalid, {complaint}"


def _repeated(items: Sequence[Obj], member: str, field: str) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        value = item.get(member) or ""
        if value in seen:
            yield f"{field}[{index}].{member}: duplicate {member} {gotext.quote(value)}"
        seen.add(value)


def _pull_secrets_warnings(spec: Obj, field: str) -> Iterator[str]:
    secrets = spec.get("imagePullSecrets") or ()
    yield from _repeated(secrets, "name", field)
    for index, secret in enumerate(secrets):
        if not secret.get("name"):
            yield f'{field}[{index}].name: invalid empty name ""'


def _fractions(amounts: Obj, field: str) -> Iterator[str]:
    for name in _BYTES:
        if name in amounts and not resources.is_whole(resources.parse(amounts[name])):
            shown = gotext.quote(amounts[name])
            yield f"{field}[{name}]: fractional byte value {shown} is invalid, must be an integer"


def _profile_warnings(
    spec: Obj,
    annotations: Obj,
    every: Sequence[tuple[str, Obj]],
    field: str,
    *,
    with_app_armor: bool,
) -> Iterator[str]:
    whole = spec.get("securityContext") or {}
    key = pod_annotations.SECCOMP_POD
    if key in annotations and whole.get("seccompProfile") is None:
        yield f"{field}[{key}]: {_SECCOMP}"
    for _, container in every:
        own = container.get("securityContext") or {}
        key = f"{pod_annotations.SECCOMP_CONTAINER}{container.get('name')}"
        if key in annotations and own.get("seccompProfile") is None:
            yield f"{field}[{key}]: {_SECCOMP}"
        key = f"{pod_annotations.APP_ARMOR}{container.get('name')}"
        if with_app_armor and key in annotations and own.get("appArmorProfile") is None:
            profile = whole.get("appArmorProfile")
            if profile is None or profile != app_armor_profile(annotations[key]):
                yield f"{field}[{key}]: {OLD_APP_ARMOR}"


def app_armor_profile(annotation: str) -> Obj | None:
    """Return what an old annotation says as a field."""
    if annotation == "unconfined":
        return {"type": "Unconfined"}
    if annotation == "runtime/default":
        return {"type": "RuntimeDefault"}
    if annotation.startswith("localhost/") and annotation != "localhost/":
        profile = annotation.removeprefix("localhost/")
        return {"type": "Localhost", "localhostProfile": profile}
    return None


def _container_warnings(container: Obj, field: str) -> Iterator[str]:
    wanted = container.get("resources") or {}
    for name in _BYTES:
        for kind in ("limits", "requests"):
            amounts = wanted.get(kind) or {}
            if name in amounts:
                yield from _fractions({name: amounts[name]}, f"{field}.resources.{kind}")
    seen: set[str] = set()
    for index, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name") or "", variable.get("value") or ""
        if name not in seen:
            seen.add(name)
        elif _hides(name, value, has_source=variable.get("valueFrom") is not None):
            yield (
                f"{field}.env[{index}]: hides previous definition of {gotext.quote(name)}, "
                "which may be dropped when using apply"
            )


def _hides(name: str, value: str, *, has_source: bool) -> bool:
    """Tell whether a variable replaces one of the same name, rather than building upon it."""
    itself = f"$({name})"
    return has_source or value == itself or itself not in value


def _ports_warnings(every: Sequence[tuple[str, Obj]]) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[str, Obj]]] = {}
    for path, container in every:
        for index, port in enumerate(container.get("ports") or ()):
            at = f"{path}.ports[{index}]"
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{at}: hostIP set without hostPort: {_shown(port)}"
            key = port.get("containerPort") or 0, port.get("protocol") or ""
            for other_at, other in known.setdefault(key, []):
                if how := _clash(port, other):
                    yield f"{at}: {how} port definition with {other_at}"
            known[key].append((at, port))


def _clash(port: Obj, other: Obj) -> str:
    address, other_address = port.get("hostIP") or "", other.get("hostIP") or ""
    number, other_number = port.get("hostPort") or 0, other.get("hostPort") or 0
    if (address, number) == (other_address, other_number):
        return "duplicate"
    if not number or not other_number:
        return "overlapping"
    if number == other_number and bool(address) != bool(other_address):
        return "dangerously ambiguous"
    return ""


def _shown(port: Obj) -> str:
    """Return a port as Go prints it."""
    return (
        f"{{Name:{port.get('name') or ''} HostPort:{port.get('hostPort') or 0} "
        f"ContainerPort:{port.get('containerPort') or 0} "
        f"Protocol:{port.get('protocol') or ''} HostIP:{port.get('hostIP') or ''}}}"
    )


def _port_names_warnings(every: Sequence[tuple[str, Obj]]) -> Iterator[str]:
    known: dict[str, str] = {}
    for path, container in every:
        for index, port in enumerate(container.get("ports") or ()):
            name, at = port.get("name"), f"{path}.ports[{index}]"
            if not name:
                continue
            if name in known:
                yield (
                    f"{at}: duplicate port name {gotext.quote(name)} with {known[name]}, "
                    f"services and probes that select ports by name will use {known[name]}"
                )
            else:
                known[name] = at


def _affinity_warnings(affinity: Obj, field: str) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{field}.{kind}.{_REQUIRED}[{index}].labelSelector: {_MATCHES_NONE}"
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                path = f"{field}.{kind}.{_PREFERRED}[{index}].podAffinityTerm"
                yield f"{path}.labelSelector: {_MATCHES_NONE}"


def _address_warnings(spec: Obj, field: str) -> Iterator[str]:
    servers = (spec.get("dnsConfig") or {}).get("nameservers") or ()
    for index, server in enumerate(servers):
        yield from addresses.warnings(f"{field}.dnsConfig.nameservers[{index}]", server)
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from addresses.warnings(f"{field}.hostAliases[{index}].ip", alias.get("ip") or "")
