"""What is wrong with a field, in the words of an API server (its `field.Error`)."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from jobferry.objects import Obj, govalues
from jobferry.objects.gotext import quote

# Go's JSON is safe inside HTML: "\u003cno value\u003e".
_HTML = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"})


class Named(str):
    """A text that in Go is pointed to, or has a type of its own: it is shown as JSON, not quoted."""

    __slots__ = ()


class Problem(NamedTuple):
    """One thing that is wrong: a cause in the `details` of a Status."""

    reason: str
    field: str
    body: str
    """What is wrong, without the field."""

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    def cause(self) -> Obj:
        """Return it as `details.causes` lists it."""
        return {"reason": self.reason, "message": self.body, "field": self.field}


def invalid(field: str, value: Any, detail: str) -> Problem:
    """Report a value that breaks a rule."""
    return _about("FieldValueInvalid", "Invalid value", field, value, detail)


def invalid_here(field: str, detail: str) -> Problem:
    """Report a broken rule without showing the value."""
    return Problem("FieldValueInvalid", field, f"Invalid value: {detail}")


def wrong_type(field: str, value: Any, detail: str) -> Problem:
    """Report a value of the wrong type."""
    return _about("FieldValueTypeInvalid", "Invalid value", field, value, detail)


def required(field: str, detail: str = "") -> Problem:
    """Report a value that is missing."""
    return Problem("FieldValueRequired", field, _joined("Required value", detail))


def forbidden(field: str, detail: str) -> Problem:
    """Report a value that must not be there."""
    return Problem("FieldValueForbidden", field, _joined("Forbidden", detail))


def not_supported(field: str, value: Any, supported: Iterable[str]) -> Problem:
    """Report a value that is not one of those known; they are listed in the order given."""
    known = ", ".join(map(quote, supported))
    detail = f"supported values: {known}" if known else ""
    return _about("FieldValueNotSupported", "Unsupported value", field, value, detail)


def not_in_enum(field: str, value: str, supported: Iterable[str]) -> Problem:
    """Report a value that its enumeration does not have, which in Go is a type of its own."""
    return not_supported(field, Named(value), supported)


def not_found(field: str, value: Any) -> Problem:
    """Report a value that refers to nothing."""
    return _about("FieldValueNotFound", "Not found", field, value)


def duplicate(field: str, value: Any) -> Problem:
    """Report a value that is there twice."""
    return _about("FieldValueDuplicate", "Duplicate value", field, value)


def too_long(field: str, limit: int) -> Problem:
    """Report a text of more than `limit` bytes."""
    return Problem("FieldValueTooLong", field, f"Too long: may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> Problem:
    """Report a list of more than `limit` items."""
    items = "item" if limit == 1 else "items"
    return _about(
        "FieldValueTooMany", "Too many", field, count, f"must have at most {limit} {items}"
    )


def summary(problems: Sequence[Problem]) -> str:
    """Say them all in one line; what is said twice is said once."""
    distinct = list(dict.fromkeys(map(str, problems)))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _about(reason: str, what: str, field: str, value: Any, detail: str = "") -> Problem:
    return Problem(reason, field, _joined(f"{what}: {_shown(value)}", detail))


def _joined(text: str, detail: str) -> str:
    return f"{text}: {detail}" if detail else text


def _shown(value: Any) -> str:
    if isinstance(value, str) and not isinstance(value, Named):
        return quote(value)
    if isinstance(value, float):
        return govalues.text(value)
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode().translate(_HTML)
