"""The places in a JSON schema where there may be a schema or something simpler.

Their types read their own JSON: nothing strict is reported from within, and an error ends it all.
"""

from collections.abc import Callable
from typing import Any

from jobferry.localkube.apiserver.types.leaves import Broken, Mismatch, Notes, Path, Reader

_SCHEMA = "apiextensions/v1.JSONSchemaProps"


def reader(
    name: str, of_struct: Callable[[str], Reader], of_schemas: Callable[[], Reader]
) -> Reader:
    """Return the reader of one of these types."""
    if name.endswith("OrBool"):
        return _or_bool(of_struct)
    if name.endswith("OrStringArray"):
        return _or_list(of_struct, lambda: _strings)
    return _or_list(of_struct, of_schemas)


def _or_bool(of_struct: Callable[[str], Reader]) -> Reader:
    def read(value: Any, path: Path, notes: Notes) -> Any:
        if type(value) is bool:
            return value
        if type(value) is dict:
            return _apart(of_struct(_SCHEMA), value, path, notes)
        raise Broken("boolean or JSON schema expected")

    return read


def _or_list(of_struct: Callable[[str], Reader], of_list: Callable[[], Reader]) -> Reader:
    def read(value: Any, path: Path, notes: Notes) -> Any:
        if type(value) is dict:
            return _apart(of_struct(_SCHEMA), value, path, notes)
        if type(value) is list:
            return _apart(of_list(), value, path, notes) or None
        return None

    return read


def _strings(value: Any, path: Path, notes: Notes) -> Any:
    for index, item in enumerate(value):
        if type(item) is not str and item is not None:
            notes.wrong(item, (path, index), "string")
    return value if None not in value else [item or "" for item in value]


def _apart(read: Reader, value: Any, path: Path, notes: Notes) -> Any:
    """Read with notes of its own; what goes wrong is told from the outside."""
    inner = Notes(lambda _path, number: notes.literal(None, number), in_order=notes.in_order)
    try:
        found = read(value, None, inner)
    except Mismatch as error:
        raise error.within(path) from error
    if isinstance(inner.mismatch, Mismatch):
        raise inner.mismatch.within(path)
    if inner.mismatch is not None:
        raise inner.mismatch
    return found
