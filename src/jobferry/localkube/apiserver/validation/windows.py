"""What is wrong with what pods ask for on Windows, and with what they cannot ask for there."""

import re
from collections.abc import Iterator

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Named, Problem
from jobferry.localkube.apiserver.validation import names, values
from jobferry.objects import Obj

_MAX_CREDENTIALS = 64 * 1024
_MAX_DOMAIN = 256
_MAX_USER = 104
_control = re.compile(r"[\x00-\x1f\x7f]").search
_net_bios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_DNS_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_dns_domain = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_bad_user = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_dots = re.compile(r"[. ]+").fullmatch

_BAD_USER = (
    "runAsUserName's User cannot contain the following characters: " + r'"/\:;|=,+*?<>@[]'
)

_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_SPEC_MEMBERS = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_POD_MEMBERS = (
    *("appArmorProfile", "seLinuxOptions", "hostUsers", "hostPID", "hostIPC"),
    *("seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"),
    "shareProcessNamespace",
    *("runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy"),
    "seLinuxChangePolicy",
)
_CONTAINER_MEMBERS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities"),
    *("readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount"),
    *("runAsUser", "runAsGroup"),
)


def options_problems(options: Obj | None, field: str) -> Iterator[Problem]:
    """Say what is wrong with the Windows options of a security context."""
    if not options:
        return
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        yield from values.subdomain(f"{field}.gmsaCredentialSpecName", Named(name))
    if (spec := options.get("gmsaCredentialSpec")) is not None:
        path = f"{field}.gmsaCredentialSpec"
        if not spec:
            yield problems.invalid(path, spec, "gmsaCredentialSpec cannot be an empty string")
        elif names.size(spec) > _MAX_CREDENTIALS:
            shown = Named(spec)
            yield problems.invalid(path, shown, "gmsaCredentialSpec size must be under 64 KiB")
    if (user := options.get("runAsUserName")) is not None:
        found = list(_user_problems(user))
        yield from values.each(f"{field}.runAsUserName", Named(user), found)


def _user_problems(name: str) -> Iterator[str]:
    if not name:
        yield "runAsUserName cannot be an empty string"
    elif _control(name):
        yield "runAsUserName cannot contain control characters"
    elif name.count("\\") > 1:
        yield "runAsUserName cannot contain more than one backslash"
    else:
        domain, backslash, user = name.rpartition("\\")
        if names.size(domain) >= _MAX_DOMAIN:
            yield f"runAsUserName's Domain length must be under {_MAX_DOMAIN} characters"
        if backslash and not (_net_bios(domain) or _dns_domain(domain)):
            yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format"
        yield from _user_part_problems(user)


def _user_part_problems(user: str) -> Iterator[str]:
    if not user:
        yield "runAsUserName's User cannot be empty"
    elif names.size(user) > _MAX_USER:
        yield f"runAsUserName's User length must not be longer than {_MAX_USER} characters"
    if _dots(user):
        yield "runAsUserName's User cannot contain only periods or spaces"
    if _bad_user(user):
        yield _BAD_USER


def host_process_problems(
    spec: Obj, containers: list[tuple[str, Obj]], field: str
) -> Iterator[Problem]:
    """Complain where only some containers of a pod are host processes, or without its network."""
    whole = _host_process(spec)
    count = 0
    for container_path, container in containers:
        own = _host_process(container)
        if whole is not None and own is not None and whole != own:
            what = (
                "pod hostProcess value must be identical if both are specified, was "
                f"{str(whole).lower()}"
            )
            path = f"{container_path}.securityContext.windowsOptions.hostProcess"
            yield problems.invalid(path, own, what)
        count += bool(whole if own is None else own)
    if count and count != len(containers):
        what = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield problems.invalid(field, "", what)
    if count and not spec.get("hostNetwork"):
        what = "hostNetwork must be true if pod contains any hostProcess containers"
        yield problems.invalid(f"{field}.hostNetwork", False, what)


def _host_process(part: Obj) -> bool | None:
    options = (part.get("securityContext") or {}).get("windowsOptions") or {}
    wanted: bool | None = options.get("hostProcess")
    return wanted


def linux_problems(
    spec: Obj, containers: list[tuple[str, Obj]], field: str
) -> Iterator[Problem]:
    """Complain about Windows options of a Linux pod."""
    what = "windows options cannot be set for a linux pod"
    for path, part in ((field, spec), *containers):
        if (part.get("securityContext") or {}).get("windowsOptions") is not None:
            yield problems.forbidden(f"{path}.securityContext.windowsOptions", what)


def windows_problems(
    spec: Obj, containers: list[tuple[str, Obj]], field: str
) -> Iterator[Problem]:
    """Complain about what a Windows pod cannot have."""
    context = spec.get("securityContext") or {}
    for member in _POD_MEMBERS:
        if member in _SPEC_MEMBERS:
            if spec.get(member) is not None:
                yield problems.forbidden(f"{field}.{member}", _NOT_ON_WINDOWS)
        elif context.get(member) is not None:
            yield problems.forbidden(f"{field}.securityContext.{member}", _NOT_ON_WINDOWS)
    for path, container in containers:
        own = container.get("securityContext") or {}
        for member in _CONTAINER_MEMBERS:
            if own.get(member) is not None:
                yield problems.forbidden(f"{path}.securityContext.{member}", _NOT_ON_WINDOWS)
