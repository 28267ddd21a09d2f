"""What a container may ask about its own pod: fieldRef and resourceFieldRef. Pure."""

import re
from collections.abc import Mapping

from jobferry.errors import BadInput
from jobferry.localkube.runner.statuses import HOST
from jobferry.objects import Obj, gotext, quantities
from jobferry.objects.quantities import Quantity

_SUBSCRIPT = re.compile(r"metadata\.(annotations|labels)\['(.*)'\]")


def of_pod(pod: Obj, path: str) -> str:
    """Return a field of a pod as downwardAPI and env have it."""
    meta, spec = pod["metadata"], pod["spec"]
    if found := _SUBSCRIPT.fullmatch(path):
        value: str = (meta.get(found[1]) or {}).get(found[2], "")
        return value
    if path in {"metadata.annotations", "metadata.labels"}:
        pairs = meta.get(path.partition(".")[2]) or {}
        return "\n".join(f"{name}={gotext.quote(pairs[name])}" for name in sorted(pairs))
    plain = {
        "metadata.name": meta.get("name"),
        "metadata.namespace": meta.get("namespace"),
        "metadata.uid": meta.get("uid"),
        "spec.nodeName": spec.get("nodeName"),
        "spec.serviceAccountName": spec.get("serviceAccountName"),
        "spec.hostNetwork": "true" if spec.get("hostNetwork") else "false",
        "status.hostIP": HOST,
        "status.hostIPs": HOST,
        "status.podIP": HOST,
        "status.podIPs": HOST,
    }
    if path not in plain:
        raise BadInput(f"the field {path} of a pod is not served")
    return plain[path] or ""


def of_resources(pod: Obj, container: Obj, ref: Obj, room: Mapping[str, str]) -> str:
    """Return what a container asks for or is limited to; without a limit, what the node has."""
    name = ref.get("containerName")
    if name and name != container.get("name"):
        container = _named(pod, name)
    kind, _, resource = ref["resource"].partition(".")
    amounts = (container.get("resources") or {}).get(kind) or {}
    written = amounts.get(resource)
    if written is None and kind == "limits":
        written = room.get(resource)
    return str(_divided(quantities.parse(written), _divisor(ref)))


def _named(pod: Obj, name: str) -> Obj:
    for member in ("containers", "initContainers"):
        for container in pod["spec"].get(member) or ():
            if container["name"] == name:
                found: Obj = container
                return found
    raise BadInput(f"container {name} not found")


def _divisor(ref: Obj) -> Quantity:
    divisor = quantities.parse(ref.get("divisor"))
    return divisor or quantities.parse("1")


def _divided(amount: Quantity, divisor: Quantity) -> int:
    """Divide, rounding up."""
    scale = min(amount.scale, divisor.scale, 0)
    return -(-amount.scaled(scale) // divisor.scaled(scale))
