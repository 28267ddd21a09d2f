"""What is wrong with annotations that say something about a pod."""

import json
from collections.abc import Iterator, Mapping

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import paths, pod_spec, scheduling
from jobferry.objects import Obj, gotext

MIRROR = "kubernetes.io/config.mirror"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_MISMATCH = "{0} {1} in annotation and field must match"


def annotations_problems(
    annotations: Mapping[str, str] | None, spec: Obj, field: str
) -> Iterator[Problem]:
    """Say what is wrong with them on any pod or template."""
    if not annotations:
        return
    if MIRROR in annotations and not spec.get("nodeName"):
        what = "must set spec.nodeName if mirror pod annotation is set"
        yield problems.invalid(f"{field}[{MIRROR}]", annotations[MIRROR], what)
    if annotations.get(_TOLERATIONS):
        yield from _tolerations_problems(annotations[_TOLERATIONS], field)
    if not _is_cost(annotations.get(_DELETION_COST, "0")):
        cost = annotations[_DELETION_COST]
        what = "must be a 32bit integer"
        yield problems.invalid(f"{field}[{_DELETION_COST}]", cost, what)
    for key, value in annotations.items():
        if key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            yield from _seccomp_problems(value, f"{field}.{key}")
    for key, value in annotations.items():
        if key.startswith(APP_ARMOR):
            yield from _app_armor_problems(key, value, spec, f"{field}[{key}]")


def update_problems(new: Obj, old: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with how those of a pod changed, and with what they are now."""
    ours = new["metadata"].get("annotations") or {}
    theirs = old["metadata"].get("annotations") or {}
    for key, value in theirs.items():
        if ours.get(key) != value and (what := _fixed(key)):
            yield problems.forbidden(f"{field}[{key}]", f"may not remove or update {what}")
    for key in ours:
        if key not in theirs and (what := _fixed(key)):
            yield problems.forbidden(f"{field}[{key}]", f"may not add {what}")
    yield from annotations_problems(ours, new["spec"], field)


def fields_problems(
    annotations: Mapping[str, str] | None, spec: Obj, field: str
) -> Iterator[Problem]:
    """Complain where security profiles in annotations and in fields contradict each other."""
    if not annotations:
        return
    every = pod_spec.all_containers(spec, field)
    of_pod = spec.get("securityContext") or {}
    if SECCOMP_POD in annotations:
        path = f"{field}.securityContext.seccompProfile"
        yield from _match_problems(
            annotations[SECCOMP_POD], of_pod.get("seccompProfile"), path, "seccomp"
        )
    for path, container in every:
        key = f"{SECCOMP_CONTAINER}{container.get('name')}"
        if key in annotations:
            profile = (container.get("securityContext") or {}).get("seccompProfile")
            at = f"{path}.securityContext.seccompProfile"
            yield from _match_problems(annotations[key], profile, at, "seccomp")
    if (spec.get("os") or {}).get("name") == "windows":
        return
    for path, container in every:
        key = f"{APP_ARMOR}{container.get('name')}"
        if key in annotations:
            profile = (container.get("securityContext") or {}).get("appArmorProfile")
            profile = of_pod.get("appArmorProfile") if profile is None else profile
            at = f"{path}.securityContext.appArmorProfile"
            yield from _match_problems(annotations[key], profile, at, "apparmor")


def _fixed(key: str) -> str:
    """Return what an annotation is called that a pod keeps for life."""
    if key.startswith(APP_ARMOR):
        return "AppArmor annotations"
    return "mirror pod annotation" if key == MIRROR else ""


def _match_problems(
    annotation: str, profile: Obj | None, field: str, kind: str
) -> Iterator[Problem]:
    if profile is None:
        return
    of_type = profile.get("type")
    if of_type == "Localhost" and annotation.startswith("localhost/"):
        if annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
            what = _MISMATCH.format(kind, "profile")
            yield problems.forbidden(f"{field}.localhostProfile", what)
        return
    defaults = ("runtime/default", "docker/default")[: 2 if kind == "seccomp" else 1]
    allowed = {"Unconfined": ("unconfined",), "RuntimeDefault": defaults, "Localhost": ()}
    if of_type in allowed and annotation not in allowed[of_type]:
        yield problems.forbidden(f"{field}.type", _MISMATCH.format(kind, "type"))


def _is_cost(text: str) -> bool:
    number = gotext.parse_int(text)
    if number is None or not -(2**31) <= number < 2**31:
        return False
    return text[0] in "-123456789" or text == "0"


def _tolerations_problems(text: str, field: str) -> Iterator[Problem]:
    try:
        tolerations = json.loads(text)
    except ValueError as error:
        yield problems.invalid(field, _TOLERATIONS, str(error))
        return
    if isinstance(tolerations, list) and all(isinstance(each, dict) for each in tolerations):
        yield from scheduling.tolerations_problems(tolerations, f"{field}.{_TOLERATIONS}")


def _seccomp_problems(profile: str, field: str) -> Iterator[Problem]:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return
    if profile.startswith("localhost/"):
        yield from paths.descending(field, profile.removeprefix("localhost/"))
    else:
        yield problems.invalid(field, profile, "must be a valid seccomp profile")


def _app_armor_problems(key: str, profile: str, spec: Obj, field: str) -> Iterator[Problem]:
    name = key.removeprefix(APP_ARMOR)
    if all(container.get("name") != name for _, container in pod_spec.all_containers(spec, "")):
        yield problems.invalid(field, name, "container not found")
    if profile in ("", "runtime/default", "unconfined") or profile.startswith("localhost/"):
        return
    what = f"invalid AppArmor profile name: {gotext.quote(profile)}"
    yield problems.invalid(field, profile, what)
