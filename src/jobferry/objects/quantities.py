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
from jobferry.objects import gotext

NANO, MILLI = -9, -3
"""Powers of ten, for `Quantity.scaled` and `Quantity.rounded_up`."""

# Kubernetes has no such limit. Ours keeps a hostile "1e2000000000" from filling the memory.
_MAX_DIGITS = 1000
_MAX_BINARY = 2**63 - 1

_SIGN, _WHOLE, _FRACTION = r"([+-]?)", r"([0-9]*+)", r"(?:\.([0-9]*+))?"
_SUFFIX = r"([eEinumkKMGTP]*+[+-]?[0-9]*+)"
_GRAMMAR = re.compile(_SIGN + _WHOLE + _FRACTION + _SUFFIX)

_BAD_FORMAT = (
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_BAD_NUMBER = "unable to parse numeric part of quantity"
_BAD_SUFFIX = "unable to parse quantity's suffix"


class Format(enum.Enum):
    """The family of suffixes that a quantity is printed with."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


_POWERS_OF_TEN = dict(zip(("n", "u", "m", "", *"kMGTPE"), range(-9, 19, 3), strict=True))
_POWERS_OF_TWO = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _POWERS_OF_TEN.items()}
_BINARY_SUFFIXES = {power: suffix for suffix, power in _POWERS_OF_TWO.items()}


class BadQuantity(errors.BadInput):
    """What was given is no quantity; `reason` is what an API server would say."""

    hint = 'Write a number with an optional suffix, such as "500m", "2", "1.5Gi" or "12e6".'

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"cannot parse '{text}': {reason}")
        self.reason = reason


class OutOfRange(errors.BadInput):
    """The exact result would have an absurd number of digits."""

    hint = "Use quantities of a sensible size."


@total_ordering
@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount, `unscaled * 10**scale`; equal amounts are equal, however written."""

    unscaled: int
    scale: int = 0
    format: Format = field(default=Format.DECIMAL_SI, compare=False)
    written: str | None = field(default=None, compare=False, repr=False)
    """The text it was read from, where Kubernetes takes that for canonical and repeats it."""

    def __post_init__(self) -> None:
        unscaled, scale = self.unscaled, self.scale if self.unscaled else 0
        # Factors of ten belong to the scale: so each amount has exactly one form.
        if unscaled and unscaled % 10 == 0:
            digits = str(unscaled)
            significant = digits.rstrip("0")
            unscaled, scale = int(significant), scale + len(digits) - len(significant)
        object.__setattr__(self, "unscaled", unscaled)
        object.__setattr__(self, "scale", scale)

    def __str__(self) -> str:
        return self.written or _canonical(self)

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def __lt__(self, other: "Quantity") -> bool:
        ours, theirs = _magnitude(self), _magnitude(other)
        if ours != theirs:
            return ours < theirs
        # Equal magnitudes: the scales differ by no more than the digits that are there anyway.
        gap = self.scale - other.scale
        return _padded(self.unscaled, gap) < _padded(other.unscaled, -gap)

    def __add__(self, other: "Quantity") -> "Quantity":
        scale = min((quantity.scale for quantity in (self, other) if quantity), default=0)
        total = _at_scale(self, scale) + _at_scale(other, scale)
        return Quantity(total, scale, self.format if self else other.format)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return self + other * -1

    def __mul__(self, times: int) -> "Quantity":
        return Quantity(self.unscaled * times, self.scale, self.format)

    def rounded_up(self, scale: int) -> "Quantity":
        """Return this amount without anything finer than `10**scale`, rounded away from zero."""
        if self.scale >= scale:
            return self
        size = abs(self.unscaled)
        # More places than there are digits leave nothing but the one we round up to.
        rounded = -(-size // _padded(1, min(scale - self.scale, len(str(size)))))
        return Quantity(rounded if self.unscaled > 0 else -rounded, scale, self.format)

    def scaled(self, scale: int = 0) -> int:
        """Return how many `10**scale` this amount is, rounded away from zero."""
        return _at_scale(self.rounded_up(scale), scale)


ZERO = Quantity(0)


def parse(value: str | int | float | None) -> Quantity:
    """Read a quantity from a JSON value; like API servers, take numbers, and null as zero."""
    if value is None:
        return ZERO
    return _parse_text(value.strip(" ") if isinstance(value, str) else str(value))


def _parse_text(text: str) -> Quantity:
    parts = _GRAMMAR.fullmatch(text)
    if not text or parts is None:
        raise BadQuantity(text, _BAD_FORMAT)
    sign, whole, fraction, suffix = parts.groups("")
    format, power = _family(text, suffix)
    digits = (whole.lstrip("0") or "0") + fraction
    short = _is_short(digits, fraction, format, power)
    # Kubernetes takes a bare "Ki" or "." for zero, though only if the suffix leaves it short.
    if len(digits) > _MAX_DIGITS or not (short or whole or fraction):
        raise BadQuantity(text, _BAD_NUMBER)
    unscaled, scale = int(sign + digits), power - len(fraction)
    if format is Format.BINARY_SI:
        canonical = short and unscaled % 8 != 0
        return _binary(unscaled << power, len(fraction), text if canonical else None)
    canonical = short and scale % 3 == 0 and digits[0] != "0" and not digits.endswith("000")
    return Quantity(unscaled, scale, format, text if canonical else None).rounded_up(NANO)


def _family(text: str, suffix: str) -> tuple[Format, int]:
    """Return the family that a suffix belongs to, and the power (of two or ten) it stands for."""
    if suffix in _POWERS_OF_TEN:
        return Format.DECIMAL_SI, _POWERS_OF_TEN[suffix]
    if suffix in _POWERS_OF_TWO:
        return Format.BINARY_SI, _POWERS_OF_TWO[suffix]
    exponent = gotext.parse_int(suffix[1:]) if suffix[0] in "eE" else None
    # Kubernetes drops all but the lowest 32 bits of an exponent; rather no value than a wrong one.
    if exponent is None or not -(2**31) <= exponent < 2**31:
        raise BadQuantity(text, _BAD_SUFFIX)
    return Format.DECIMAL_EXPONENT, exponent


def _is_short(digits: str, fraction: str, format: Format, power: int) -> bool:
    """Tell whether Kubernetes holds the number in an int64, and so may repeat it as written."""
    if format is Format.BINARY_SI:
        return not fraction and len(digits) <= 14 - power * 3 // 10
    return len(digits) <= 18 and power - len(fraction) >= NANO


def _binary(unscaled: int, places: int, written: str | None) -> Quantity:
    if abs(unscaled) > _padded(_MAX_BINARY, places):
        return Quantity(_MAX_BINARY if unscaled > 0 else -_MAX_BINARY, 0, Format.BINARY_SI)
    quantity = Quantity(unscaled, -places, Format.BINARY_SI, written).rounded_up(NANO)
    is_below_one = abs(quantity.unscaled) < _padded(1, -quantity.scale)
    return replace(quantity, format=Format.DECIMAL_SI) if is_below_one else quantity


def _canonical(quantity: Quantity) -> str:
    if not quantity:
        return "0"
    unscaled, scale = quantity.unscaled, quantity.scale
    if quantity.format is Format.BINARY_SI and scale >= 0:
        value = _padded(unscaled, scale)
        if abs(value) >= 1024:
            return _canonical_binary(value)
    number, power = _padded(unscaled, scale % 3), scale - scale % 3
    if quantity.format is Format.DECIMAL_EXPONENT:
        return f"{number}e{power}" if power else str(number)
    # Kubernetes has no suffix above E, and prints none: 1000E comes out as 1.
    return f"{number}{_DECIMAL_SUFFIXES.get(power, '')}"


def _canonical_binary(value: int) -> str:
    power = 0
    while value % 1024 == 0:
        value, power = value // 1024, power + 10
    return f"{value}{_BINARY_SUFFIXES.get(power, '')}"


def _magnitude(quantity: Quantity) -> tuple[int, int]:
    """Return what orders two amounts without writing out their zeros, unless they are close."""
    sign = (quantity.unscaled > 0) - (quantity.unscaled < 0)
    return sign, sign * (len(str(abs(quantity.unscaled))) + quantity.scale)


def _at_scale(quantity: Quantity, scale: int) -> int:
    zeros = quantity.scale - scale if quantity else 0
    if zeros > _MAX_DIGITS:
        raise OutOfRange(f"cannot compute with {quantity}: too many digits")
    return _padded(quantity.unscaled, zeros)


def _padded(number: int, zeros: int) -> int:
    return number * int(10**zeros) if zeros > 0 else number
