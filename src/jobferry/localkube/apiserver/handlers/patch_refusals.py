"""Patches that make something else than an object of the kind: what is said, and what is shown of them."""

from collections.abc import Callable
from typing import Any

import orjson

from jobferry.localkube.apiserver import problems, status
from jobferry.localkube.apiserver.handlers import rendering
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.types import conversion, tables
from jobferry.objects import Obj, govalues, merge_patch

_ORDER = "$setElementOrder/"
_RETAIN_KEYS = "$retainKeys"


def refused(shown: str, why: str) -> status.StatusError:
    """Refuse a patch, or an object that was patched."""
    return status.invalid("", "", "", [problems.invalid("patch", shown, why)])


def not_applied(
    resource: Resource, config: Obj, merged: Obj, error: status.StatusError
) -> status.StatusError:
    """Refuse a configuration that fits the schema, but holds a text that cannot be read."""
    named = config.get("metadata") or {}
    where = f"{named.get('namespace') or ''}/{named.get('name') or ''}"
    kind = f"{resource.group}/{resource.version}, Kind={resource.kind}"
    why = conversion.misfit(resource.api_version, resource.kind, merged)
    why = why or words_of(resource, error)
    return status.StatusError(
        500,
        "",
        f"failed to convert new object ({where}; {kind}) to proper version: "
        f"unable to convert unstructured object to {kind}: {why}",
    )


def patch_text(patch: Any, live: Obj) -> str:
    """Return a strategic patch as Go prints what merging it into an object has left of it.

    Directives about lists are used up, and so are nulls within what the object did not have.
    """
    return govalues.text(_used_up(patch, live))


def _used_up(patch: Any, live: Any) -> Any:
    if type(patch) is not type(live):
        patch = merge_patch.without_nulls(patch)
    if not isinstance(patch, dict):
        return patch
    ordered = {name for name in patch if name.startswith(_ORDER)}
    gone = {*ordered, *(name.removeprefix(_ORDER) for name in ordered), _RETAIN_KEYS}
    beside = live if isinstance(live, dict) else patch
    return {
        name: _used_up(value, beside.get(name))
        for name, value in patch.items()
        if name not in gone
    }


def patched_text(resource: Resource, entry: Entry, change: Callable[[Obj], Any]) -> str:
    """Return a patched object as Go writes it: fields in their order, but by name where they changed."""
    if tables.type_of(resource.api_version, resource.kind) is None:
        patched = change(rendering.private(resource, entry))
        return orjson.dumps(patched, option=orjson.OPT_SORT_KEYS).decode()
    before = resource.codec.decode(rendering.private(resource, entry)).obj
    patched = change(resource.codec.decode(rendering.private(resource, entry)).obj)
    return orjson.dumps(_rewritten(before, patched)).decode()


def first(resource: Resource, shown: str) -> str:
    """Return the first type error in an object as it is shown: there may be several; none, if it has none."""
    try:
        resource.codec.decode(orjson.loads(shown), shown.encode())
    except status.StatusError as error:
        return words_of(resource, error)
    return ""


def words_of(resource: Resource, error: status.StatusError) -> str:
    """Return what a codec found wrong, without the object that it found it in."""
    return str(error).partition(f" cannot be handled as a {resource.kind}: ")[2] or str(error)


def _rewritten(before: Any, after: Any) -> Any:
    if not isinstance(after, dict) or before == after:
        return after
    known = before if isinstance(before, dict) else {}
    return {name: _rewritten(known.get(name), after[name]) for name in sorted(after)}
