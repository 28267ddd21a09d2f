"""Regular expressions as Go writes them, for Python's engine.

Both find the leftmost match and prefer earlier alternatives, so a pattern means the same once its syntax is
translated. What Go refuses is refused in Go's words; what only Python cannot say raises `Untranslatable`.
`linear` runs them.
"""

import re
import sys
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

from jobferry import errors

if TYPE_CHECKING:
    from jobferry.localkube.apiserver.crds.linear import Expression

MOST_REPEATS = 1000

_CLASSES = {
    "d": "0-9",
    "w": "0-9A-Za-z_",
    "s": r"\t\n\f\r ",
}
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7F",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1F\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_SIMPLE_ESCAPES = {"a": r"\x07", "f": r"\f", "n": r"\n", "r": r"\r", "t": r"\t", "v": r"\v"}
_ASSERTIONS = {"A": r"\A", "z": r"\Z", "b": r"(?a:\b)", "B": r"(?:(?a:\B)|\A\Z)"}


class BadPattern(errors.BadInput):
    """What was given is no regular expression, in the words of Go."""

    hint = "Write a regular expression in the syntax of RE2."


class Untranslatable(errors.BadInput):
    """A regular expression that Go would take, and this server cannot."""

    hint = "Write it without the construct named."


class _OtherPython(Exception):
    """The private parts of `re` are not those that we know."""


def _bad(code: str, what: str) -> BadPattern:
    return BadPattern(f"error parsing regexp: {code}: `{what}`")


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> "Expression":
    """Return a Go pattern, ready for use; raises `BadPattern` or `Untranslatable`."""
    text = _Translator(pattern).whole()
    try:
        return _expression(text)
    except (re.error, OverflowError, RecursionError, ValueError, _OtherPython) as error:
        raise Untranslatable(
            f"this server cannot evaluate the regular expression: {error}"
        ) from error


def _expression(text: str) -> "Expression":
    """Make it ready; a Python in which `re` has other private parts than those that `linear` knows has no patterns."""
    try:
        from jobferry.localkube.apiserver.crds.linear import Expression  # noqa: PLC0415 (may fail)

        return Expression(text)
    except (ImportError, AttributeError, TypeError) as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise _OtherPython(f"not known with Python {version} ({error})") from error


def problem(pattern: str) -> str | None:
    """Say why a pattern cannot be used, or return None."""
    try:
        compiled(pattern)
    except (BadPattern, Untranslatable) as error:
        return str(error)
    return None


@lru_cache(maxsize=64)
def _category(name: str) -> str:
    """Return the members of a Unicode category as the inside of a character class."""
    ranges: list[tuple[int, int]] = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)).startswith(name):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1] = (ranges[-1][0], code)
            else:
                ranges.append((code, code))
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


class _Translator:
    """Reads a Go pattern once, from left to right, and writes Python's."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.names: set[str] = set()
        self.ungreedy = False
        self.lines = False
        """Whether ^ and $ are about lines."""

    def whole(self) -> str:
        text = self.alternatives()
        if self.at < len(self.pattern):
            raise _bad("unexpected )", self.pattern)
        return text

    def peek(self, count: int = 1) -> str:
        return self.pattern[self.at : self.at + count]

    def take(self, count: int = 1) -> str:
        taken = self.peek(count)
        self.at += count
        return taken

    def alternatives(self) -> str:
        """Read up to the end of a group; a flag in its middle counts for the rest of it."""
        written: list[str] = []
        # Python sets flags for a group only: open one, in each of the alternatives to come.
        opened: list[str] = []
        outer = self.ungreedy, self.lines
        while self.at < len(self.pattern) and self.peek() != ")":
            if self.peek() == "|":
                written += [")" * len(opened), self.take(), *opened]
            elif (flags := self.bare_flags()) is None:
                written.append(self.repeated())
            elif flags:
                opened.append(f"(?{flags}:")
                written.append(opened[-1])
        self.ungreedy, self.lines = outer
        return "".join(written) + ")" * len(opened)

    def bare_flags(self) -> str | None:
        found = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?\)").match(self.pattern, self.at)
        if not found or found[0] == "(?)":
            return None
        self.at = found.end()
        return self.flags(found[1], found[2] or "")

    def flags(self, on: str, off: str) -> str:
        self.ungreedy = "U" not in off and ("U" in on or self.ungreedy)
        self.lines = "m" not in off and ("m" in on or self.lines)
        kept_on, kept_off = on.replace("U", ""), off.replace("U", "")
        return kept_on + (f"-{kept_off}" if kept_off else "")

    def repeated(self) -> str:
        start = self.at
        if missing := self.operator():
            raise _bad("missing argument to repetition operator", missing)
        atom = self.atom()
        operator = self.operator()
        if not operator:
            return atom
        lazy = self.peek() == "?"
        if lazy:
            self.take()
        before = self.at
        if self.operator():
            raise _bad(
                "invalid nested repetition operator",
                self.pattern[before - len(operator) - lazy : self.at],
            )
        self.at = before
        if atom.startswith(("(?a:", r"\A", r"\Z", "^", "(?!")) or start == before:
            atom = f"(?:{atom})"
        return atom + operator + ("?" if lazy != self.ungreedy else "")

    def operator(self) -> str:
        if self.peek() in ("*", "+", "?") and self.peek():
            return self.take()
        found = re.compile(r"\{(\d+)(,(\d*))?\}").match(self.pattern, self.at)
        if not found:
            return ""
        lowest, highest = int(found[1]), int(found[3] or found[1])
        if lowest > MOST_REPEATS or highest > MOST_REPEATS or lowest > highest:
            raise _bad("invalid repeat count", found[0])
        self.at = found.end()
        return found[0]

    def atom(self) -> str:
        character = self.take()
        match character:
            case "(":
                return self.group()
            case "[":
                return self.character_class()
            case "\\":
                return self.escape()
            case "$":
                # Python's also matches before a last line feed; in multi-line mode they agree.
                return "$" if self.lines else r"\Z"
            case "." | "^":
                return character
            case _:
                return re.escape(character)

    def group(self) -> str:
        start = self.at - 1
        if self.peek() != "?":
            opening = "("
        elif found := re.compile(r"\?P?<(\w*)>").match(self.pattern, self.at):
            opening = self.named(found)
        elif found := re.compile(r"\?([imsU]*)(?:-([imsU]+))?:").match(self.pattern, self.at):
            self.at = found.end()
            outer = self.ungreedy, self.lines
            opening = f"(?{self.flags(found[1], found[2] or '')}:"
            return self.closed(opening, start, outer)
        elif self.peek(3) == "?P<" or self.peek(2) == "?<":
            raise _bad("invalid named capture", self.pattern[start:])
        else:
            raise _bad("invalid or unsupported Perl syntax", self.pattern[start : start + 3])
        return self.closed(opening, start, (self.ungreedy, self.lines))

    def named(self, found: re.Match[str]) -> str:
        name = found[1]
        if not name:
            raise _bad("invalid named capture", f"({found[0]}")
        if name in self.names:
            raise _bad("duplicate capture group name", name)
        self.names.add(name)
        self.at = found.end()
        return "("

    def closed(self, opening: str, start: int, outer: tuple[bool, bool]) -> str:
        inside = self.alternatives()
        self.ungreedy, self.lines = outer
        if self.take() != ")":
            raise _bad("missing closing )", self.pattern)
        return f"{opening}{inside})"

    def escape(self) -> str:
        character = self.take()
        if not character:
            raise _bad("trailing backslash at end of expression", "")
        if character in _ASSERTIONS:
            return _ASSERTIONS[character]
        if character == "Q":
            literal, _, _ = self.pattern[self.at :].partition(r"\E")
            self.at += len(literal) + 2
            return f"(?:{re.escape(literal)})"
        if character == "C":
            raise Untranslatable(r"this server cannot evaluate the regular expression: \C")
        inside = self.escaped_class(character)
        if inside is not None:
            return f"[{inside}]"
        return self.literal(character)

    def escaped_class(self, character: str) -> str | None:
        if character in _CLASSES:
            return _CLASSES[character]
        if character.lower() in _CLASSES:
            return f"^{_CLASSES[character.lower()]}"
        if character in "pP":
            return self.unicode_class(character == "P")
        return None

    def unicode_class(self, negated: bool) -> str:
        start = self.at - 2
        name = self.take()
        if name == "{":
            name, _, _ = self.pattern[self.at :].partition("}")
            self.at += len(name) + 1
        if name.startswith("^"):
            negated, name = not negated, name[1:]
        if not re.fullmatch(r"[CLMNPSZ][a-z]?|Any", name):
            if name.isalpha() or "_" in name:
                raise Untranslatable(
                    f"this server cannot evaluate the regular expression: {self.pattern[start : self.at]}"
                )
            raise _bad("invalid character class range", self.pattern[start : self.at])
        inside = _category("" if name == "Any" else name)
        return f"^{inside}" if negated else inside

    def literal(self, character: str) -> str:
        if character in _SIMPLE_ESCAPES:
            return _SIMPLE_ESCAPES[character]
        if character == "x":
            return self.hexadecimal()
        if character in "01234567":
            octal = re.compile(r"[0-7]{0,2}").match(self.pattern, self.at)
            digits = character + (octal[0] if octal else "")
            if character != "0" and len(digits) == 1:
                raise _bad("invalid escape sequence", f"\\{character}")
            self.at += len(digits) - 1
            return f"\\U{int(digits, 8):08x}"
        if character.isascii() and not character.isalnum():
            return re.escape(character)
        raise _bad("invalid escape sequence", f"\\{character}")

    def hexadecimal(self) -> str:
        found = re.compile(r"[0-9A-Fa-f]{2}|\{([0-9A-Fa-f]+)\}").match(self.pattern, self.at)
        if not found or int(found[1] or found[0], 16) > sys.maxunicode:
            raise _bad("invalid escape sequence", self.pattern[self.at - 2 : self.at + 2])
        self.at = found.end()
        return f"\\U{int(found[1] or found[0], 16):08x}"

    def character_class(self) -> str:
        start = self.at - 1
        negated = self.peek() == "^"
        if negated:
            self.take()
        inside: list[str] = []
        subtracted: list[str] = []
        first = True
        while first or self.peek() != "]":
            if self.at >= len(self.pattern):
                raise _bad("missing closing ]", self.pattern[start:])
            self.class_member(inside, subtracted)
            first = False
        self.take()
        if not subtracted:
            return f"[{'^' if negated else ''}{''.join(inside)}]"
        options = [f"[^{each}]" for each in subtracted]
        if inside:
            options.append(f"[{''.join(inside)}]")
        union = f"(?:{'|'.join(options)})"
        return rf"(?:(?!{union})[\s\S])" if negated else union

    def class_member(self, inside: list[str], subtracted: list[str]) -> None:
        if found := re.compile(r"\[:(\^?)(\w+):\]").match(self.pattern, self.at):
            if found[2] not in _POSIX:
                raise _bad("invalid character class range", found[0])
            self.at = found.end()
            (subtracted if found[1] else inside).append(_POSIX[found[2]])
            return
        start = self.at
        low = self.class_character()
        if low.startswith("="):
            members = low[1:]
            (subtracted if members.startswith("^") else inside).append(members.lstrip("^"))
            return
        if self.peek() == "-" and self.peek(2)[1:] not in ("]", ""):
            self.take()
            high = self.class_character()
            if high.startswith("=") or _code(high) < _code(low):
                raise _bad("invalid character class range", self.pattern[start : self.at])
            inside.append(f"{low}-{high}")
        else:
            inside.append(low)

    def class_character(self) -> str:
        """Return one character, escaped; or `=` and the members of a class."""
        character = self.take()
        if character != "\\":
            return f"\\U{ord(character):08x}"
        character = self.take()
        if not character:
            raise _bad("trailing backslash at end of expression", "")
        members = self.escaped_class(character)
        if members is not None:
            return f"={members}"
        return f"\\U{_code(self.literal(character)):08x}"


def _code(written: str) -> int:
    """Return the code point of an escaped character."""
    if written.startswith((r"\U", r"\x")):
        return int(written[2:], 16)
    plain = {r"\f": 12, r"\n": 10, r"\r": 13, r"\t": 9, r"\v": 11}
    return plain[written] if written in plain else ord(written[-1])
