"""The paths of OpenAPI v3: what can be done with each resource, and with which parameters."""

from collections.abc import Iterable, Iterator, Mapping

from jobferry.localkube.apiserver.resource import Resource, Subresource
from jobferry.localkube.apiserver.types import schemas
from jobferry.objects import Obj

Names = Mapping[tuple[str, str], str]
"""The schema of each (apiVersion, kind)."""

_TYPES = {
    "allowWatchBookmarks": "boolean",
    "force": "boolean",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "limit": "integer",
    "orphanDependents": "boolean",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_SELECT = (
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
)
_DELETE = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)
_WRITE = ("dryRun", "fieldManager", "fieldValidation")
_PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
)
_STRATEGIC = "application/strategic-merge-patch+json"

_META = "meta/v1."
_METHODS = {
    "get": "get",
    "update": "put",
    "patch": "patch",
    "delete": "delete",
    "create": "post",
}


def api_version(group: str, version: str) -> str:
    """Return the apiVersion of a group and version."""
    return f"{group}/{version}" if group else version


def body_of(resource: Resource, sub: Subresource) -> tuple[str, str]:
    """Return apiVersion and kind of the bodies of a subresource."""
    if not sub.kind:
        return api_version(resource.group, resource.version), resource.kind
    if sub.version:
        return api_version(sub.group, sub.version), sub.kind
    return api_version(resource.group, resource.version), sub.kind


def summary(resource: Resource) -> list[object]:
    """Return all that the document says of a resource, for comparison."""
    subs = [
        [name, list(sub.verbs), *body_of(resource, sub)]
        for name, sub in sorted(resource.subresources.items())
    ]
    where = [resource.group, resource.version, resource.kind, resource.plural]
    return [*where, resource.namespaced, list(resource.verbs), subs]


def resources_path(group: str, version: str) -> Obj:
    """Return the path that lists the resources of a version."""
    answer = _answers(_ref(_META + "APIResourceList"), ("200",))
    title = f"{_title(group)}{version.capitalize()}"
    return {"get": {"operationId": f"get{title}APIResources", "responses": answer}}


def paths(resource: Resource, names: Names) -> Iterator[tuple[str, Obj]]:
    """Return the paths of a resource and of its subresources."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    base = f"{root}/{resource.version}/"
    inner = (
        f"namespaces/{{namespace}}/{resource.plural}"
        if resource.namespaced
        else resource.plural
    )
    collection, one = base + inner, f"{base}{inner}/{{name}}"
    of_all: tuple[str, ...] = ("namespace",) if resource.namespaced else ()
    own = api_version(resource.group, resource.version), resource.kind
    yield from _path(collection, of_all, _collection(resource, own, names))
    if resource.namespaced and "list" in resource.verbs:
        everywhere = _list(resource, own, names, "ForAllNamespaces")
        yield from _path(base + resource.plural, (), {"get": everywhere})
    verbs = [verb for verb in ("get", "update", "patch", "delete") if verb in resource.verbs]
    yield from _path(one, ("name", *of_all), _item(resource, verbs, own, names, ""))
    for name, sub in resource.subresources.items():
        body = body_of(resource, sub)
        found = _item(resource, sub.verbs, body, names, name.capitalize())
        yield from _path(f"{one}/{name}", ("name", *of_all), found)


def _path(path: str, places: Iterable[str], operations: Obj) -> Iterator[tuple[str, Obj]]:
    if operations:
        parameters = [_parameter(name, "path") for name in places]
        yield path, {**operations, "parameters": [*parameters, _parameter("pretty", "query")]}


def _parameter(name: str, where: str) -> Obj:
    found: Obj = {"name": name, "in": where}
    if where == "path":
        found["required"] = True
    found["schema"] = {"type": _TYPES.get(name, "string"), "uniqueItems": True}
    return found


def _collection(resource: Resource, kind: tuple[str, str], names: Names) -> Obj:
    found: Obj = {}
    if "list" in resource.verbs:
        found["get"] = _list(resource, kind, names, "")
    if "create" in resource.verbs:
        found["post"] = _write(resource, "create", kind, names, "")
    if "deletecollection" in resource.verbs:
        operation = _operation(resource, "deletecollection", kind, "", (*_SELECT, *_DELETE))
        found["delete"] = _deleting(operation, ("200",))
    return found


def _list(resource: Resource, kind: tuple[str, str], names: Names, suffix: str) -> Obj:
    listed = names.get((kind[0], f"{kind[1]}List"), "")
    parameters = ("allowWatchBookmarks", *_SELECT, "watch")
    operation = _operation(resource, "list", kind, suffix, parameters)
    return {**operation, "responses": _answers(_named(listed), ("200",), ";stream=watch")}


def _item(
    resource: Resource, verbs: Iterable[str], kind: tuple[str, str], names: Names, suffix: str
) -> Obj:
    found: Obj = {}
    for verb in verbs:
        if verb == "delete":
            operation = _operation(resource, verb, kind, suffix, _DELETE)
            found["delete"] = _deleting(operation, ("200", "202"))
        elif verb == "get":
            answer = _answers(_named(names.get(kind, "")), ("200",))
            found["get"] = {**_operation(resource, verb, kind, suffix, ()), "responses": answer}
        elif verb in _METHODS:
            found[_METHODS[verb]] = _write(resource, verb, kind, names, suffix)
    return found


def _write(
    resource: Resource, verb: str, kind: tuple[str, str], names: Names, suffix: str
) -> Obj:
    parameters = (*_WRITE, "force") if verb == "patch" else _WRITE
    operation = _operation(resource, verb, kind, suffix, parameters)
    schema = _named(names.get(kind, ""))
    if verb == "patch":
        media = (*_PATCHES, _STRATEGIC) if resource.built_in else _PATCHES
        content = {each: {"schema": _ref(_META + "Patch")} for each in media}
    else:
        content = {"*/*": {"schema": schema}}
    codes = ("200", "201", "202") if verb == "create" else ("200", "201")
    return {
        **operation,
        "requestBody": {"content": content, "required": True},
        "responses": _answers(schema, codes),
    }


def _deleting(operation: Obj, codes: Iterable[str]) -> Obj:
    options = {"content": {"*/*": {"schema": _ref(_META + "DeleteOptions")}}}
    return {
        **operation,
        "requestBody": options,
        "responses": _answers(_ref(_META + "Status"), codes),
    }


_ACTIONS = {"create": "post", "update": "put"}
_WORDS = {"get": "read", "update": "replace", "deletecollection": "delete"}


def _operation(
    resource: Resource,
    verb: str,
    kind: tuple[str, str],
    suffix: str,
    parameters: Iterable[str],
) -> Obj:
    group, _, version = kind[0].rpartition("/")
    where = f"{_title(resource.group)}{resource.version.capitalize()}"
    if verb == "deletecollection":
        where += "Collection"
    scope = "Namespaced" if resource.namespaced and suffix != "ForAllNamespaces" else ""
    name = f"{_WORDS.get(verb, verb)}{where}{scope}{resource.kind}{suffix}"
    found: Obj = {"operationId": name}
    if listed := [_parameter(each, "query") for each in parameters]:
        found["parameters"] = listed
    found["x-kubernetes-action"] = _ACTIONS.get(verb, verb)
    found["x-kubernetes-group-version-kind"] = {
        "group": group,
        "version": version,
        "kind": kind[1],
    }
    return found


def _title(group: str) -> str:
    parts = group.removesuffix(".k8s.io").replace("-", ".").split(".")
    return "".join(part[:1].upper() + part[1:] for part in parts) or "Core"


def _answers(schema: Obj, codes: Iterable[str], stream: str = "") -> Obj:
    content = {"application/json": {"schema": schema}}
    if stream:
        content[f"application/json{stream}"] = {"schema": schema}
    found: Obj = {code: {"description": "OK", "content": content} for code in codes}
    found["401"] = {"description": "Unauthorized"}
    return found


def _ref(name: str) -> Obj:
    return _named(schemas.name_of(name))


def _named(name: str) -> Obj:
    return {"$ref": schemas.PREFIX + name} if name else {"type": "string"}
