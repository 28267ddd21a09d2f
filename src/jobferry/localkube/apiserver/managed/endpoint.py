"""Where objects are written: what is the same for all writes of a kind by one way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import orjson

from jobferry.localkube.apiserver.managed import sets
from jobferry.localkube.apiserver.managed.entries import Managed
from jobferry.localkube.apiserver.managed.footprints import realigned
from jobferry.localkube.apiserver.managed.path_steps import Misfit
from jobferry.localkube.apiserver.managed.sets import FieldSet
from jobferry.localkube.apiserver.shapes import Shape


class UnknownVersion(Misfit):
    """An entry of a version that a custom resource no longer has."""


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A resource in one version, or a subresource of it."""

    api_version: str
    kind: str
    shape: Shape
    subresource: str = ""
    reset: tuple[str, ...] = ()
    """The (dotted) fields that this endpoint ignores: nobody comes to own them, or what is below, by it."""
    zero: Mapping[str, object] = field(default_factory=dict)
    """An empty object of the kind, as Go writes it: structs that are no pointers are there even so."""
    versions: frozenset[str] = frozenset()
    """The other apiVersions of the kind, with the same fields; entries of any further one are dropped."""
    custom: bool = False
    """It is a custom resource: upstream cannot go on where an entry is of a version that is no more."""

    @cached_property
    def ignored(self) -> FieldSet:
        """The fields to reset, as a set."""
        return sets.of(self.reset)

    def knows(self, api_version: str) -> bool:
        """Tell whether entries of a version still mean something."""
        return api_version == self.api_version or api_version in self.versions


def aligned(endpoint: Endpoint, managed: Managed) -> Managed:
    """Return the entries that still mean something, as they fit the shape that the kind has now."""
    result = {}
    for known, entry in managed.items():
        if not endpoint.knows(entry.api_version):
            if endpoint.custom:
                raise UnknownVersion(
                    f"request to convert CR to an invalid group/version: {entry.api_version}"
                )
            continue
        if not _fits(endpoint.shape, orjson.dumps(entry.fields)):
            entry = entry.owning(realigned(endpoint.shape, entry.fields))  # noqa: PLW2901
        result[known] = entry
    return result


@lru_cache(maxsize=1024)
def _fits(shape: Shape, text: bytes) -> bool:
    fields: FieldSet = orjson.loads(text)
    return realigned(shape, fields) is fields
