"""The columns of persistent volumes and of claims to them."""

from datetime import datetime
from typing import Any

from jobferry.localkube.apiserver.printing import columns
from jobferry.localkube.apiserver.printing.columns import Columns, column
from jobferry.objects import Obj, quantities

UNSET = "<unset>"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _volume_cells(volume: Obj, now: datetime) -> list[Any]:
    spec, status = volume.get("spec") or {}, volume.get("status") or {}
    claim = spec.get("claimRef")
    return [
        columns.name_of(volume),
        _storage(spec.get("capacity")),
        _access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        _phase(volume, status),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else "",
        _class(volume, spec),
        _or_unset(spec.get("volumeAttributesClassName")),
        status.get("reason", ""),
        columns.age_of(volume, now),
        _or_unset(spec.get("volumeMode")),
    ]


def _claim_cells(claim: Obj, now: datetime) -> list[Any]:
    spec, status = claim.get("spec") or {}, claim.get("status") or {}
    volume = spec.get("volumeName", "")
    return [
        columns.name_of(claim),
        _phase(claim, status),
        volume,
        _storage(status.get("capacity")) if volume else "",
        _access_modes(status.get("accessModes")) if volume else "",
        _class(claim, spec),
        _or_unset(spec.get("volumeAttributesClassName")),
        columns.age_of(claim, now),
        _or_unset(spec.get("volumeMode")),
    ]


def _storage(amounts: Obj | None) -> str:
    return str(quantities.parse((amounts or {}).get("storage")))


def _access_modes(modes: list[str] | None) -> str:
    return ",".join([short for mode, short in _ACCESS_MODES.items() if mode in (modes or ())])


def _phase(obj: Obj, status: Obj) -> str:
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    return str(status.get("phase", ""))


def _class(obj: Obj, spec: Obj) -> str:
    annotations = obj["metadata"].get("annotations") or {}
    if _CLASS_ANNOTATION in annotations:
        return str(annotations[_CLASS_ANNOTATION])
    return spec.get("storageClassName") or ""


def _or_unset(value: str | None) -> str:
    return UNSET if value is None else value


_CAPACITY = column("Capacity", "How much it holds.")
_MODES = column("Access Modes", "How it may be mounted.")
_CLASS = column("StorageClass", "The storage class it belongs to.")
_ATTRIBUTES = column("VolumeAttributesClass", "The volume attributes class it belongs to.")
_MODE = column("VolumeMode", "A file system or a block device.", wide=True)

PERSISTENT_VOLUMES = Columns(
    [
        columns.NAME,
        _CAPACITY,
        _MODES,
        column("Reclaim Policy", "What happens when its claim is gone."),
        column("Status", "Whether it is free, bound or released."),
        column("Claim", "The claim it is bound to."),
        _CLASS,
        _ATTRIBUTES,
        column("Reason", "Why it is in this state."),
        columns.AGE,
        _MODE,
    ],
    _volume_cells,
)
"""Persistent volumes."""

PERSISTENT_VOLUME_CLAIMS = Columns(
    [
        columns.NAME,
        column("Status", "Whether it waits, is bound or lost."),
        column("Volume", "The volume it is bound to."),
        _CAPACITY,
        _MODES,
        _CLASS,
        _ATTRIBUTES,
        columns.AGE,
        _MODE,
    ],
    _claim_cells,
)
"""Claims to persistent volumes."""
