"""Quantities ("500m", "1536Mi", "12e6"): exact values, printed as Kubernetes prints them.

A quantity remembers the family of suffixes it was written with, and prints in its canonical form:
no fraction, and the largest suffix that loses nothing. Anything finer than a nano is rounded away
from zero, so that who asks for a little never gets nothing.
"""

import enum
import re
from dataclasses import dataclass, field, replace
from functools import total_ordering

from jobferry import errors

NANO, MICRO, MILLI = -9, -6, -3
"""Powers of ten, for `Quantity.scaled` and `Quantity.rounded_up`."""

# Kubernetes knows no such limit. It keeps a hostile "1e2000000000" from filling the memory.
_MAX_DIGITS = 1000
_MAX_BINARY = 2**63 - 1
_INT64_DIGITS = 18

_GRAMMAR = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?P<point>\.?)(?P<fraction>[0-9]*)"
    r"(?P<suffix>[eEinumkKMGTP]*[-+]?[0-9]*)"
)
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]{1,10})")

_BAD_FORMAT = (
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_BAD_NUMBER = "unable to parse numeric part of quantity"
_BAD_SUFFIX = "unable to parse quantity's suffix"
_TOO_FAR_APART = "the two are too far apart in size"


class Format(enum.Enum):
    """The family of suffixes that a quantity is printed with."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent: suffix for suffix, exponent in _BINARY.items()}


class BadQuantity(errors.BadInput):
    """What was given is no quantity; `reason` is what an API server would say."""

    hint = 'Write a number with an optional suffix, such as "500m", "2", "1.5Gi" or "12e6".'

    def __init__(self, value: object, reason: str) -> None:
        super().__init__(f"cannot parse '{value}': {reason}")
        self.reason = reason


class OutOfRange(errors.BadInput):
    """A sum that would need an absurd number of digits."""

    hint = "Use quantities of a sensible size."


@total_ordering
@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount, `unscaled * 10**scale`; equal amounts are equal, however written."""

    unscaled: int
    scale: int
    format: Format = field(default=Format.DECIMAL_SI, compare=False)
    written: str | None = field(default=None, compare=False, repr=False)
    """The text it was parsed from, where Kubernetes takes that for canonical and repeats it."""

    def __post_init__(self) -> None:
        unscaled, scale = _reduced(self.unscaled, self.scale)
        object.__setattr__(self, "unscaled", unscaled)
        object.__setattr__(self, "scale", scale)

    def __str__(self) -> str:
        return self.written or _canonical(self)

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def __lt__(self, other: "Quantity") -> bool:
        return _order(self) < _order(other)

    def __add__(self, other: "Quantity") -> "Quantity":
        scale = min(self.scale, other.scale)
        total = _at_scale(self, scale) + _at_scale(other, scale)
        return Quantity(total, scale, self.format if self else other.format)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return self + -other

    def __neg__(self) -> "Quantity":
        return Quantity(-self.unscaled, self.scale, self.format)

    def __mul__(self, times: int) -> "Quantity":
        return Quantity(self.unscaled * times, self.scale, self.format)

    def rounded_up(self, scale: int) -> "Quantity":
        """Return this amount without anything finer than `10**scale`, rounded away from zero."""
        if self.scale >= scale:
            return self
        return Quantity(_rounded_up(self.unscaled, scale - self.scale), scale, self.format)

    def scaled(self, scale: int = 0) -> int:
        """Return how many `10**scale` this amount is, rounded away from zero."""
        return _at_scale(self.rounded_up(scale), scale)


def parse(value: str | int | float | None) -> Quantity:
    """Read a quantity from a JSON value; like API servers, take numbers, and null as zero."""
    match value:
        case None:
            return ZERO
        case bool():
            raise BadQuantity(value, _BAD_FORMAT)
        case str():
            return _parse_text(value.strip(" "))
        case _:
            return _parse_text(str(value))


def _parse_text(text: str) -> Quantity:
    parts = _GRAMMAR.fullmatch(text)
    if not text or parts is None:
        raise BadQuantity(text, _BAD_FORMAT)
    sign, whole, _, fraction, suffix = parts.groups()
    try:
        unscaled, scale, format = _read(whole, fraction, suffix)
    except ValueError as error:
        raise BadQuantity(text, str(error)) from None
    if 
