"""What is wrong with volumes that are made of Secrets, ConfigMaps, tokens and fields of the pod."""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import env, volume_paths
from jobferry.objects import Obj

_TWICE = "conflicting duplicate paths"
_TEN_MINUTES = 600
_KINDS = (
    *("secret", "configMap", "downwardAPI", "serviceAccountToken"),
    *("clusterTrustBundle", "podCertificate"),
)


def secret_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a Secret as a volume."""
    if not source.get("secretName"):
        yield problems.required(f"{field}.secretName")
    yield from _files_problems(source, field)


def config_map_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a ConfigMap as a volume."""
    if not source.get("name"):
        yield problems.required(f"{field}.name")
    yield from _files_problems(source, field)


def downward_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with fields of the pod as a volume."""
    yield from volume_paths.mode(f"{field}.defaultMode", source.get("defaultMode"))
    for file in source.get("items") or ():
        yield from _downward_file_problems(file, field)


def projected_problems(source: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with a volume that has several sources."""
    yield from volume_paths.mode(f"{field}.defaultMode", source.get("defaultMode"))
    seen: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        path = f"{field}.sources[{index}]"
        for kind in ("secret", "configMap"):
            if part.get(kind) is not None:
                yield from _keys_problems(part[kind], f"{path}.{kind}", seen, field)
        if part.get("downwardAPI") is not None:
            files = part["downwardAPI"].get("items") or ()
            yield from _downward_problems(files, f"{path}.downwardAPI", seen, field)
        if part.get("serviceAccountToken") is not None:
            token = part["serviceAccountToken"]
            yield from _token_problems(token, f"{path}.serviceAccountToken", field)
        if sum(part.get(kind) is not None for kind in _KINDS) > 1:
            what = "may not specify more than 1 volume type per source"
            yield problems.forbidden(path, what)


def _files_problems(source: Obj, field: str) -> Iterator[Problem]:
    yield from volume_paths.mode(f"{field}.defaultMode", source.get("defaultMode"))
    for index, item in enumerate(source.get("items") or ()):
        yield from _item_problems(item, f"{field}.items[{index}]")


def _item_problems(item: Obj, field: str) -> Iterator[Problem]:
    for member in ("key", "path"):
        if not item.get(member):
            yield problems.required(f"{field}.{member}")
    yield from volume_paths.not_reserved(f"{field}.path", item.get("path") or "")
    yield from volume_paths.mode(f"{field}.mode", item.get("mode"))


def _keys_problems(part: Obj, field: str, seen: set[str], whole: str) -> Iterator[Problem]:
    name = part.get("name") or ""
    if not name:
        yield problems.required(f"{field}.name")
    for index, item in enumerate(part.get("items") or ()):
        yield from _item_problems(item, f"{field}.items[{index}]")
        path = item.get("path")
        if path and path in seen:
            yield problems.invalid(whole, name, _TWICE)
        elif path:
            seen.add(path)


def _downward_problems(
    files: Sequence[Obj], field: str, seen: set[str], whole: str
) -> Iterator[Problem]:
    for file in files:
        yield from _downward_file_problems(file, field)
        path = file.get("path")
        if path and path in seen:
            yield problems.invalid(whole, path, _TWICE)
        elif path:
            seen.add(path)


def _downward_file_problems(file: Obj, field: str) -> Iterator[Problem]:
    if not file.get("path"):
        yield problems.required(f"{field}.path")
    yield from volume_paths.not_reserved(f"{field}.path", file.get("path") or "")
    of_field, of_amount = file.get("fieldRef"), file.get("resourceFieldRef")
    if of_field is not None:
        path = f"{field}.fieldRef"
        yield from env.field_ref_problems(of_field, path, env.VOLUME_FIELDS)
        if of_amount is not None:
            what = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield problems.invalid(field, "resource", what)
    elif of_amount is not None:
        path = f"{field}.resourceFieldRef"
        yield from env.amount_ref_problems(of_amount, path, in_volume=True)
    else:
        what = "one of fieldRef and resourceFieldRef is required"
        yield problems.required(field, what)
    yield from volume_paths.mode(f"{field}.mode", file.get("mode"))


def _token_problems(token: Obj, field: str, whole: str) -> Iterator[Problem]:
    seconds = token.get("expirationSeconds", 0)
    if seconds < _TEN_MINUTES:
        what = "may not specify a duration less than 10 minutes"
        yield problems.invalid(f"{field}.expirationSeconds", seconds, what)
    if seconds > 1 << 32:
        what = "may not specify a duration larger than 2^32 seconds"
        yield problems.invalid(f"{field}.expirationSeconds", seconds, what)
    if path := token.get("path"):
        yield from volume_paths.not_reserved(f"{whole}.path", path)
    else:
        yield problems.required(f"{whole}.path")
