"""What is wrong with volumes on storage that is reached by name: NFS, iSCSI, clouds and the like."""

import re
from collections.abc import Callable, Iterator

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import names, paths, values
from jobferry.objects import Obj

SourceRule = Callable[[Obj, str], Iterator[Problem]]
"""(source, field): what is wrong with the source of a volume."""

_ISCSI = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}
_REGISTRY = "must be a host:port pair or multiple pairs separated by commas"
_HOST_AND_PORT = re.compile(r"([^:\[\]]*|\[[^\[\]]*\]):[^:\[\]]*").fullmatch
_MANAGED_DISK = (
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/"
    "microsoft.compute/disks/{disk-id}"
)
_BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def needs(*members: str) -> SourceRule:
    """Return a rule that only wants some members to be there."""

    def rule(source: Obj, field: str) -> Iterator[Problem]:
        for member in members:
            if not source.get(member):
                yield problems.required(f"{field}.{member}")

    return rule


def _with_partition(member: str) -> SourceRule:
    def rule(source: Obj, field: str) -> Iterator[Problem]:
        if not source.get(member):
            yield problems.required(f"{field}.{member}")
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            what = names.between(1, 255)
            yield problems.invalid(f"{field}.partition", partition, what)

    return rule


def git_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a git repository as a volume."""
    if not source.get("repository"):
        yield problems.required(f"{field}.repository")
    yield from paths.descending(f"{field}.directory", source.get("directory") or "")


def nfs_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with an NFS volume."""
    yield from needs("server", "path")(source, field)
    path = source.get("path") or ""
    if not path.startswith("/"):
        yield problems.invalid(f"{field}.path", path, "must be an absolute path")


def iscsi_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with an iSCSI volume."""
    if not source.get("targetPortal"):
        yield problems.required(f"{field}.targetPortal")
    if name := source.get("iqn"):
        yield from _iscsi_name_problems(name, f"{field}.iqn")
    else:
        yield problems.required(f"{field}.iqn")
    lun = source.get("lun", 0)
    if not 0 <= lun <= 255:
        yield problems.invalid(f"{field}.lun", lun, names.between(0, 255))
    with_secret = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if with_secret and source.get("secretRef") is None:
        yield problems.required(f"{field}.secretRef")
    if (name := source.get("initiatorName")) is not None:
        yield from _iscsi_name_problems(name, f"{field}.initiatorname")


def _iscsi_name_problems(name: str, field: str) -> Iterator[Problem]:
    pattern = _ISCSI.get(name[:3])
    if pattern is None:
        what = "must be valid format starting with iqn, eui, or naa"
        yield problems.invalid(field, name, what)
    elif not pattern.search(name):
        yield problems.invalid(field, name, "must be valid format")


def flocker_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a Flocker volume."""
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uuid:
        what = "one of datasetName and datasetUUID is required"
        yield problems.required(field, what)
    if name and uuid:
        what = "datasetName and datasetUUID can not be specified simultaneously"
        yield problems.invalid(field, "resource", what)
    if "/" in name:
        yield problems.invalid(f"{field}.datasetName", name, "must not contain '/'")


def _with_secret_ref(source: Obj, field: str) -> Iterator[Problem]:
    secret = source.get("secretRef")
    if secret is not None and not secret.get("name"):
        yield problems.required(f"{field}.secretRef.name")


def cinder_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a Cinder volume."""
    yield from needs("volumeID")(source, field)
    yield from _with_secret_ref(source, field)


def quobyte_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a Quobyte volume."""
    registry = source.get("registry") or ""
    if not registry:
        yield problems.required(f"{field}.registry", _REGISTRY)
    elif names.size(source.get("tenant") or "") >= 65:
        what = "must be a UUID and may not exceed a length of 64 characters"
        yield problems.required(f"{field}.tenant", what)
    else:
        for pair in registry.split(","):
            if not _HOST_AND_PORT(pair):
                yield problems.invalid(f"{field}.registry", registry, _REGISTRY)
    yield from needs("volume")(source, field)


def fc_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a Fibre Channel volume."""
    targets, ids = source.get("targetWWNs") or [], source.get("wwids") or []
    if not targets and not ids:
        what = "must specify either targetWWNs or wwids, but not both"
        yield problems.required(f"{field}.targetWWNs", what)
    if targets and ids:
        what = "targetWWNs and wwids can not be specified simultaneously"
        yield problems.invalid(f"{field}.targetWWNs", targets, what)
    lun = source.get("lun")
    if targets and lun is None:
        yield problems.required(f"{field}.lun", "lun is required if targetWWNs is specified")
    elif targets and not 0 <= lun <= 255:  # type: ignore[operator]
        yield problems.invalid(f"{field}.lun", lun, names.between(0, 255))


def flex_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a FlexVolume."""
    yield from needs("driver")(source, field)
    for option in source.get("options") or {}:
        domain = "." + option.partition("/")[0].lower()
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            what = "kubernetes.io and k8s.io namespaces are reserved"
            yield problems.invalid(f"{field}.options[{option}]", option, what)


def azure_disk_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with an Azure disk."""
    yield from needs("diskName", "diskURI")(source, field)
    modes, kinds = ("None", "ReadOnly", "ReadWrite"), ("Dedicated", "Managed", "Shared")
    mode, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    if mode is not None and mode not in modes:
        yield problems.not_in_enum(f"{field}.cachingMode", mode, modes)
    if kind is not None and kind not in kinds:
        yield problems.not_in_enum(f"{field}.kind", kind, kinds)
    if kind == "Managed":
        if not uri.startswith("/subscriptions/"):
            yield problems.not_supported(f"{field}.diskURI", uri, (_MANAGED_DISK,))
    elif kind is not None and not uri.startswith("https://"):
        yield problems.not_supported(f"{field}.diskURI", uri, (_BLOB_DISK,))


def storageos_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a StorageOS volume."""
    if name := source.get("volumeName"):
        yield from values.dns_label(f"{field}.volumeName", name)
    else:
        yield problems.required(f"{field}.volumeName")
    if namespace := source.get("volumeNamespace"):
        yield from values.dns_label(f"{field}.volumeNamespace", namespace)
    yield from _with_secret_ref(source, field)


gce_problems = _with_partition("pdName")
"""Say what is wrong with a GCE disk."""
aws_problems = _with_partition("volumeID")
"""Say what is wrong with an AWS disk."""
