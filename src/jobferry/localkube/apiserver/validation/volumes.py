"""What is wrong with the volumes of a pod."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import (
    claims,
    names,
    projections,
    resources,
    values,
    volume_paths,
)
from jobferry.localkube.apiserver.validation.containers import PULL_POLICIES
from jobferry.objects import Obj, gotext, quantities

_HOST_PATH_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File"),
    *("FileOrCreate", "Socket"),
)
_MAX_DRIVER = 63
_TOO_MANY = "may not specify more than 1 volume type"


def volumes_problems(
    volumes: Sequence[Obj], field: str, *, pod_name: str = "", is_pod: bool = False
) -> tuple[Mapping[str, Obj], list[Problem]]:
    """Return the volumes that are fine, by name, and say what is wrong with the others."""
    good: dict[str, Obj] = {}
    found: list[Problem] = []
    made = {
        f"{pod_name}-{volume.get('name', '')}"
        for volume in volumes
        if pod_name and "ephemeral" in volume
    }
    for index, volume in enumerate(volumes):
        path, name = f"{field}[{index}]", volume.get("name") or ""
        wrong = list(_volume_problems(volume, path, pod_name, is_pod=is_pod))
        if name in good:
            wrong.append(problems.duplicate(f"{path}.name", name))
        if wrong:
            found += wrong
        else:
            good[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in made:
            what = "must not reference a PVC that gets created for an ephemeral volume"
            path = f"{path}.persistentVolumeClaim.claimName"
            found.append(problems.invalid(path, claim, what))
    return good, found


def _volume_problems(
    volume: Obj, field: str, pod_name: str, *, is_pod: bool
) -> Iterator[Problem]:
    yield from _source_problems(volume, field, pod_name, is_pod=is_pod)
    if name := volume.get("name"):
        yield from values.dns_label(f"{field}.name", name)
    else:
        yield problems.required(f"{field}.name")


def _source_problems(
    volume: Obj, field: str, pod_name: str, *, is_pod: bool
) -> Iterator[Problem]:
    found = 0
    for kind in _KINDS:
        source = volume.get(kind)
        if source is None:
            continue
        found += 1
        if found > 1:
            yield problems.forbidden(f"{field}.{_TOO_MANY_AT.get(kind, kind)}", _TOO_MANY)
        elif kind == "image":
            yield from _image_problems(source, f"{field}.image", is_pod=is_pod)
        elif kind in _RULES:
            yield from _RULES[kind](source, f"{field}.{kind}")
            if kind == "ephemeral":
                yield from _claim_name_problems(volume.get("name") or "", pod_name, field)
    if not found:
        yield problems.required(field, "must specify a volume type")


def _empty_dir_problems(source: Obj, field: str) -> Iterator[Problem]:
    limit = source.get("sizeLimit")
    if limit is not None and resources.parse(limit) < quantities.ZERO:
        what = "SizeLimit field must be a valid resource quantity"
        yield problems.forbidden(f"{field}.sizeLimit", what)


def _host_path_problems(source: Obj, field: str) -> Iterator[Problem]:
    path, kind = source.get("path"), source.get("type")
    if not path:
        yield problems.required(f"{field}.path")
        return
    yield from volume_paths.backsteps(f"{field}.path", path)
    if kind is not None and kind not in _HOST_PATH_TYPES:
        yield problems.not_in_enum(f"{field}.type", kind, _HOST_PATH_TYPES)


def _nfs_problems(source: Obj, field: str) -> Iterator[Problem]:
    for member in ("server", "path"):
        if not source.get(member):
            yield problems.required(f"{field}.{member}")
    path = source.get("path") or ""
    if not path.startswith("/"):
        yield problems.invalid(f"{field}.path", path, "must be an absolute path")


def _claim_problems(source: Obj, field: str) -> Iterator[Problem]:
    if not source.get("claimName"):
        yield problems.required(f"{field}.claimName")


def _csi_problems(source: Obj, field: str) -> Iterator[Problem]:
    yield from csi_driver_problems(source.get("driver") or "", f"{field}.driver")
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return
    if name := secret.get("name"):
        yield from values.subdomain(f"{field}.name", name)
    else:
        yield problems.required(f"{field}.nodePublishSecretRef.name")


def csi_driver_problems(driver: str, field: str) -> Iterator[Problem]:
    """Say what is wrong with the name of a CSI driver."""
    if not driver:
        yield problems.required(field)
        return
    if names.size(driver) > _MAX_DRIVER:
        yield problems.too_long(field, _MAX_DRIVER)
    yield from values.each(field, driver, names.subdomain_problems(driver.lower()))


def _ephemeral_problems(source: Obj, field: str) -> Iterator[Problem]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield problems.required(f"{field}.volumeClaimTemplate")
    else:
        yield from claims.template_problems(template, f"{field}.volumeClaimTemplate")


def _claim_name_problems(name: str, pod_name: str, field: str) -> Iterator[Problem]:
    """Complain about a volume whose claim would get a bad name."""
    if not name or not pod_name:
        return
    claim = f"{pod_name}-{name}"
    for complaint in names.subdomain_problems(claim):
        what = f"PVC name {gotext.quote(claim)}: {complaint}"
        yield problems.invalid(f"{field}.name", name, what)


def _image_problems(source: Obj, field: str, *, is_pod: bool) -> Iterator[Problem]:
    if is_pod and not source.get("reference"):
        yield problems.required(f"{field}.reference")
    yield from values.one_of(f"{field}.pullPolicy", source.get("pullPolicy"), PULL_POLICIES)


_RULES: dict[str, Callable[[Obj, str], Iterator[Problem]]] = {
    "emptyDir": _empty_dir_problems,
    "hostPath": _host_path_problems,
    "secret": projections.secret_problems,
    "nfs": _nfs_problems,
    "persistentVolumeClaim": _claim_problems,
    "downwardAPI": projections.downward_problems,
    "configMap": projections.config_map_problems,
    "projected": projections.projected_problems,
    "csi": _csi_problems,
    "ephemeral": _ephemeral_problems,
}

_KINDS = (
    *("emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret"),
    *("nfs", "iscsi", "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder"),
    *("cephfs", "quobyte", "downwardAPI", "fc", "flexVolume", "configMap", "azureFile"),
    *("vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "storageos"),
    *("projected", "scaleIO", "csi", "ephemeral", "image"),
)
"""In the order in which an API server looks at them; those without a rule are as good as their types."""
SOURCES = frozenset(_KINDS)
"""The kinds of volumes there are."""

# Upstream names a few of them wrongly in its answers.
_TOO_MANY_AT = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
