"""What is wrong with security contexts, of pods and of containers."""

import re
from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import names, values, volume_paths, windows
from jobferry.objects import Obj

_PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_MAX_PROFILE = 4095
_MAX_SYSCTL = 253
_SYSCTL_PART = r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SYSCTL_PART}[\./])*{_SYSCTL_PART}"
_sysctl = re.compile(_SYSCTL).fullmatch
_IPC_SYSCTLS = frozenset(
    {
        *("kernel.sem", "kernel.shmall", "kernel.shmmax", "kernel.shmmni", "kernel.shm"),
        *("kernel.shm_rmid_forced", "kernel.msgmax", "kernel.msgmnb", "kernel.msgmni"),
        "kernel.msg",
    }
)


def pod_problems(context: Obj, spec: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with the security context of a pod."""
    for member in ("fsGroup", "runAsUser", "runAsGroup"):
        if (number := context.get(member)) is not None:
            yield from values.each(f"{field}.{member}", number, names.id_problems(number))
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        path = f"{field}.supplementalGroups[{index}]"
        yield from values.each(path, group, names.id_problems(group))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        what = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield problems.invalid(f"{field}.shareProcessNamespace", True, what)
    yield from _sysctls_problems(context.get("sysctls") or (), spec, f"{field}.sysctls")
    yield from _optional(context, field, "fsGroupChangePolicy", ("Always", "OnRootMismatch"))
    yield from _profiles_problems(context, field)
    yield from _optional(context, field, "supplementalGroupsPolicy", ("Merge", "Strict"))
    yield from _optional(context, field, "seLinuxChangePolicy", ("Recursive",))


def container_problems(context: Obj, field: str, *, host_users: bool) -> Iterator[Problem]:
    """Say what is wrong with the security context of a container."""
    for member in ("runAsUser", "runAsGroup"):
        if (number := context.get(member)) is not None:
            yield from values.each(f"{field}.{member}", number, names.id_problems(number))
    yield from _optional(context, field, "procMount", ("Default", "Unmasked"))
    if host_users and context.get("procMount") == "Unmasked":
        what = "`hostUsers` must be false to use `Unmasked`"
        yield problems.invalid(f"{field}.procMount", "Unmasked", what)
    yield from seccomp_problems(context.get("seccompProfile"), f"{field}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        yield from _escalation_problems(context, field)
    yield from windows.options_problems(
        context.get("windowsOptions"), f"{field}.windowsOptions"
    )
    yield from app_armor_problems(context.get("appArmorProfile"), f"{field}.appArmorProfile")


def seccomp_problems(profile: Obj | None, field: str) -> Iterator[Problem]:
    """Say what is wrong with a seccomp profile."""
    if profile is None:
        return
    kind, path = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        what = "type is required when seccompProfile is set"
        yield problems.required(f"{field}.type", what)
    elif kind not in _PROFILE_TYPES:
        yield problems.not_in_enum(f"{field}.type", kind, _PROFILE_TYPES)
    if kind != "Localhost":
        if path is not None:
            what = "can only be set when seccomp type is Localhost"
            yield problems.invalid(f"{field}.localhostProfile", profile, what)
    elif path is None:
        what = "must be set when seccomp type is Localhost"
        yield problems.required(f"{field}.localhostProfile", what)
    else:
        yield from volume_paths.descending(f"{field}.localhostProfile", path)


def app_armor_problems(profile: Obj | None, field: str) -> Iterator[Problem]:
    """Say what is wrong with an AppArmor profile."""
    if profile is None:
        return
    kind, path = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        what = "type is required when appArmorProfile is set"
        yield problems.required(f"{field}.type", what)
    elif kind == "Localhost":
        yield from _app_armor_path_problems(path, f"{field}.localhostProfile")
    elif kind not in _PROFILE_TYPES:
        yield problems.not_in_enum(f"{field}.type", kind, _PROFILE_TYPES)
    elif path is not None:
        what = "can only be set when AppArmor type is Localhost"
        yield problems.invalid(f"{field}.localhostProfile", path, what)


def _app_armor_path_problems(path: str | None, field: str) -> Iterator[Problem]:
    if path is None:
        yield problems.required(field, "must be set when AppArmor type is Localhost")
        return
    if path.strip() != path:
        yield problems.invalid(field, path, "must not be padded with whitespace")
    elif not path:
        yield problems.required(field, "must be set when AppArmor type is Localhost")
    if names.size(path) > _MAX_PROFILE:
        yield problems.too_long(field, _MAX_PROFILE)


def _optional(
    context: Obj, field: str, member: str, supported: Sequence[str]
) -> Iterator[Problem]:
    value = context.get(member)
    if value is not None and value not in supported:
        yield problems.not_in_enum(f"{field}.{member}", value, supported)


def _profiles_problems(context: Obj, field: str) -> Iterator[Problem]:
    yield from seccomp_problems(context.get("seccompProfile"), f"{field}.seccompProfile")
    yield from windows.options_problems(
        context.get("windowsOptions"), f"{field}.windowsOptions"
    )
    yield from app_armor_problems(context.get("appArmorProfile"), f"{field}.appArmorProfile")


def _escalation_problems(context: Obj, field: str) -> Iterator[Problem]:
    if context.get("privileged"):
        what = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        yield problems.invalid(field, context, what)
    for capability in (context.get("capabilities") or {}).get("add") or ():
        if capability == "CAP_SYS_ADMIN":
            what = (
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                "CAP_SYS_ADMIN"
            )
            yield problems.invalid(field, context, what)


def _sysctls_problems(sysctls: Sequence[Obj], spec: Obj, field: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        name, path = sysctl.get("name") or "", f"{field}[{index}].name"
        if not name:
            yield problems.required(path)
        elif len(name) > _MAX_SYSCTL or not _sysctl(name):
            what = f"must have at most {_MAX_SYSCTL} characters and match regex ^{_SYSCTL}$"
            yield problems.invalid(path, name, what)
        elif name in seen:
            yield problems.duplicate(path, name)
        space = _namespace(name)
        if space and spec.get(space):
            yield problems.invalid(path, name, f"may not be specified when '{space}' is true")
        seen.add(name)


def _namespace(sysctl: str) -> str:
    """Return which namespace of the host a sysctl belongs to, if to one that pods may share."""
    separator = re.search(r"[./]", sysctl)
    if separator and separator[0] == "/":
        sysctl = sysctl.translate(str.maketrans("./", "/."))
    sysctl = sysctl.partition("*")[0]
    if sysctl in _IPC_SYSCTLS or sysctl.startswith("fs.mqueue."):
        return "hostIPC"
    return "hostNetwork" if sysctl.startswith("net.") else ""
