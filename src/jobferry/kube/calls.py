"""What is asked of an API server, as plain values: method, path, query, body.

Pure functions, so that every rule about URLs, options and patch types can be read and tested in a table.
`client` sends what they build.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Literal
from urllib.parse import quote, urlencode

from jobferry.errors import BadInput
from jobferry.objects import Obj
from jobferry.objects.resource import Resource

PAGE = 500
"""Objects asked for at a time when listing; what kubectl and client-go ask for too."""

FieldValidation = Literal["Ignore", "Warn", "Strict"]
Propagation = Literal["Background", "Foreground", "Orphan"]


class PatchKind(StrEnum):
    """How an API server applies the body of a patch."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"


class Start(Enum):
    """Where a watch begins, other than at a resourceVersion."""

    INITIAL_EVENTS = "initial events"
    """With everything there is as ADDED events, then a bookmark that says so (WatchList)."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request."""

    method: str
    path: str
    """Percent-encoded, without the query."""

    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    """JSON to send; None sends no body."""

    content_type: str = "application/json"
    accept: str = "application/json"
    is_about_many: bool = False
    """Whether the answer may be longer than one object."""

    @property
    def target(self) -> str:
        """Path and query as they go on the wire."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def is_idempotent(self) -> bool:
        """Whether sending it twice leaves the cluster as sending it once does (RFC 9110)."""
        return self.method in {"GET", "PUT", "DELETE"}

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which objects of a resource a list or watch is about."""

    resource: Resource
    namespace: str | None = None
    """None: every namespace."""

    labels: str = ""
    fields: str = ""
    is_metadata: bool = False
    """Whether nothing but the metadata of the objects is wanted."""

    def accept(self, *, many: bool) -> str:
        """Return the form in which the objects are wanted."""
        return _form(is_metadata=self.is_metadata, many=many)

    def query(self) -> dict[str, str]:
        """Return the selectors as query parameters."""
        return _some(labelSelector=self.labels, fieldSelector=self.fields)


def path(
    resource: Resource,
    name: str | None = None,
    namespace: str | None = None,
    subresource: str | None = None,
) -> str:
    """Return the path of a collection, an object or a subresource."""
    parts = ["apis", resource.group] if resource.group else ["api"]
    parts.append(resource.version)
    if resource.namespaced and namespace is not None:
        parts += ["namespaces", _segment(namespace, "namespace")]
    if name is not None and resource.namespaced and namespace is None:
        raise BadInput(f"{resource} {name!r} needs a namespace")
    parts.append(resource.plural)
    if name is not None:
        parts.append(_segment(name, "name"))
    if subresource is not None:
        parts.append(subresource)
    return "/" + "/".join(parts)


def get(
    resource: Resource,
    name: str,
    namespace: str | None = None,
    *,
    subresource: str | None = None,
    is_metadata: bool = False,
) -> Call:
    """Read one object; `is_metadata`: nothing but its metadata is sent to us."""
    form = _form(is_metadata=is_metadata, many=False)
    return Call("GET", path(resource, name, namespace, subresource), accept=form)


def list_(
    scope: Scope, *, limit: int = PAGE, resume: str = "", resource_version: str = ""
) -> Call:
    """Read one page of a collection; `resume` is the token that the page before gave."""
    query = scope.query() | _some(
        limit=str(limit) if limit else "",
        **{"continue": resume},
        resourceVersion=resource_version,
    )
    collection = path(scope.resource, None, scope.namespace)
    form = scope.accept(many=True)
    return Call("GET", collection, query, accept=form, is_about_many=True)


def watch(scope: Scope, since: str | Start, *, timeout: int) -> Call:
    """Follow the changes of a collection for at most `timeout` seconds."""
    query = scope.query() | {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": str(timeout),
    }
    if since is Start.INITIAL_EVENTS:
        query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    else:
        query["resourceVersion"] = since
    collection = path(scope.resource, None, scope.namespace)
    return Call("GET", collection, query, accept=scope.accept(many=False))


def create(
    resource: Resource,
    obj: Obj,
    *,
    namespace: str | None = None,
    name: str | None = None,
    subresource: str | None = None,
    field_validation: FieldValidation | None = None,
    dry_run: bool = False,
) -> Call:
    """Create an object, or post to a subresource of `name` (an eviction, a binding, a token)."""
    namespace = namespace or obj.get("metadata", {}).get("namespace")
    if resource.namespaced and namespace is None:
        raise BadInput(f"a new object of {resource} needs a namespace")
    return Call(
        "POST",
        path(resource, name, namespace, subresource),
        _write_options(dry_run=dry_run, field_validation=field_validation),
        _typed(resource, obj) if subresource is None else obj,
    )


def update(
    resource: Resource, obj: Obj, *, subresource: str | None = None, dry_run: bool = False
) -> Call:
    """Replace an object whole."""
    meta = obj.get("metadata", {})
    if "name" not in meta:
        raise BadInput(f"an object of {resource} without a name cannot be updated")
    return Call(
        "PUT",
        path(resource, meta["name"], meta.get("namespace"), subresource),
        _write_options(dry_run=dry_run),
        _typed(resource, obj),
    )


def patch(
    resource: Resource,
    name: str,
    body: Any,
    *,
    namespace: str | None = None,
    kind: PatchKind = PatchKind.MERGE,
    subresource: str | None = None,
    dry_run: bool = False,
    field_manager: str | None = None,
    force: bool = False,
) -> Call:
    """Change a part of an object; APPLY needs a `field_manager`, and `force` is its alone."""
    query = _write_options(dry_run=dry_run, field_manager=field_manager)
    if kind is PatchKind.APPLY:
        if field_manager is None:
            raise BadInput("server-side apply needs a field_manager")
        query |= {"force": "true"} if force else {}
    elif force:
        raise BadInput(f"force goes with server-side apply only, not with {kind.name} patches")
    return Call("PATCH", path(resource, name, namespace, subresource), query, body, kind.value)


def delete(
    resource: Resource,
    name: str,
    namespace: str | None = None,
    *,
    propagation: Propagation | None = None,
    uid: str | None = None,
    resource_version: str | None = None,
    grace: int | None = None,
    dry_run: bool = False,
) -> Call:
    """Delete one object; `uid` and `resource_version` are preconditions."""
    options = _delete_options(propagation, grace)
    if preconditions := _some(uid=uid, resourceVersion=resource_version):
        options["preconditions"] = preconditions
    return Call(
        "DELETE",
        path(resource, name, namespace),
        _write_options(dry_run=dry_run),
        options or None,
    )


def delete_collection(
    scope: Scope, *, propagation: Propagation | None = None, grace: int | None = None
) -> Call:
    """Delete every object in `scope`."""
    options = _delete_options(propagation, grace)
    collection = path(scope.resource, None, scope.namespace)
    return Call("DELETE", collection, scope.query(), options or None, is_about_many=True)


def logs(
    resource: Resource,
    name: str,
    namespace: str,
    *,
    container: str | None = None,
    follow: bool = False,
    tail_lines: int | None = None,
    timestamps: bool = False,
) -> Call:
    """Read what a pod's container has printed, as text."""
    query = _some(
        container=container,
        follow="true" if follow else None,
        tailLines=None if tail_lines is None else str(tail_lines),
        timestamps="true" if timestamps else None,
    )
    where = path(resource, name, namespace, "log")
    return Call("GET", where, query, accept="*/*", is_about_many=True)


def raw(absolute_path: str, *, accept: str = "application/json") -> Call:
    """Read any path: /version, /apis, /openapi/v3 …"""
    if not re.fullmatch(r"/[!-~]*", absolute_path):
        raise BadInput(f"{absolute_path!r} is not a path in a URL")
    return Call("GET", absolute_path, accept=accept)


def _form(*, is_metadata: bool, many: bool) -> str:
    if not is_metadata:
        return "application/json"
    form = "PartialObjectMetadataList" if many else "PartialObjectMetadata"
    return f"application/json;as={form};g=meta.k8s.io;v=v1"


def _segment(text: str, what: str) -> str:
    # "." and ".." would be taken for directions by anything that normalises paths.
    if text in {"", ".", ".."} or "/" in text or "%" in text:
        raise BadInput(f"{text!r} cannot be the {what} of an object in a URL")
    return quote(text, safe=":")


def _typed(resource: Resource, obj: Obj) -> Obj:
    """Fill in apiVersion and kind where the object leaves them out."""
    return {"apiVersion": resource.api_version, "kind": resource.kind, **obj}


def _write_options(
    *,
    dry_run: bool,
    field_validation: FieldValidation | None = None,
    field_manager: str | None = None,
) -> dict[str, str]:
    return _some(
        dryRun="All" if dry_run else None,
        fieldValidation=field_validation,
        fieldManager=field_manager,
    )


def _delete_options(propagation: Propagation | None, grace: int | None) -> Obj:
    options: Obj = {}
    if propagation is not None:
        options["propagationPolicy"] = propagation
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    return options


def _some(**options: str | None) -> dict[str, str]:
    """Keep the options that say something."""
    return {name: value for name, value in options.items() if value}
