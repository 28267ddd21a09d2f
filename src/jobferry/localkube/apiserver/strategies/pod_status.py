"""What is wrong with a change to the status of a pod."""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import (
    addresses,
    metadata,
    names,
    pod_annotations,
    values,
)
from jobferry.objects import Obj

_SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_KINDS = (
    ("containerStatuses", "containers"),
    ("initContainerStatuses", "initContainers"),
    ("ephemeralContainerStatuses", ""),
)


def status_problems(pod: Obj, old: Obj) -> Iterator[Problem]:
    """Say what is wrong with a changed status."""
    status, was = pod.get("status") or {}, old.get("status") or {}
    yield from metadata.update_problems(pod, old)
    yield from pod_annotations.update_problems(pod, old, "metadata.annotations")
    yield from _conditions_problems(status.get("conditions") or ())
    yield from _nomination_problems(pod, status, was)
    if (seen := status.get("observedGeneration") or 0) < 0:
        what = "must be a non-negative integer"
        yield problems.invalid("status.observedGeneration", seen, what)
    yield from values.immutable(
        "status.qosClass", status.get("qosClass", ""), was.get("qosClass", "")
    )
    for kind, containers in _KINDS:
        yield from _states_problems(
            status.get(kind) or (), was.get(kind) or (), old["spec"], kind, containers
        )
    yield from _claims_problems(status, pod["spec"])
    yield from _addresses_problems(status, was)
    os = (pod["spec"].get("os") or {}).get("name", "linux")
    for kind, _ in _KINDS:
        yield from _users_problems(status.get(kind) or (), os, f"status.{kind}")


def _conditions_problems(conditions: Sequence[Obj]) -> Iterator[Problem]:
    for index, condition in enumerate(conditions):
        field, kind = f"status.conditions[{index}]", condition.get("type") or ""
        if (seen := condition.get("observedGeneration") or 0) < 0:
            what = "must be a non-negative integer"
            yield problems.invalid(f"{field}.observedGeneration", seen, what)
        if kind not in _SYSTEM_CONDITIONS:
            yield from values.qualified(f"{field}.Type", kind)


def _nomination_problems(pod: Obj, status: Obj, was: Obj) -> Iterator[Problem]:
    field, node = "status.nominatedNodeName", status.get("nominatedNodeName")
    if not node or node == was.get("nominatedNodeName"):
        return
    yield from values.subdomain(field, node)
    if pod["spec"].get("nodeName"):
        what = "may not be set on pods that are already bound to a node"
        yield problems.forbidden(field, what)


def _states_problems(
    new: Sequence[Obj], old: Sequence[Obj], spec: Obj, kind: str, containers: str
) -> Iterator[Problem]:
    """Complain where a container runs again that does not restart."""
    now = {status.get("name"): status for status in reversed(new)}
    for index, status in enumerate(old):
        ended = (status.get("state") or {}).get("terminated")
        after = now.get(status.get("name"))
        if ended is None or after is None:
            continue
        if (after.get("state") or {}).get("terminated") is not None:
            continue
        if not containers or not _restarts(status, ended, spec, containers):
            what = "may not be transitioned to non-terminated state"
            yield problems.forbidden(f"status.{kind}[{index}].state", what)


def _restarts(status: Obj, ended: Obj, spec: Obj, containers: str) -> bool:
    code = ended.get("exitCode") or 0
    for container in spec.get(containers) or ():
        if container.get("name") == status.get("name"):
            policy = container.get("restartPolicy")
            if policy is not None and _rule_matches(container, code):
                return True
            if policy not in ("Always", "OnFailure", "Never"):
                policy = spec.get("restartPolicy")
            return policy == "Always" or (policy == "OnFailure" and code != 0)
    return False


def _rule_matches(container: Obj, code: int) -> bool:
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes")
        if codes and (code in (codes.get("values") or ())) is (codes.get("operator") == "In"):
            return bool(rule.get("action") == "Restart")
    return False


def _claims_problems(status: Obj, spec: Obj) -> Iterator[Problem]:
    known = {claim.get("name") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for index, claim in enumerate(status.get("resourceClaimStatuses") or ()):
        field, name = f"status.resourceClaimStatuses[{index}].name", claim.get("name") or ""
        if name not in known:
            what = "must match the name of an entry in `spec.resourceClaims`"
            yield problems.invalid(field, name, what)
        if name in seen:
            yield problems.duplicate(field, name)
        seen.add(name)
        if (claimed := claim.get("resourceClaimName")) is not None:
            yield from values.subdomain(field, claimed)


def _addresses_problems(status: Obj, was: Obj) -> Iterator[Problem]:
    yield from _family_problems(status, was, "podIPs")
    of_host = status.get("hostIPs") or ()
    if not of_host:
        return
    first = of_host[0].get("ip") or ""
    if (status.get("hostIP") or "") != first:
        yield problems.invalid("status.hostIPs[0].ip", first, "must be equal to `hostIP`")
    yield from _family_problems(status, was, "hostIPs")


def _family_problems(status: Obj, was: Obj, member: str) -> Iterator[Problem]:
    found = [each.get("ip") or "" for each in status.get(member) or ()]
    known = [each.get("ip") or "" for each in was.get(member) or ()]
    for index, address in enumerate(found):
        if address not in known:
            yield from addresses.address_problems(f"status.{member}[{index}]", address)
    yield from addresses.family_problems(f"status.{member}", found)


def _users_problems(statuses: Sequence[Obj], os: str, field: str) -> Iterator[Problem]:
    for index, status in enumerate(statuses):
        user = (status.get("user") or {}).get("linux")
        if user is None:
            continue
        path = f"{field}[{index}].user.linux"
        if os != "linux":
            yield problems.forbidden(path, "cannot be set for a windows pod")
            continue
        for member in ("uid", "gid"):
            number = user.get(member, 0)
            yield from values.each(f"{path}.{member}", number, names.id_problems(number))
        for place, group in enumerate(user.get("supplementalGroups") or ()):
            at = f"{path}.supplementalGroups[{place}]"
            yield from values.each(at, group, names.id_problems(group))
