"""Values that JSON writes as one text or number: read and printed as Go does.

Each reader takes the JSON value and where it is, and returns what Go would print. `Notes` collects what
is wrong: Go goes on after a value of the wrong type, and reports the first; it stops at once where a type
reads its own JSON (`Broken`).
"""

import base64
import binascii
import functools
from collections.abc import Callable
from typing import Any

from jobferry.localkube.apiserver.types import gotime
from jobferry.objects import gotext, quantities

Mark = tuple[str, str]
"""The struct that a field is in, and the name of the field, as Go's errors give them."""

Path = Any
"""Where a value is: None at the top, (outer path, field, Mark), or (outer path, index or key)."""

_LIMIT = 100


class Broken(Exception):
    """Reading ends here."""


class Mismatch(Broken):
    """A value of the wrong type."""

    def __init__(self, value: str, go: str, path: Path, inner: str = "") -> None:
        super().__init__(value, go)
        self.value = value
        self.go = go
        self.field, self.struct = _field_names(path, inner)

    def within(self, path: Path) -> "Mismatch":
        """Return it as seen from outside of a type that reads its own JSON."""
        return Mismatch(self.value, self.go, path, self.field)

    def __str__(self) -> str:
        into = f"struct field {self.struct}.{self.field}" if self.field else "value"
        return f"json: cannot unmarshal {self.value} into Go {into} of type {self.go}"


def _field_names(path: Path, inner: str) -> tuple[str, str]:
    names = [inner] if inner else []
    struct = ""
    while path is not None:
        if len(path) == 3:
            owner, name = path[2]
            names.append(name)
            struct = struct or owner
        path = path[0]
    return ".".join(reversed(names)), struct


def _as_read(_path: Path, value: Any) -> str:
    return number_text(value)


class Notes:
    """What is found on the way through an object."""

    __slots__ = ("in_order", "literal", "mismatch", "strict")

    def __init__(
        self, literal: Callable[[Path, Any], str] | None = None, *, in_order: bool = True
    ) -> None:
        self.strict: dict[str, None] = {}
        self.mismatch: Broken | None = None
        self.literal = literal or _as_read
        """How a number was written."""
        self.in_order = in_order
        """Whether fields are read in the order of the text: only then the notes are as Go has them."""

    def __bool__(self) -> bool:
        return self.mismatch is not None or bool(self.strict)

    def unknown(self, path: Path, key: str) -> None:
        """Note a field that the type does not have."""
        if len(self.strict) < _LIMIT:
            self.strict[f"unknown field {gotext.quote(field_path(path, key))}"] = None

    def wrong(self, value: Any, path: Path, go: str) -> None:
        """Note a value of the wrong type."""
        if self.mismatch is None:
            self.mismatch = Mismatch(json_kind(value), go, path)

    def wrong_number(self, value: Any, path: Path, go: str) -> None:
        """Note a number that does not fit, or what is no number."""
        if self.mismatch is None:
            self.mismatch = self.number_mismatch(value, path, go)

    def number_mismatch(self, value: Any, path: Path, go: str) -> Mismatch:
        """Return why a value is no number of the wanted sort."""
        kind = json_kind(value)
        text = f"number {self.literal(path, value)}" if kind == "number" else kind
        return Mismatch(text, go, path)

    def failed(self, text: str) -> None:
        """Note what else is wrong."""
        if self.mismatch is None:
            self.mismatch = Broken(text)


def field_path(path: Path, key: str) -> str:
    """Return where a field is, as strict decoding says it: `spec.containers[0].foo`."""
    parts = [key]
    while path is not None:
        part = path[1]
        parts.append(f"[{part}]" if isinstance(part, int) else part)
        path = path[0]
    first, *rest = reversed(parts)
    return first + "".join(part if part[:1] == "[" else f".{part}" for part in rest)


def json_kind(value: Any) -> str:
    """Return what Go calls a JSON value that is not null."""
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, list) else "number"


def number_text(value: Any) -> str:
    """Return a number as it was probably written."""
    return str(value)


Reader = Callable[[Any, Path, Notes], Any]


def string(go: str) -> Reader:
    """Make a reader of strings."""

    def read(value: Any, path: Path, notes: Notes) -> Any:
        if type(value) is str:
            return value
        if value is not None:
            notes.wrong(value, path, go)
        return ""

    return read


def boolean(go: str) -> Reader:
    """Make a reader of booleans."""

    def read(value: Any, path: Path, notes: Notes) -> Any:
        if type(value) is bool:
            return value
        if value is not None:
            notes.wrong(value, path, go)
        return False

    return read


def integer(go: str, low: int, high: int) -> Reader:
    """Make a reader of whole numbers within bounds."""

    def read(value: Any, path: Path, notes: Notes) -> Any:
        if type(value) is int and low <= value <= high:
            return value
        if value is not None:
            notes.wrong_number(value, path, go)
        return 0

    return read


def number(value: Any, path: Path, notes: Notes) -> Any:
    """Read a float64."""
    if type(value) is float:
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    if type(value) is int:
        return value
    if value is not None:
        notes.wrong(value, path, "float64")
    return 0


def octets(value: Any, path: Path, notes: Notes) -> Any:
    """Read bytes, which are text in base64, or a list of numbers."""
    if type(value) is str:
        return _base64(value, notes)
    if type(value) is list:
        each = integer("uint8", 0, 255)
        found = bytes(each(item, (path, i), notes) for i, item in enumerate(value))
        return base64.b64encode(found).decode()
    if value is not None:
        notes.wrong(value, path, "[]uint8")
    return None


def _base64(text: str, notes: Notes) -> str:
    stripped = text if text.isprintable() else text.replace("\n", "").replace("\r", "")
    try:
        plain = binascii.a2b_base64(stripped, strict_mode=True)
    except ValueError:
        plain = None
    again = binascii.b2a_base64(plain, newline=False).decode() if plain is not None else ""
    # Python lets some superfluous padding pass.
    if plain is None or len(again) != len(stripped):
        notes.failed(f"illegal base64 data at input byte {_first_bad(text.encode())}")
        return ""
    return text if again == text else again


_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def _first_bad(text: bytes) -> int:
    """Return the position that Go's decoder reports."""
    known = [(at, byte) for at, byte in enumerate(text) if byte not in b"\r\n"]
    for count, (at, byte) in enumerate(known):
        if byte in _ALPHABET:
            continue
        if byte != ord("=") or count % 4 < 2:
            return at
        return _bad_padding(known, count, len(text))
    # The last group is not whole: Go points at where it began, newlines not counted.
    return len(text) - len(known) % 4


def _bad_padding(known: list[tuple[int, int]], count: int, end: int) -> int:
    after = count + 1
    if count % 4 == 2:
        if after == len(known):
            return end
        if known[after][1] != ord("="):
            return known[after][0] - 1
        after += 1
    return known[after][0] if after < len(known) else end


@functools.lru_cache(maxsize=4096)
def canonical_quantity(text: str) -> str:
    """Return a quantity in its canonical form."""
    return str(quantities.parse(text))


def quantity(value: Any, path: Path, notes: Notes) -> Any:
    """Read a quantity; numbers are taken as they are written."""
    if value is None:
        return "0"
    if type(value) is not str:
        value = notes.literal(path, value) if json_kind(value) == "number" else "?"
    try:
        found = canonical_quantity(value)
    except quantities.BadQuantity as error:
        raise Broken(error.reason) from error
    return value if found == value else found


def time(value: Any, path: Path, _notes: Notes) -> Any:
    """Read a point in time."""
    return _time(value, path, gotime.canonical)


def micro_time(value: Any, path: Path, _notes: Notes) -> Any:
    """Read a point in time with microseconds."""
    return _time(value, path, gotime.canonical_micro)


def _time(value: Any, path: Path, canonical: Callable[[str], str | None]) -> str | None:
    if value is None:
        return None
    if type(value) is not str:
        raise Mismatch(json_kind(value), "string", path)
    try:
        return canonical(value)
    except gotime.BadTime as error:
        raise Broken(str(error)) from error


def int_or_string(value: Any, path: Path, notes: Notes) -> Any:
    """Read a number or a text."""
    if type(value) is str or (type(value) is int and -(2**31) <= value < 2**31):
        return value
    if value is None:
        return 0
    raise notes.number_mismatch(value, path, "int32")


def raw(value: Any, _path: Path, _notes: Notes) -> Any:
    """Keep whatever is there."""
    return value
