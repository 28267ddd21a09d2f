"""Points in time as Go reads and prints them: RFC 3339, with seconds or with microseconds."""

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from jobferry.localkube.apiserver.times import Cut
from jobferry.objects.gotext import quote_bytes

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"

# What is printed exactly as it was read. Days after the 28th are left to who knows the calendar.
_PLAIN = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_CANONICAL = re.compile(_PLAIN + "Z").fullmatch
_CANONICAL_MICRO = re.compile(_PLAIN + r"\.[0-9]{6}Z").fullmatch
_ZERO = "0001-01-01T00:00:00"


class BadTime(ValueError):
    """What was given is no point in time, in the words of Go."""


def canonical(text: str) -> str | None:
    """Return a time in UTC with whole seconds; None for the zero time, which is printed as null."""
    nanoseconds = 0
    if not _CANONICAL(text):
        reader = _Reader(text, _LAYOUT)
        text, nanoseconds = _print(reader.read()) + "Z", reader.nanoseconds
    return None if text.startswith(_ZERO) else _cut(text, nanoseconds)


def canonical_micro(text: str) -> str | None:
    """Return a time in UTC with microseconds; None for the zero time, which is printed as null."""
    if not _CANONICAL_MICRO(text):
        moment = _Reader(text, _MICRO_LAYOUT).read()
        text = f"{_print(moment)}.{moment.microsecond:06}Z"
    return None if text == f"{_ZERO}.000000Z" else text


def from_seconds(seconds: int, nanoseconds: int = 0, *, micro: bool = False) -> str | None:
    """Return a time that is given by its distance from 1970."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        raise BadTime("Time.MarshalJSON: year outside of range [0,9999]") from None
    text = _print(moment)
    if micro:
        micros = f"{max(0, min(nanoseconds, 999_999_999)) // 1000:06}"
        return None if text == _ZERO and micros == "000000" else f"{text}.{micros}Z"
    return None if text == _ZERO else _cut(f"{text}Z", nanoseconds)


def _cut(text: str, nanoseconds: int) -> str:
    return Cut(text, nanoseconds) if nanoseconds else text


def _print(moment: datetime) -> str:
    return moment.replace(tzinfo=None, microsecond=0).isoformat()


class _Reader:
    """Goes through a text piece by piece, and says at which piece it went wrong."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.layout = layout
        self.rest = text
        self.nanoseconds = 0
        """What a layout of whole seconds has no place for."""

    def read(self) -> datetime:
        year = self._piece("2006", lambda: self._digits(4, 4))
        self._literal("-")
        month = self._piece("01", lambda: self._digits(2, 2), 1, 12, "month")
        self._literal("-")
        day = self._piece("02", lambda: self._digits(2, 2))
        self._literal("T")
        hour = self._piece("15", lambda: self._digits(1, 2), 0, 23, "hour")
        self._literal(":")
        minute = self._piece("04", lambda: self._digits(2, 2), 0, 59, "minute")
        self._literal(":")
        second = self._piece("05", lambda: self._digits(2, 2), 0, 59, "second")
        micros = self._fraction()
        offset = self._piece("Z07:00", self._zone)
        if self.rest:
            self._refuse(f": extra text: {quote_bytes(self.rest)}")
        if not 1 <= day <= monthrange(year or 4, month)[1]:
            self._refuse(": day out of range")
        return self._made((year, month, day, hour, minute, second, micros), offset)

    def _made(self, parts: tuple[int, ...], offset: int) -> datetime:
        year, month, day, hour, minute, second, micros = parts
        try:
            moment = datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC)
            return moment - timedelta(seconds=offset)
        except (ValueError, OverflowError):
            # Python knows no year 0.
            self._refuse(": year out of range")
            raise

    def _refuse(self, message: str) -> None:
        raise BadTime(f"parsing time {quote_bytes(self.text)}{message}")

    def _bad(self, piece: str, found: str) -> None:
        wanted = f"as {quote_bytes(self.layout)}: cannot parse {quote_bytes(found)} as {quote_bytes(piece)}"
        raise BadTime(f"parsing time {quote_bytes(self.text)} {wanted}")

    def _literal(self, text: str) -> None:
        if not self.rest.startswith(text):
            self._bad(text, self.rest)
        self.rest = self.rest[len(text) :]

    def _piece(
        self,
        piece: str,
        read: Callable[[], int | None],
        low: int = 0,
        high: int = 99999,
        what: str = "",
    ) -> int:
        before = self.rest
        number = read()
        if number is None:
            self._bad(piece, before)
            return 0
        if not low <= number <= high and what:
            self._refuse(f": {what} out of range")
        return number

    def _digits(self, least: int, most: int) -> int | None:
        found = re.match(rf"[0-9]{{{least},{most}}}", self.rest)
        if found is None:
            return None
        self.rest = self.rest[found.end() :]
        return int(found[0])

    def _fraction(self) -> int:
        if self.layout == _MICRO_LAYOUT:
            return self._piece(".000000", self._six_digits)
        found = re.match(r"[.,]([0-9]+)", self.rest)
        if found:
            self.rest = self.rest[found.end() :]
            self.nanoseconds = int(found[1][:9].ljust(9, "0"))
        return 0

    def _six_digits(self) -> int | None:
        found = re.match(r"[.,]([0-9]{6})", self.rest)
        if found is None:
            return None
        self.rest = self.rest[found.end() :]
        return int(found[1])

    def _zone(self) -> int | None:
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return 0
        found = re.match(r"([+-])([0-9]{2}):([0-9]{2})", self.rest)
        if found is None:
            return None
        self.rest = self.rest[found.end() :]
        hours, minutes = int(found[2]), int(found[3])
        if minutes > 60:
            self._refuse(": time zone offset minute out of range")
        if hours > 24:
            self._refuse(": time zone offset hour out of range")
        return (hours * 60 + minutes) * (60 if found[1] == "+" else -60)
