"""The documents of OpenAPI v3, one for each group and version, as bytes."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from jobferry.localkube.apiserver.openapi import operations
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.types import schemas, tables
from jobferry.objects import Obj

_NOTHING: Mapping[str, Obj] = {}
_INFO = {"title": "Kubernetes", "version": "v1.35.8"}
_BEARER = {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}}


def path_of(group: str, version: str) -> str:
    """Return where a document is, below /openapi/v3/: `api/v1`, `apis/batch/v1`."""
    return f"apis/{group}/{version}" if group else f"api/{version}"


def index(hashes: Mapping[tuple[str, str], str]) -> bytes:
    """Return the answer to /openapi/v3, from the hash of the document of each (group, version)."""
    paths = {path_of(*key): hash for key, hash in hashes.items()}
    return orjson.dumps(
        {
            "paths": {
                path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={hash}"}
                for path, hash in sorted(paths.items())
            }
        }
    )


def hash_of(resources: Iterable[Resource], custom: Mapping[str, Obj] = _NOTHING) -> str:
    """Return what changes whenever the document of these resources does, without making it."""
    shown = [operations.summary(resource) for resource in resources]
    text = orjson.dumps([shown, custom], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha512(text).hexdigest().upper()


def document(
    group: str,
    version: str,
    resources: Sequence[Resource],
    versions: Iterable[tuple[str, str]] = (),
    custom: Mapping[str, Obj] = _NOTHING,
) -> bytes:
    """Return the document of a group and version.

    `versions` are all (group, version) that are served; `custom` has the schemas of kinds that are not
    built in, each with its properties.
    """
    api_version = f"{group}/{version}" if group else version
    roots = ["meta/v1.APIResourceList"]
    names: dict[tuple[str, str], str] = {}
    for body in _kinds(resources):
        struct = tables.type_of(*body)
        if struct is not None:
            names[body] = schemas.name_of(struct.name)
            roots.append(struct.name)
    components = schemas.collect([*roots, *_COMMON], list(versions) or [(group, version)])
    for kind, schema in custom.items():
        name = _custom_name(group, version, kind)
        names[api_version, kind] = name
        names[api_version, f"{kind}List"] = f"{name}List"
        components.update(_custom_schemas(name, schema, group, version, kind))
    paths: Obj = {f"/{path_of(group, version)}/": operations.resources_path(group, version)}
    for resource in resources:
        paths.update(operations.paths(resource, names))
    return orjson.dumps(
        {
            "openapi": "3.0.0",
            "info": _INFO,
            "paths": dict(sorted(paths.items())),
            "components": {"schemas": components, "securitySchemes": _BEARER},
        }
    )


_COMMON = ("meta/v1.DeleteOptions", "meta/v1.Patch", "meta/v1.Status", "meta/v1.WatchEvent")


def _kinds(resources: Iterable[Resource]) -> Iterable[tuple[str, str]]:
    for resource in resources:
        own = operations.api_version(resource.group, resource.version)
        yield own, resource.kind
        yield own, f"{resource.kind}List"
        for sub in resource.subresources.values():
            if sub.kind:
                yield operations.body_of(resource, sub)


def _custom_name(group: str, version: str, kind: str) -> str:
    return ".".join([*reversed(group.split(".")), version, kind])


def _custom_schemas(name: str, schema: Obj, group: str, version: str, kind: str) -> Obj:
    reference = {"$ref": schemas.PREFIX + name}
    listed: dict[str, Any] = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": reference},
            "kind": {"type": "string"},
            "metadata": {
                "allOf": [{"$ref": schemas.PREFIX + schemas.name_of("meta/v1.ListMeta")}]
            },
        },
    }
    return {
        name: {**schema, **_named(group, version, kind)},
        f"{name}List": {**listed, **_named(group, version, f"{kind}List")},
        **schemas.collect(["meta/v1.ObjectMeta", "meta/v1.ListMeta"], ()),
    }


def _named(group: str, version: str, kind: str) -> Obj:
    return {
        "x-kubernetes-group-version-kind": [{"group": group, "kind": kind, "version": version}]
    }
