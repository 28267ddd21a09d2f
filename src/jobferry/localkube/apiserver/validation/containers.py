"""What is wrong with containers, whether they run first, beside or as the workload."""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import (
    env,
    mounts,
    names,
    probes,
    resources,
    security,
    values,
)
from jobferry.objects import Obj

MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_POLICY_NEEDED = "must specify restartPolicy when restart rules are used"
_MAX_RULES = 20
_MAX_CODES = 255


class Surroundings(NamedTuple):
    """What a container can refer to in its pod."""

    volumes: Mapping[str, Obj]
    claims: Set[str]
    grace_period: int | None
    restart_policy: str
    host_users: bool


def containers_problems(
    containers: Sequence[Obj], around: Surroundings, field: str
) -> Iterator[Problem]:
    """Say what is wrong with the containers of a pod."""
    if not containers:
        yield problems.required(field)
        return
    seen: set[str] = set()
    for index, container in enumerate(containers):
        path = f"{field}[{index}]"
        yield from _common_problems(container, around, path)
        name = container.get("name") or ""
        if name in seen:
            yield problems.duplicate(f"{path}.name", name)
        seen.add(name)
        yield from probes.container_probes_problems(container, path, around.grace_period)
        yield from _restart_problems(container, path)
    yield from _host_ports_problems(containers, field)


def init_containers_problems(
    containers: Sequence[Obj], others: Sequence[Obj], around: Surroundings, field: str
) -> Iterator[Problem]:
    """Say what is wrong with the init containers of a pod, `others` being its containers."""
    seen = {other.get("name") or "" for other in others}
    for index, container in enumerate(containers):
        path = f"{field}[{index}]"
        yield from _common_problems(container, around, path)
        yield from _init_restart_problems(container, path)
        name = container.get("name") or ""
        if name in seen:
            yield problems.duplicate(f"{path}.name", name)
        elif name:
            seen.add(name)
        # Upstream looks at each alone, and so calls each the first.
        yield from _host_ports_problems([container], field)
        if container.get("restartPolicy") == "Always":
            yield from probes.container_probes_problems(container, path, around.grace_period)
        else:
            yield from probes.forbidden_probes_problems(container, path)


def image_problems(containers: Sequence[Obj], field: str) -> Iterator[Problem]:
    """Complain about images with blanks around them: templates may have those, pods may not."""
    for index, container in enumerate(containers):
        image = container.get("image") or ""
        if image.strip() != image:
            what = "must not have leading or trailing whitespace"
            yield problems.invalid(f"{field}[{index}].image", image, what)


def _common_problems(container: Obj, around: Surroundings, field: str) -> Iterator[Problem]:
    if name := container.get("name"):
        yield from values.dns_label(f"{field}.name", name)
    else:
        yield problems.required(f"{field}.name")
    if not container.get("image"):
        yield problems.required(f"{field}.image")
    policy = container.get("terminationMessagePolicy")
    yield from values.one_of(f"{field}.terminationMessagePolicy", policy, MESSAGE_POLICIES)
    if ports := container.get("ports"):
        yield from _ports_problems(ports, f"{field}.ports")
    if variables := container.get("env"):
        yield from env.env_problems(variables, f"{field}.env")
    if sources := container.get("envFrom"):
        yield from env.env_from_problems(sources, f"{field}.envFrom")
    yield from mounts.use_problems(container, field, around.volumes)
    policy = container.get("imagePullPolicy")
    yield from values.one_of(f"{field}.imagePullPolicy", policy, PULL_POLICIES)
    if wanted := container.get("resources"):
        yield from resources.requirements_problems(
            wanted, f"{field}.resources", claims=around.claims
        )
    if policies := container.get("resizePolicy"):
        yield from _resize_problems(policies, around.restart_policy, f"{field}.resizePolicy")
    if context := container.get("securityContext"):
        yield from security.container_problems(
            context, f"{field}.securityContext", host_users=around.host_users
        )


def _ports_problems(ports: Sequence[Obj], field: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        path = f"{field}[{index}]"
        if name := port.get("name"):
            if complaints := names.port_name_problems(name):
                yield from values.each(f"{path}.name", name, complaints)
            elif name in seen:
                yield problems.duplicate(f"{path}.name", name)
            seen.add(name)
        if number := port.get("containerPort"):
            complaints = names.port_problems(number)
            yield from values.each(f"{path}.containerPort", number, complaints)
        else:
            yield problems.required(f"{path}.containerPort")
        if number := port.get("hostPort"):
            yield from values.each(f"{path}.hostPort", number, names.port_problems(number))
        yield from values.one_of(f"{path}.protocol", port.get("protocol"), _PROTOCOLS)


def _host_ports_problems(containers: Sequence[Obj], field: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for place, container in enumerate(containers):
        for index, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            protocol, address = port.get("protocol") or "", port.get("hostIP") or ""
            what = f"{protocol}/{address}/{port['hostPort']}"
            if what in seen:
                yield problems.duplicate(f"{field}[{place}].ports[{index}].hostPort", what)
            seen.add(what)


def _resize_problems(
    policies: Sequence[Obj], restart_policy: str, field: str
) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, each in enumerate(policies):
        name, policy = each.get("resourceName") or "", each.get("restartPolicy") or ""
        if name in seen:
            yield problems.duplicate(f"{field}[{index}]", name)
        seen.add(name)
        yield from values.one_of(field, name, ("cpu", "memory"))
        yield from values.one_of(field, policy, ("NotRequired", "RestartContainer"))
        if restart_policy == "Never" and policy != "NotRequired":
            what = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            yield problems.invalid(field, policy, what)


def _init_restart_problems(container: Obj, field: str) -> Iterator[Problem]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules")
    if policy not in (None, "Always"):
        yield from _restart_problems(container, field)
    elif rules and policy is None:
        yield problems.required(f"{field}.restartPolicy", _POLICY_NEEDED)
    elif rules:
        what = (
            "restartPolicyRules are not allowed for init containers with restart policy Always"
        )
        yield problems.forbidden(f"{field}.restartPolicyRules", what)


def _restart_problems(container: Obj, field: str) -> Iterator[Problem]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if not rules:
            return
        yield problems.required(f"{field}.restartPolicy", _POLICY_NEEDED)
    elif policy not in _RESTART_POLICIES:
        yield problems.not_in_enum(f"{field}.restartPolicy", policy, _RESTART_POLICIES)
    if len(rules) > _MAX_RULES:
        yield problems.too_long(f"{field}.restartPolicyRules", _MAX_RULES)
    for index, rule in enumerate(rules):
        yield from _restart_rule_problems(rule, f"{field}.restartPolicyRules[{index}]")


def _restart_rule_problems(rule: Obj, field: str) -> Iterator[Problem]:
    action, codes = rule.get("action") or "", rule.get("exitCodes")
    if action != "Restart":
        yield problems.not_in_enum(f"{field}.action", action, ("Restart",))
    if codes is None:
        yield problems.required(f"{field}.exitCodes", "must be specified")
        return
    operator = codes.get("operator") or ""
    if operator not in ("In", "NotIn"):
        path = f"{field}.exitCodes.operator"
        yield problems.not_in_enum(path, operator, ("In", "NotIn"))
    if len(codes.get("values") or ()) > _MAX_CODES:
        yield problems.too_long(f"{field}.exitCodes.values", _MAX_CODES)
