"""Semantic versions: `semver` and what can be asked of one."""

import re

from jobferry.localkube.apiserver.crds.cel.library import declare
from jobferry.localkube.apiserver.crds.cel.values import CelError, Semver
from jobferry.objects.gotext import quote

_ALPHANUMERIC = re.compile("[A-Za-z0-9-]*")
_DIGITS = re.compile("[0-9]*")


def _number(text: str) -> int:
    if not text or int(text) >= 2**64:
        why = "value out of range" if text else "invalid syntax"
        raise CelError(f"strconv.ParseUint: parsing {quote(text)}: {why}")
    return int(text)


def _part(name: str, text: str) -> int:
    if not _DIGITS.fullmatch(text):
        raise CelError(f"Invalid character(s) found in {name} number {quote(text)}")
    if len(text) > 1 and text.startswith("0"):
        words = f"{name.capitalize()} number must not contain leading zeroes {quote(text)}"
        raise CelError(words)
    return _number(text)


def _before(text: str) -> tuple[int, int, str]:
    """Return a part of a pre-release: numbers come before texts."""
    if not text:
        raise CelError("Prerelease is empty")
    if not _DIGITS.fullmatch(text):
        if not _ALPHANUMERIC.fullmatch(text):
            raise CelError(f"Invalid character(s) found in prerelease {quote(text)}")
        return 1, 0, text
    if len(text) > 1 and text.startswith("0"):
        words = "Numeric PreRelease version must not contain leading zeroes"
        raise CelError(f"{words} {quote(text)}")
    return 0, _number(text), ""


def parse(text: str, lenient: bool = False) -> Semver:
    """Read a version; a lenient reader takes `v1.02`, too. Raises `CelError`."""
    if lenient:
        text = _normalized(text)
    if not text:
        raise CelError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise CelError("No Major.Minor.Patch elements found")
    major, minor = _part("major", parts[0]), _part("minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    patch, dash, before = rest.partition("-")
    numbers = (major, minor, _part("patch", patch))
    earlier = tuple(map(_before, before.split("."))) if dash else ()
    for each in build.split(".") if plus else ():
        if not each:
            raise CelError("Build meta data is empty")
        if not _ALPHANUMERIC.fullmatch(each):
            raise CelError(f"Invalid character(s) found in build meta data {quote(each)}")
    return Semver(numbers, earlier)


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            plain = part.lstrip("0")
            parts[index] = plain if _DIGITS.fullmatch(plain[:1]) and plain else f"0{plain}"
    if len(parts) < 3:
        if re.search("[+-]", parts[-1]):
            raise CelError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _is_version(text: str, lenient: bool = False) -> bool:
    try:
        parse(text, lenient)
    except CelError:
        return False
    return True


def _compare(one: Semver, other: Semver) -> int:
    return int(one.rank() > other.rank()) - int(one.rank() < other.rank())


declare("semver", "string -> Semver", parse)
declare("semver", "string, bool -> Semver", parse)
declare("isSemver", "string -> bool", _is_version)
declare("isSemver", "string, bool -> bool", _is_version)
declare("isGreaterThan", "Semver.(Semver) -> bool", lambda a, b: a.rank() > b.rank())
declare("isLessThan", "Semver.(Semver) -> bool", lambda a, b: a.rank() < b.rank())
declare("compareTo", "Semver.(Semver) -> int", _compare)
for _index, _name in enumerate(("major", "minor", "patch")):
    declare(_name, "Semver.() -> int", lambda version, i=_index: version.numbers[i])
