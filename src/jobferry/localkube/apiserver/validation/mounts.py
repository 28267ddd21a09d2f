"""What is wrong with how containers use volumes."""

from collections.abc import Iterator, Mapping, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import volume_paths
from jobferry.objects import Obj

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def use_problems(container: Obj, field: str, volumes: Mapping[str, Obj]) -> Iterator[Problem]:
    """Say what is wrong with the mounts and devices of a container."""
    mounts = container.get("volumeMounts") or ()
    devices = container.get("volumeDevices") or ()
    if mounts:
        devices_by_name = _by_name(devices, "devicePath")
        yield from _mounts_problems(
            container, mounts, devices_by_name, volumes, f"{field}.volumeMounts"
        )
    if devices:
        mounts_by_name = _by_name(mounts, "mountPath")
        yield from _devices_problems(devices, mounts_by_name, volumes, f"{field}.volumeDevices")


def _by_name(used: Sequence[Obj], path: str) -> dict[str, str]:
    return {each.get("name") or "": each.get(path) or "" for each in used}


def _mounts_problems(
    container: Obj,
    mounts: Sequence[Obj],
    devices: Mapping[str, str],
    volumes: Mapping[str, Obj],
    field: str,
) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        path = f"{field}[{index}]"
        name, target = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            yield problems.required(f"{path}.name")
        if name not in volumes:
            yield problems.not_found(f"{path}.name", name)
        if not target:
            yield problems.required(f"{path}.mountPath")
        if target in seen:
            yield problems.invalid(f"{path}.mountPath", target, "must be unique")
        seen.add(target)
        if name in devices:
            what = "must not already exist in volumeDevices"
            yield problems.invalid(f"{path}.name", name, what)
        if target in devices.values():
            what = "must not already exist as a path in volumeDevices"
            yield problems.invalid(f"{path}.mountPath", target, what)
        yield from _sub_path_problems(mount, field, path)
        yield from _propagation_problems(mount, container, f"{field}.mountPropagation")
        yield from _recursive_problems(mount, f"{field}.recursiveReadOnly")


def _sub_path_problems(mount: Obj, field: str, path: str) -> Iterator[Problem]:
    if sub_path := mount.get("subPath"):
        yield from volume_paths.descending(f"{field}.subPath", sub_path)
    if expression := mount.get("subPathExpr"):
        if sub_path:
            what = "subPathExpr and subPath are mutually exclusive"
            yield problems.invalid(f"{path}.subPathExpr", expression, what)
        yield from volume_paths.descending(f"{field}.subPathExpr", expression)


def _propagation_problems(mount: Obj, container: Obj, field: str) -> Iterator[Problem]:
    propagation = mount.get("mountPropagation")
    if propagation is None:
        return
    if propagation not in _PROPAGATIONS:
        yield problems.not_in_enum(field, propagation, _PROPAGATIONS)
    privileged = (container.get("securityContext") or {}).get("privileged")
    if propagation == "Bidirectional" and not privileged:
        what = "Bidirectional mount propagation is available only to privileged containers"
        yield problems.forbidden(field, what)


def _recursive_problems(mount: Obj, field: str) -> Iterator[Problem]:
    recursive = mount.get("recursiveReadOnly")
    if recursive in (None, "Disabled"):
        return
    if recursive not in _RECURSIVE:
        yield problems.not_in_enum(field, recursive, _RECURSIVE)
        return
    if not mount.get("readOnly"):
        yield problems.forbidden(field, "may only be specified when readOnly is true")
    if mount.get("mountPropagation") not in (None, "None"):
        what = "may only be specified when mountPropagation is None or not specified"
        yield problems.forbidden(field, what)


def _devices_problems(
    devices: Sequence[Obj],
    mounts: Mapping[str, str],
    volumes: Mapping[str, Obj],
    field: str,
) -> Iterator[Problem]:
    seen_paths: set[str] = set()
    seen_names: set[str] = set()
    for index, device in enumerate(devices):
        name, target = device.get("name") or "", device.get("devicePath") or ""
        path = f"{field}[{index}]"
        yield from _device_name_problems(name, f"{path}.name", seen_names, volumes)
        yield from _device_path_problems(target, f"{path}.devicePath", seen_paths)
        if name in mounts:
            what = "must not already exist in volumeMounts"
            yield problems.invalid(f"{path}.name", name, what)
        if target in mounts.values():
            what = "must not already exist as a path in volumeMounts"
            yield problems.invalid(f"{path}.devicePath", target, what)
        if name:
            seen_names.add(name)


def _device_name_problems(
    name: str, field: str, seen: set[str], volumes: Mapping[str, Obj]
) -> Iterator[Problem]:
    if not name:
        yield problems.required(field)
    if name in seen:
        yield problems.invalid(field, name, "must be unique")
    volume = volumes.get(name)
    if volume is None:
        yield problems.not_found(field, name)
    elif "persistentVolumeClaim" not in volume and "ephemeral" not in volume:
        what = (
            "can only use volume source type of PersistentVolumeClaim or Ephemeral "
            "for block mode"
        )
        yield problems.invalid(field, name, what)


def _device_path_problems(target: str, field: str, seen: set[str]) -> Iterator[Problem]:
    if not target:
        yield problems.required(field)
    if target in seen:
        yield problems.invalid(field, target, "must be unique")
    if target and ".." in target.split("/"):
        yield problems.invalid(field, target, "can not contain backsteps ('..')")
    else:
        seen.add(target)
