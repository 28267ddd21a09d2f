"""The columns of nodes."""

from datetime import datetime
from typing import Any

from jobferry.localkube.apiserver.printing import columns, durations
from jobferry.localkube.apiserver.printing.columns import Columns, column
from jobferry.objects import Obj

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _cells(node: Obj, now: datetime) -> list[Any]:
    status = node.get("status") or {}
    info = status.get("nodeInfo") or {}
    return [
        columns.name_of(node),
        _status(node, status),
        ",".join(_roles(node["metadata"].get("labels") or {})) or "<none>",
        columns.age_of(node, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or durations.UNKNOWN,
        info.get("kernelVersion") or durations.UNKNOWN,
        info.get("containerRuntimeVersion") or durations.UNKNOWN,
    ]


def _status(node: Obj, status: Obj) -> str:
    word = "Unknown"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready":
            # If there are several, the last one counts.
            word = "Ready" if condition.get("status") == "True" else "NotReady"
    is_closed = (node.get("spec") or {}).get("unschedulable")
    return f"{word},SchedulingDisabled" if is_closed else word


def _roles(labels: dict[str, str]) -> list[str]:
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL, ""))
    return sorted(roles - {""})


def _address(status: Obj, type: str) -> str:
    for address in status.get("addresses") or ():
        if address.get("type") == type:
            return str(address.get("address", ""))
    return "<none>"


NODES = Columns(
    [
        columns.NAME,
        column("Status", "Whether the node is ready and takes pods."),
        column("Roles", "What the node is for."),
        columns.AGE,
        column("Version", "The version of its kubelet."),
        column("Internal-IP", "Its address inside the cluster.", wide=True),
        column("External-IP", "Its address for the outside.", wide=True),
        column("OS-Image", "Its operating system.", wide=True),
        column("Kernel-Version", "The version of its kernel.", wide=True),
        column("Container-Runtime", "What runs its containers, and the version.", wide=True),
    ],
    _cells,
)
"""Nodes."""
