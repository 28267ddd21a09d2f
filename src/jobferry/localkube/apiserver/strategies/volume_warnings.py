"""What an API server warns of in volumes: what no longer works, and files that hide each other."""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver.validation import resources
from jobferry.objects import Obj, gotext

_GONE = (
    ("photonPersistentDisk", "photonPersistentDisk", "v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "v1.25, non-functional in v1.26+"),
    ("ephemeral", "", ""),
    ("cephfs", "cephfs", "v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "v1.28, non-functional in v1.31+"),
)

_FILES = ("configMap", "secret", "downwardAPI", "projected")
_File = tuple[str, str]
"""A path in a volume, and what it comes from."""


def volumes_warnings(volumes: Sequence[Obj], field: str) -> Iterator[str]:
    """Warn of volumes."""
    for index, volume in enumerate(volumes):
        for kind, called, since in _GONE:
            if volume.get(kind) is None:
                continue
            if called:
                yield f"{field}[{index}].{called}: deprecated in {since}"
            elif template := volume[kind].get("volumeClaimTemplate"):
                path = f"{field}[{index}].ephemeral.volumeClaimTemplate.spec"
                yield from claim_warnings(template.get("spec") or {}, path)
    for volume in volumes:
        if any(kind in volume for kind in _FILES):
            yield from _overlap_warnings(volume)


def claim_warnings(spec: Obj, field: str) -> Iterator[str]:
    """Warn of a claim to a fraction of a byte."""
    for kind in ("requests", "limits"):
        amount = ((spec.get("resources") or {}).get(kind) or {}).get("storage")
        if amount is not None and not resources.is_whole(resources.parse(amount)):
            shown = gotext.quote(amount)
            yield (
                f"{field}.resources.{kind}[storage]: fractional byte value {shown} is invalid, "
                "must be an integer"
            )


def _overlap_warnings(volume: Obj) -> Iterator[str]:
    name = gotext.quote(volume.get("name") or "")
    for kind, called, named in (
        ("configMap", "ConfigMap", "name"),
        ("secret", "Secret", "secretName"),
        ("downwardAPI", "DownwardAPI", ""),
    ):
        source = volume.get(kind)
        if not source or not source.get("items"):
            continue
        what = f"{called} {gotext.quote(source.get(named) or '')}" if named else called
        files = [(item.get("path") or "", "") for item in source["items"]]
        for clash in _clashes(files):
            yield f"volume {name} ({what}): overlapping paths: {clash}"
    if volume.get("projected") is not None:
        yield from _projected_warnings(volume["projected"].get("sources") or (), name)


def _projected_warnings(sources: Sequence[Obj], name: str) -> Iterator[str]:
    files: list[_File] = []
    for source in sources:
        if not source:
            yield f"volume {name} (Projected) has no sources provided"
            continue
        for file in _projected_files(source):
            for clash in _clashes_with(files, file):
                yield f"volume {name} (Projected): overlapping paths: {clash}"
            files.append((file[0].rstrip("/"), file[1]))


def _projected_files(source: Obj) -> list[_File]:
    for kind, called in (
        ("configMap", "ConfigMap"),
        ("secret", "Secret"),
        ("downwardAPI", "DownwardAPI"),
    ):
        part = source.get(kind)
        if part is not None and part.get("items"):
            named = "" if kind == "downwardAPI" else f" {gotext.quote(part.get('name') or '')}"
            return [(item.get("path") or "", f"{called}{named}") for item in part["items"]]
    if (token := source.get("serviceAccountToken")) is not None:
        return [(token.get("path") or "", "ServiceAccountToken")]
    return []


def _clashes(files: Sequence[_File]) -> Iterator[str]:
    before: list[_File] = []
    for file in files:
        yield from _clashes_with(before, file)
        before.append((file[0].rstrip("/"), file[1]))


def _clashes_with(before: Sequence[_File], file: _File) -> Iterator[str]:
    path, source = file[0].rstrip("/"), file[1]
    if not path:
        return
    for other, other_source in before:
        inside = f"{other}/".startswith(f"{path}/") or f"{path}/".startswith(f"{other}/")
        if other and inside:
            yield f"{_shown(path, source)} with {_shown(other, other_source)}"


def _shown(path: str, source: str) -> str:
    return f"{gotext.quote(path)} ({source})" if source else gotext.quote(path)
