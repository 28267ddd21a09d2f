"""Ownership of a number of replicas: one field of an object, and another one of its scale subresource."""

from collections.abc import Iterable, Mapping

from jobferry.localkube.apiserver.managed import entries, sets
from jobferry.localkube.apiserver.managed.entries import Entry, Managed
from jobferry.localkube.apiserver.managed.sets import FieldSet
from jobferry.objects import Obj

SCALE_VERSION = "autoscaling/v1"

Places = Mapping[str, str | None]
"""Where the replicas are in each apiVersion of a kind (`spec.replicas`); None: that one has no scale."""

_REPLICAS = sets.of(["spec.replicas"])


def to_scale(managed: Iterable[Obj], places: Places) -> list[Obj] | None:
    """Return the managedFields of a Scale: the entries of those who own the replicas."""
    owners = {
        known: Entry(_REPLICAS, SCALE_VERSION, entry.time)
        for known, entry in entries.trusted(managed).items()
        if _owns(entry, places.get(entry.api_version))
    }
    return entries.written(owners)


def to_parent(
    managed: Iterable[Obj], scale: Iterable[Obj], places: Places, api_version: str
) -> list[Obj] | None:
    """Return the managedFields of an object whose Scale now has the managedFields `scale`."""
    owners = entries.trusted(scale)
    before = entries.trusted(managed)
    result: Managed = {}
    for known, entry in before.items():
        if entry.api_version not in places:
            continue
        place = places[entry.api_version]
        if _owns(entry, place) and owners.pop(known, None) is None:
            entry = entry.owning(sets.difference(entry.fields, _field(place)))  # noqa: PLW2901
        if entry.fields:
            result[known] = entry
    for known, entry in owners.items():
        if _owns(entry, "spec.replicas"):
            # As upstream does: who was not known here, or in another version, gets no time.
            time = before[known].time if known in before else ""
            result[known] = Entry(_field(places[api_version]), api_version, time)
    return entries.written(result)


def _field(place: str | None) -> FieldSet:
    return sets.of([place] if place else [])


def _owns(entry: Entry, place: str | None) -> bool:
    return bool(sets.intersection(entry.fields, _field(place)))
