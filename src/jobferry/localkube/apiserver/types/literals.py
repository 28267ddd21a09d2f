"""Numbers as they were written: JSON readers give values, but Go quotes and reads the text."""

import functools
import json
from typing import Any

from jobferry.localkube.apiserver.types.leaves import Path, number_text


class Finder:
    """Finds the text of a number at a place in a body, which is parsed on first need."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __call__(self, path: Path, value: Any) -> str:
        """Return how the number at `path` was written."""
        try:
            found = _at(self._written, path)
        except (ValueError, LookupError, TypeError, RecursionError):
            return number_text(value)
        return str(found) if isinstance(found, _Text) else number_text(value)

    @functools.cached_property
    def _written(self) -> Any:
        return json.loads(self._body, parse_float=_Text, parse_int=_Text, parse_constant=_Text)


class _Text(str):
    """The text of a number."""


def _at(value: Any, path: Path) -> Any:
    if path is None:
        return value
    return _at(value, path[0])[path[1]]
