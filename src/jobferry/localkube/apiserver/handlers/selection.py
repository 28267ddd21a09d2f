"""Which objects a list or a watch is about."""

from collections.abc import Callable, Iterable

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.handlers import pacing, rendering
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.requests.options import ListOptions
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.objects import Obj, fields

Matches = Callable[[Obj], bool]

_ALWAYS = frozenset({"metadata.name", "metadata.namespace"})


def matcher(resource: Resource, options: ListOptions) -> Matches | None:
    """Return what tells selected objects from others; None when all are selected."""
    _check_fields(resource, options.fields)
    if not options.is_selective:
        return None
    by_label, by_field = options.labels, options.fields
    strategy = resource.strategy
    only_names = {each.field for each in by_field.requirements} <= _ALWAYS

    def matches(obj: Obj) -> bool:
        metadata = obj["metadata"]
        if by_label.requirements and not by_label.matches(metadata.get("labels") or {}):
            return False
        if not by_field.requirements:
            return True
        own = {
            "metadata.name": metadata["name"],
            "metadata.namespace": metadata.get("namespace", ""),
        }
        if not only_names:
            own.update(strategy.fields(obj))
        return by_field.matches(own)

    return matches


async def selected(
    backend: Backend,
    resource: Resource,
    entries: Iterable[Entry],
    matches: Matches,
    done: pacing.Slice,
) -> list[Entry]:
    """Return those that are selected; others have turns meanwhile."""
    found: list[Entry] = []
    for entry in entries:
        size = len(entry.value)
        if resource.load:
            obj = await pacing.computed(backend, size, rendering.current, resource, entry)
        else:
            obj = rendering.current(resource, entry)
        if matches(obj):
            found.append(entry)
        if done.is_full(size):
            await pacing.others()
    return found


def exact_name(selector: fields.Selector) -> str | None:
    """Return the one name that a selector asks for."""
    return _exact(selector, "metadata.name")


def exact_namespace(selector: fields.Selector) -> str | None:
    """Return the one namespace that a selector asks for."""
    return _exact(selector, "metadata.namespace")


def _exact(selector: fields.Selector, name: str) -> str | None:
    for each in selector.requirements:
        if each.field == name and not each.negated:
            return each.value
    return None


def _check_fields(resource: Resource, selector: fields.Selector) -> None:
    known = _ALWAYS | resource.strategy.field_names
    for each in selector.requirements:
        if each.field not in known:
            raise status.bad_request(resource.strategy.unknown_field.format(each.field))
