"""Numbers as they were written: JSON readers give values, but Go quotes and reads the text."""

import functools
import json
from collections.abc import Callable
from typing import Any

from jobferry.localkube.apiserver.types.leaves import Path, number_text


def finder(body: bytes) -> Callable[[Path, Any], str]:
    """Return what finds the text of a number at a place in `body`, which is parsed on first need."""

    @functools.cache
    def written() -> Any:
        return json.loads(body, parse_float=_Text, parse_int=_Text, parse_constant=_Text)

    def find(path: Path, value: Any) -> str:
        try:
            found = _at(written(), path)
        except (ValueError, LookupError, TypeError, RecursionError):
            return number_text(value)
        return str(found) if isinstance(found, _Text) else number_text(value)

    return find


class _Text(str):
    """The text of a number."""


def _at(value: Any, path: Path) -> Any:
    if path is None:
        return value
    return _at(value, path[0])[path[1]]
