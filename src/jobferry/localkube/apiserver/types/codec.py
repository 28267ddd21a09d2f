"""Objects as Go reads them into a struct and prints them again.

Unknown fields are dropped and reported, null and empty values are dropped or printed as Go does, fields
come in Go's order, quantities and times in their canonical form. One reader is compiled per type.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from jobferry.localkube.apiserver import shapes, status
from jobferry.localkube.apiserver.types import literals, readers, shaping, tables
from jobferry.localkube.apiserver.types.leaves import Broken, Notes
from jobferry.objects import Obj


class Decoded(NamedTuple):
    """An object as its type knows it, and what a strict reader finds wrong with how it was written."""

    obj: Obj
    strict: Sequence[str] = ()


class BuiltIn:
    """The codec of one built-in kind."""

    def __init__(self, api_version: str, kind: str) -> None:
        self._api_version = api_version
        self._kind = kind

    def decode(self, parsed: Obj, body: bytes | None = None) -> Decoded:
        """Return what the type knows of an object, or raise a StatusError (400)."""
        return decode(self._api_version, self._kind, parsed, body)

    @functools.cached_property
    def shape(self) -> shapes.Shape:
        """How its fields are owned and merged."""
        return shaping.shape_of(self._api_version, self._kind)


def decode(api_version: str, kind: str, parsed: Any, body: bytes | None = None) -> Decoded:
    """Return what the type of a kind knows of an object, or raise a StatusError (400).

    `parsed` is not changed, but parts of it are in the result. With `body`, the JSON text, numbers are
    quoted in errors, and read as quantities, exactly as they were written.
    """
    struct = tables.type_of(api_version, kind)
    if struct is None:
        raise LookupError(f"{kind} of {api_version} is not in the tables")
    found, notes = _read(struct.name, parsed, body, in_order=False)
    if notes:
        found, notes = _read(struct.name, parsed, body, in_order=True)
    if notes.mismatch is not None:
        version = api_version.rpartition("/")[2]
        about = f'{kind} in version "{version}" cannot be handled as a {kind}'
        raise status.bad_request(f"{about}: {notes.mismatch}")
    return Decoded(_titled(found, api_version, kind), list(notes.strict))


def _read(name: str, parsed: Any, body: bytes | None, *, in_order: bool) -> tuple[Any, Notes]:
    literal = literals.Finder(body) if body is not None else None
    notes = Notes(literal, in_order=in_order)
    try:
        return readers.of_struct(name)(parsed, None, notes), notes
    except Broken as error:
        notes.mismatch = error
        return None, notes


def _titled(obj: Obj, api_version: str, kind: str) -> Obj:
    if obj.get("kind") == kind and obj.get("apiVersion") == api_version:
        return obj
    title = {"kind": kind, "apiVersion": api_version}
    return {**title, **obj, **title}
