"""`format`: values in the places of a text's clauses: %s %d %f %e %x %X %o %b, and %% for itself."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jobferry.localkube.apiserver.crds.cel import standard, values
from jobferry.localkube.apiserver.crds.cel.library import declare
from jobferry.localkube.apiserver.crds.cel.types import Type
from jobferry.localkube.apiserver.crds.cel.values import CelError, Duration, Timestamp
from jobferry.objects.gotext import quote

_CLAUSE = re.compile(r"(?:\.([0-9]*))?([\s\S]?)")
_DEFAULT_PRECISION = 6
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_AS_NUMBERS = ("NaN", "Infinity", "-Infinity")
_TYPES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}

Show = Callable[[int, str, int | None], str]
"""Returns what stands for an argument, given its index, the letter of the clause and its precision."""


class Misfit(CelError):
    """An argument that a clause cannot show."""

    def __init__(self, index: int, words: str) -> None:
        super().__init__(f"error during formatting: {words}")
        self.index = index


class _Verb(NamedTuple):
    kinds: frozenset[str]
    """The types it takes, as they are called at run time."""
    words: str
    show: Callable[[Any, int | None], str]


def rendered(text: str, count: int, show: Show) -> tuple[str, int]:
    """Return a text with `count` arguments put in, and how many of them were used; raises `CelError`."""
    parts: list[str] = []
    used = at = 0
    while (found := text.find("%", at)) >= 0:
        parts.append(text[at:found])
        if text[found + 1 : found + 2] == "%":
            parts.append("%")
            at = found + 2
            continue
        if found + 1 == len(text) and used < count:
            raise CelError("unexpected end of string")
        if used >= count:
            raise CelError(f"index {used} out of range")
        letter, precision, at = _clause(text, found + 1)
        parts.append(show(used, letter, precision))
        used += 1
    return "".join([*parts, text[at:]]), used


def _clause(text: str, at: int) -> tuple[str, int | None, int]:
    found = _CLAUSE.match(text, at)
    assert found is not None  # noqa: S101  # it matches anything
    words = "could not parse formatting clause"
    wrong = f"{words}: error while parsing precision"
    if found[1] is not None and not found[2]:
        raise CelError(f"{wrong}: could not find end of precision specifier")
    if found[1] == "":
        atoi = 'strconv.Atoi: parsing "": invalid syntax'
        raise CelError(f"{wrong}: error while converting precision to integer: {atoi}")
    if found[2] not in VERBS:
        raise CelError(f'{words}: unrecognized formatting clause "{found[2]}"')
    return found[2], None if found[1] is None else int(found[1]), found.end()


def check_type(index: int, letter: str, type_: Type) -> str:
    """Insist, as far as types tell, that a clause can show an argument."""
    name = _TYPES.get(type_.kind, "null_type" if type_.kind == "null" else type_.name)
    verb = VERBS[letter]
    allowed = verb.kinds | ({"string"} if letter in "fe" else set())
    kind = "map" if type_.kind == "struct" else name
    if type_.kind not in ("dyn", "param", "error", "type") and kind not in allowed:
        raise Misfit(index, f"{verb.words}, was given {name}")
    if type_.kind == "type" and "type" not in allowed:
        raise Misfit(index, f"{verb.words}, was given type")
    return ""


def _formatted(text: str, args: list[Any]) -> str:
    def show(index: int, letter: str, precision: int | None) -> str:
        verb, value = VERBS[letter], args[index]
        kind = values.kind_of(value)
        if kind in verb.kinds:
            return verb.show(value, precision)
        if letter in "fe" and kind == "string" and value in _AS_NUMBERS:
            return verb.show(float(value), precision)
        raise Misfit(index, f"{verb.words}, was given {kind}")

    return rendered(text, len(args), show)[0]


def _fixed(number: float, precision: int | None) -> str:
    if not math.isfinite(number):
        return _endless(number)
    return f"{number:,.{_DEFAULT_PRECISION if precision is None else precision}f}"


def _endless(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "∞" if number > 0 else "-∞"


def _scientific(number: float, precision: int | None) -> str:
    # As upstream: what is given as precision counts as width.
    width = _DEFAULT_PRECISION if precision is None else precision
    if not math.isfinite(number):
        return _endless(number).rjust(width)
    mantissa, _, power = f"{number:.6e}".partition("e")
    raised = f"{'-' if power[0] == '-' else ''}{power[1:]}".translate(_RAISED)
    return f"{mantissa}\u00d710{raised}".rjust(width)


def _hexadecimal(value: int | str | bytes, _precision: int | None) -> str:
    if isinstance(value, int):
        return f"{int(value):x}"
    return (value.encode() if isinstance(value, str) else value).hex()


def _shown(value: Any, _precision: int | None = None) -> str:
    match value:
        case None:
            return "null"
        case list():
            return f"[{', '.join(map(_nested, value))}]"
        case dict():
            entries = sorted((_key(key), _nested(each)) for key, each in value.items())
            return "{" + ", ".join(f"{key}:{each}" for key, each in entries) + "}"
        case Type():
            return value.name
    return standard.text_of(value)


def _key(key: Any) -> str:
    if not isinstance(key, str | int):
        kind = values.kind_of(key)
        raise Misfit(0, f"no formatting function for map key of type {kind}")
    return _nested(key)


def _nested(value: Any) -> str:
    match value:
        case str():
            return quote(value)
        case bytes():
            return f"b{quote(_shown(value))}"
        case float():
            return f"{value:.6f}" if math.isfinite(value) else quote(standard.text_of(value))
        case Timestamp():
            return f"timestamp({quote(str(value))})"
        case Duration():
            return f"duration({quote(str(value))})"
    if values.kind_of(value) not in VERBS["s"].kinds:
        raise Misfit(0, f"no formatting function for {values.kind_of(value)}")
    return _shown(value)


_STRING_KINDS = (
    "list", "map", "int", "uint", "double", "bool", "string", "google.protobuf.Timestamp", "bytes",
    "google.protobuf.Duration", "type", "null_type",
)  # fmt: skip
_STRING_WORDS = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types,"
    " durations, and timestamps"
)
_HEX_WORDS = "only integers, byte buffers, and strings can be formatted as hex"
_INTEGERS = frozenset(("int", "uint"))
_HEX_KINDS = _INTEGERS | {"string", "bytes"}
_DOUBLES = frozenset(("double",))
VERBS: Mapping[str, _Verb] = {
    "s": _Verb(frozenset(_STRING_KINDS), _STRING_WORDS, _shown),
    "d": _Verb(
        _INTEGERS, "decimal clause can only be used on integers", lambda n, _: str(int(n))
    ),
    "f": _Verb(_DOUBLES, "fixed-point clause can only be used on doubles", _fixed),
    "e": _Verb(_DOUBLES, "scientific clause can only be used on doubles", _scientific),
    "b": _Verb(
        _INTEGERS | {"bool"},
        "only integers and bools can be formatted as binary",
        lambda n, _: f"{int(n):b}",
    ),
    "x": _Verb(_HEX_KINDS, _HEX_WORDS, _hexadecimal),
    "X": _Verb(_HEX_KINDS, _HEX_WORDS, lambda n, p: _hexadecimal(n, p).upper()),
    "o": _Verb(
        _INTEGERS, "octal clause can only be used on integers", lambda n, _: f"{int(n):o}"
    ),
}
"""The clauses, by their letter."""

declare("format", "string.(list(dyn)) -> string", _formatted)
