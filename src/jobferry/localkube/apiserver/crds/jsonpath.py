"""JSONPath as Kubernetes writes it: `.status.conditions[?(@.type=="Ready")].status`, `.metadata.labels.a\\.b/c`."""

import operator
import re
from collections.abc import Callable
from typing import Any

Values = list[Any]
Step = Callable[[Values], Values]

_ENDS = " \t\r\n.,[]$@{}"
_SLICE = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
}


class BadPath(ValueError):
    """A path that cannot be read."""


class NoResult(ValueError):
    """A path that does not fit the object it is followed in."""


def compiled(path: str) -> Callable[[Any], Values]:
    """Return a function that finds what a path leads to; it raises `NoResult`. Raises `BadPath`."""
    steps = _Parser(path).steps()

    def find(obj: Any) -> Values:
        found: Values = [obj]
        for step in steps:
            found = step(found)
        return found

    return find


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def steps(self) -> list[Step]:
        found: list[Step] = []
        while self.at < len(self.text):
            found += self.step()
        return found

    def step(self) -> list[Step]:
        text, at = self.text, self.at
        character = text[at]
        if text.startswith("[?(", at):
            return [self.filter()]
        if text.startswith("..", at):
            self.at += 2
            following = text[self.at : self.at + 1]
            word = following.isalnum() or following == "_"
            return [_descend, self.field()] if word else [_descend]
        self.at += 1
        match character:
            case " " | "@" | "$":
                return []
            case "[":
                return self.array()
            case '"' | "'":
                return [self.quoted(character)]
            case ".":
                return [self.field()]
        if character in "+-" or character.isdecimal():
            return [self.number(at)]
        if character.isalnum() or character == "_":
            return [self.word(at)]
        code = f"U+{ord(character):04X} '{character}'"
        raise BadPath(f"unrecognized character in action: {code}")

    def field(self) -> Step:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in _ENDS:
            self.at += 2 if self.text[self.at] == "\\" else 1
        name = self.text[start : self.at].replace("\\", "")
        return _all_members if name == "*" else _member(name)

    def number(self, start: int) -> Step:
        found = re.compile(r"[+-]?[0-9.]+").match(self.text, start)
        if found is None:
            raise BadPath(f"cannot parse number {self.text[start:]}")
        self.at = found.end()
        value = float(found[0]) if "." in found[0] else int(found[0])
        return lambda given: [value] * len(given)

    def word(self, start: int) -> Step:
        while self.at < len(self.text) and self.text[self.at] not in _ENDS:
            self.at += 1
        name = self.text[start : self.at]
        if name not in ("true", "false"):
            raise BadPath(f"unrecognized identifier {name}")
        return lambda given: [name == "true"] * len(given)

    def quoted(self, mark: str) -> Step:
        found = re.compile(rf"(?:[^{mark}\\\n]|\\.)*{mark}").match(self.text, self.at)
        if found is None:
            raise BadPath("unterminated quoted string")
        self.at = found.end()
        value = re.sub(r"\\(.)", r"\1", found[0][:-1])
        return lambda _given: [value]

    def array(self) -> list[Step]:
        end = self.text.find("]", self.at)
        if end < 0:
            raise BadPath("unterminated array")
        inside, self.at = self.text[self.at : end], end + 1
        if "," in inside:
            options = [_Parser(f"[{part.strip(' ')}]").steps() for part in inside.split(",")]
            return [lambda given: [each for steps in options for each in _run(steps, given)]]
        if key := re.fullmatch(r"'([^']*)'", inside):
            return _Parser(f".{key[1]}").steps()
        found = _SLICE.fullmatch(":" if inside == "*" else inside)
        if found is None:
            raise BadPath(f"invalid array index {inside}")
        return [_slice(*found.groups())]

    def filter(self) -> Step:
        start = self.at + 3
        end = start
        quote = ""
        while True:
            if end >= len(self.text):
                raise BadPath("unterminated filter")
            character = self.text[end]
            if quote:
                quote = "" if character == quote and self.text[end - 1] != "\\" else quote
            elif character in "\"'":
                quote = character
            elif character == ")":
                break
            end += 1
        if self.text[end : end + 2] != ")]":
            raise BadPath("unclosed array expect ]")
        inside, self.at = self.text[start:end], end + 2
        parts = re.fullmatch(r"([^!<>=]+)([!<>=]+)(.+?)", inside)
        if parts is None:
            return _existing(_Parser(inside).steps())
        if parts[2] not in _COMPARE:
            raise BadPath(f"unrecognized filter operator {parts[2]}")
        left, right = _Parser(parts[1]).steps(), _Parser(parts[3]).steps()
        return _filtered(left, _COMPARE[parts[2]], right)


def _run(steps: list[Step], given: Values) -> Values:
    for step in steps:
        given = step(given)
    return given


def _member(name: str) -> Step:
    return lambda given: [
        each[name] for each in given if each.__class__ is dict and name in each
    ]


def _all_members(given: Values) -> Values:
    found: Values = []
    for each in given:
        if isinstance(each, dict):
            found += each.values()
        elif isinstance(each, list):
            found += each
        elif isinstance(each, str):
            # Go sees its bytes.
            found += each.encode()
    return found


def _descend(given: Values) -> Values:
    found: Values = []
    for each in given:
        if inner := _all_members([each]):
            found.append(each)
            found += _descend(inner)
    return found


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise NoResult("is not array or slice")
    return value


def _slice(first: str, last: str | None, by: str | None) -> Step:
    start = int(first) if first else 0
    derived = not last
    end = start + 1 if derived else int(last[1:]) if last and last[1:] else None
    step = int(by[1:]) if by and by[1:] else 1

    def run(given: Values) -> Values:
        found: Values = []
        for each in given:
            if each is None:
                continue
            items = _items(each)
            size = len(items)
            low = start + size if start < 0 else start
            high = size if end is None else end
            if high < 0 or (high == 0 and derived):
                high += size
            if low == high:
                return found
            if not (0 <= low < size and 0 <= high <= size and low <= high and step > 0):
                raise NoResult(f"array index out of bounds: index {low}, length {size}")
            found += items[low:high:step]
        return found

    return run


def _existing(steps: list[Step]) -> Step:
    return lambda given: [
        item for each in given for item in _items(each) if _run(steps, [item])
    ]


def _filtered(left: list[Step], compare: Callable[[Any, Any], bool], right: list[Step]) -> Step:
    def passes(item: Any) -> bool:
        ours, theirs = _run(left, [item]), _run(right, [item])
        if not ours or not theirs:
            return False
        if len(ours) > 1 or len(theirs) > 1:
            raise NoResult("can only compare one element at a time")
        if ours[0].__class__ is not theirs[0].__class__:
            raise NoResult("incompatible types for comparison")
        return compare(ours[0], theirs[0])

    return lambda given: [item for each in given for item in _items(each) if passes(item)]
