"""Which resource, and what to do with it: the path and method of a request, as authorisation sees them."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.validation import names
from jobferry.objects import fields

Query = Mapping[str, Sequence[str]]

PROXY = "proxy"
"""A verb that paths may begin with and that nothing serves any more; it knows no subresources."""

BAD_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
"""A text with one of these was not written to be decoded."""

_VERBS = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_VERBS_IN_PATHS = ("watch", PROXY)
_NAMESPACE_SUBRESOURCES = ("status", "finalize")


class Target(NamedTuple):
    """What a request is about. A path outside of any API version is not a resource."""

    verb: str
    path: str
    is_resource: bool = False
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    rest: tuple[str, ...] = ()
    """What follows the subresource in the path."""
    name_in_path: bool = False
    """The name comes from the path, not from a selector."""


def find(method: str, raw_path: str, query: Query) -> Target:
    """Read a path. It is decoded before it is split: an encoded slash is a slash, as for Go."""
    if BAD_ESCAPE.search(raw_path):
        raise status.bad_path()
    path = unquote(raw_path)
    parts, group = _in_group(path.strip("/").split("/"))
    if len(parts) < 2:
        return Target(method.lower(), path)
    version, parts = parts[0], parts[1:]
    verb = _VERBS.get(method, "")
    if parts[0] in _VERBS_IN_PATHS and len(parts) > 1:
        verb, parts = parts[0], parts[1:]
    namespace, parts = _in_namespace(parts)
    resource, name, subresource = [*parts[: 2 if verb == PROXY else 3], "", "", ""][:3]
    named = bool(name)
    if not named and verb == "get":
        verb = "watch" if asks_to_watch(query) else "list"
        name = _selected_name(query)
    if not named and verb == "delete":
        verb = "deletecollection"
    return Target(
        verb=verb,
        path=path,
        is_resource=True,
        group=group,
        version=version,
        resource=resource,
        subresource=subresource,
        namespace=namespace,
        name=name,
        rest=tuple(parts[3:]),
        name_in_path=named,
    )


def query_of(text: str) -> dict[str, list[str]]:
    """Read a query; what Go cannot read of it, it leaves out: wrong escapes, and pairs with a semicolon."""
    found: dict[str, list[str]] = {}
    for pair in text.split("&"):
        if pair and ";" not in pair and not BAD_ESCAPE.search(pair):
            name, _, value = pair.partition("=")
            found.setdefault(unquote_plus(name), []).append(unquote_plus(value))
    return found


def asks_to_watch(query: Query) -> bool:
    """Tell whether `watch` is given and not denied."""
    values = query.get("watch")
    return bool(values) and values is not None and values[0].lower() not in ("false", "0")


def _in_group(parts: list[str]) -> tuple[list[str], str]:
    """Return what follows the API group, and the group; nothing where there is no API."""
    match parts:
        case ["api", _, *_]:
            return parts[1:], ""
        case ["apis", group, _, *_]:
            return parts[2:], group
        case _:
            return [], ""


def _in_namespace(parts: list[str]) -> tuple[str, list[str]]:
    """Return the namespace and what follows it: of a namespace itself, the namespace is part of its path."""
    if parts[0] != "namespaces" or len(parts) < 2:
        return "", parts
    if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
        return parts[1], parts[2:]
    return parts[1], parts


def _selected_name(query: Query) -> str:
    """Return the one name that a field selector asks for: it counts for authorisation."""
    for text in query.get("fieldSelector", ())[:1]:
        try:
            requirements = fields.parse(text).requirements
        except fields.BadSelector:
            return ""
        for each in requirements:
            if each.field == "metadata.name" and not each.negated:
                return "" if names.lookup_problem(each.value) else each.value
    return ""
