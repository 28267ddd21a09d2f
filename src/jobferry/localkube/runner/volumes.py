"""What the volumes of a pod hold, and where each container has them: pure."""

import base64
import os.path
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from jobferry.errors import BadInput
from jobferry.localkube.runner import env, fields
from jobferry.localkube.runner.env import Missing
from jobferry.localkube.runner.mounts import Bind
from jobferry.objects import Obj

FILE_MODE = 0o644
SERVED = "emptyDir, configMap, secret, projected, downwardAPI and hostPath"
ALWAYS_READ_ONLY = ("configMap", "secret", "projected", "downwardAPI")


class Ref(NamedTuple):
    """A ConfigMap or Secret in the namespace of a pod."""

    kind: str
    """As messages have it: configmap or secret."""
    name: str


class Token(NamedTuple):
    """A token of a pod's service account."""

    audience: str
    seconds: int


@dataclass(frozen=True, slots=True)
class File:
    """A file in a volume; its content may still have to be asked for."""

    path: str
    content: bytes | Token
    mode: int = FILE_MODE


Found = Mapping[Ref, Obj | None]
"""The ConfigMaps and Secrets that a pod refers to; None for those that are not there."""


def references(pod: Obj) -> set[Ref]:
    """Return all that the volumes of a pod are filled from."""
    found = set()
    for volume in pod["spec"].get("volumes") or ():
        for source in [volume, *((volume.get("projected") or {}).get("sources") or ())]:
            found |= set(_refs_of(source))
    return found


def env_references(container: Obj) -> set[Ref]:
    """Return all that the environment of a container is filled from."""
    found = set()
    for source in container.get("envFrom") or ():
        for member, kind in (("configMapRef", "configmap"), ("secretRef", "secret")):
            if ref := source.get(member):
                found.add(Ref(kind, ref["name"]))
    for entry in container.get("env") or ():
        source = entry.get("valueFrom") or {}
        for member, kind in (("configMapKeyRef", "configmap"), ("secretKeyRef", "secret")):
            if ref := source.get(member):
                found.add(Ref(kind, ref["name"]))
    return found


def texts(found: Found) -> Callable[[str, str], Mapping[str, str] | None]:
    """Return how the environment looks up what it is filled from."""

    def lookup(kind: str, name: str) -> Mapping[str, str] | None:
        obj = found.get(Ref(kind, name))
        if obj is None:
            return None
        return {key: value.decode(errors="replace") for key, value in _data(kind, obj).items()}

    return lookup


def files(pod: Obj, volume: Obj, found: Found, room: Mapping[str, str]) -> list[File]:
    """Return what a volume holds at first; raises `Missing` for what it cannot be made of yet."""
    if (projected := volume.get("projected")) is not None:
        mode = projected.get("defaultMode", FILE_MODE)
        sources = projected.get("sources") or ()
        return [each for source in sources for each in _of(pod, source, mode, found, room)]
    for member in ("configMap", "secret", "downwardAPI"):
        if (source := volume.get(member)) is not None:
            mode = source.get("defaultMode", FILE_MODE)
            return list(_of(pod, {member: source}, mode, found, room))
    if volume.get("emptyDir") is not None or volume.get("hostPath") is not None:
        return []
    raise Missing(f'volume "{volume["name"]}" is of a kind that is not served; {SERVED} are')


def place(folder: str, volume: Obj) -> str:
    """Return where a volume is on the machine; `folder` is that of its pod."""
    if (host := volume.get("hostPath")) is not None:
        path: str = host["path"]
        return path
    return os.path.join(folder, f"volume.{volume['name']}")


def binds(pod: Obj, container: Obj, folder: str, values: Mapping[str, str]) -> Iterator[Bind]:
    """Say where a container has its volumes; `values` is its environment, for subPathExpr."""
    by_name = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    for mount in container.get("volumeMounts") or ():
        volume = by_name[mount["name"]]
        source = place(folder, volume)
        sub = mount.get("subPath") or env.expand(mount.get("subPathExpr") or "", values)
        if sub:
            source = inside(source, sub)
        is_fixed = any(volume.get(member) is not None for member in ALWAYS_READ_ONLY)
        yield Bind(source, mount["mountPath"], bool(mount.get("readOnly")) or is_fixed)


def inside(folder: str, path: str) -> str:
    """Return a path in a folder; refuses one that leads out of it, be it by a link."""
    if path.startswith("/") or ".." in path.split("/"):
        raise BadInput(f"the path {path!r} must be relative and must not contain '..'")
    whole = os.path.join(folder, path)
    real, root = os.path.realpath(whole), os.path.realpath(folder)
    if real != root and not real.startswith(root.rstrip("/") + "/"):
        raise BadInput(f"the path {path!r} leads out of its volume")
    return whole


def _refs_of(source: Obj) -> Iterator[Ref]:
    if (ref := source.get("configMap")) is not None:
        yield Ref("configmap", ref["name"])
    if (ref := source.get("secret")) is not None:
        yield Ref("secret", ref.get("secretName") or ref.get("name", ""))


def _of(
    pod: Obj, source: Obj, mode: int, found: Found, room: Mapping[str, str]
) -> Iterator[File]:
    if (token := source.get("serviceAccountToken")) is not None:
        wish = Token(token.get("audience", ""), token.get("expirationSeconds", 3600))
        yield File(_checked(token["path"]), wish, mode)
    elif (downward := source.get("downwardAPI")) is not None:
        for item in downward.get("items") or ():
            content = _field(pod, item, room).encode()
            yield File(_checked(item["path"]), content, item.get("mode", mode))
    else:
        for ref in _refs_of(source):
            wish_for = source.get("configMap") or source.get("secret") or {}
            yield from _of_object(ref, wish_for, mode, found.get(ref))


def _field(pod: Obj, item: Obj, room: Mapping[str, str]) -> str:
    if (ref := item.get("fieldRef")) is not None:
        return fields.of_pod(pod, ref["fieldPath"])
    return fields.of_resources(pod, {}, item["resourceFieldRef"], room)


def _of_object(ref: Ref, source: Obj, mode: int, obj: Obj | None) -> Iterator[File]:
    if obj is None:
        if source.get("optional"):
            return
        raise Missing(f'{ref.kind} "{ref.name}" not found')
    data = _data(ref.kind, obj)
    for item in source.get("items") or [{"key": key, "path": key} for key in sorted(data)]:
        if item["key"] not in data:
            if source.get("optional"):
                continue
            raise Missing(f'{ref.kind} "{ref.name}" has no key "{item["key"]}"')
        yield File(_checked(item["path"]), data[item["key"]], item.get("mode", mode))


def _data(kind: str, obj: Obj) -> dict[str, bytes]:
    data = obj.get("data") or {}
    if kind == "secret":
        return {key: base64.b64decode(value or "") for key, value in data.items()}
    plain = {key: value.encode() for key, value in data.items()}
    binary = obj.get("binaryData") or {}
    return plain | {key: base64.b64decode(value) for key, value in binary.items()}


def _checked(path: str) -> str:
    if path.startswith("/") or ".." in path.split("/"):
        raise BadInput(f"the path {path!r} must be relative and must not contain '..'")
    return path


def where(binds: Iterable[Bind], root: str = "/") -> Callable[[str], str]:
    """Return what tells where a path of a container is on the machine."""
    nearest_first = sorted(binds, key=lambda each: -len(each.target))

    def find(path: str) -> str:
        path = os.path.normpath(path)
        for source, target, _ in nearest_first:
            if path == target or path.startswith(target.rstrip("/") + "/"):
                return source + path[len(target.rstrip("/")) :]
        return os.path.join(root, path.lstrip("/"))

    return find
