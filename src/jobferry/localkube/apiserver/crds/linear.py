"""Regular expressions in time that grows with the text only, however they are written: as Go's engine.

Python's engine tries one way after the other, which `(a+)+$` and a long text can make take for ever. Here all ways are
gone at once: a pattern becomes a graph, and the set of places in it that a text may have come to is what moves
with each character. Sets that were seen are remembered, so a character costs a look into a table.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain

# Private, but the same from Python 3.11 to 3.13 (tried). Where they are not, `patterns` refuses
# all patterns rather than run them without a limit, and test_patterns.py fails.
from re import Pattern, _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, NamedTuple

MOST_NODES = 50_000
MOST_STEPS = 10_000_000
"""How many ways of matching Python's engine may have to try: at worst, that takes it a fraction of a second."""
_MOST_STATES = 2_000
_ACCEPT = 0
_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)
_SINGLE = (_constants.LITERAL, _constants.NOT_LITERAL, _constants.IN, _constants.ANY)


class TooLarge(ValueError):
    """A pattern that repeats too much."""


class Expression:
    """A regular expression in Python's syntax, run by Python's engine where that cannot take long; raises `TooLarge`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._quick = re.compile(text)
        tree = _parser.parse(text)
        _check_size(tree)
        self._ways = _ways(tree)

    @cached_property
    def _linear(self) -> "Linear":
        return Linear(self._text)

    def _may_take_long(self, text: str) -> bool:
        """Tell whether Python's engine might try very many ways to match."""
        if self._ways is None:
            return True
        return bool(self._ways.factor * len(text) ** (self._ways.loops + 1) > MOST_STEPS)

    def found_in(self, text: str) -> bool:
        """Tell whether it is found in a text."""
        if self._may_take_long(text):
            return self._linear.found_in(text)
        return self._quick.search(text) is not None

    def all_in(self, text: str) -> Iterator[str]:
        """Return what it is found as, from left to right."""
        search = self._linear.search if self._may_take_long(text) else self._search
        at, last = 0, -1
        while at <= len(text) and (span := search(text, at)):
            start, end = span
            # Right after a match, Go finds nothing that is empty.
            if end > start or start != last:
                yield text[start:end]
            at = end if end > start else end + 1
            last = end

    def _search(self, text: str, at: int) -> tuple[int, int] | None:
        found = self._quick.search(text, at)
        return found and found.span()


class _State:
    """Where a text may have come to, best first, and what kind of character came before."""

    __slots__ = ("before", "moves", "nodes")

    def __init__(self, nodes: tuple[int, ...], before: str) -> None:
        self.nodes = nodes
        self.before = before
        self.moves: dict[str, tuple[_State, bool]] = {}


class Linear:
    """A pattern, in Python's syntax."""

    def __init__(self, text: str) -> None:
        tree = _parser.parse(text)
        self._takes: list[Pattern[str] | None] = [None]
        """What a node wants: a character that fits; no pattern, if it wants none."""
        self._asks: list[Pattern[str] | None] = [None]
        """What must hold at a node, between two characters."""
        self._next: list[list[int]] = [[]]
        self._parts: dict[str, Pattern[str]] = {}
        self._start = self._built(tree, tree.state.flags, _ACCEPT)
        anywhere = self._node([])
        skip = self._node([anywhere], takes=re.compile("(?s:.)"))
        self._next[anywhere] = [self._start, skip]
        self._anywhere = anywhere
        self._states: dict[tuple[tuple[int, ...], str], _State] = {}

    def found_in(self, text: str) -> bool:
        """Tell whether a match is anywhere in a text."""
        return self._end(text, 0, self._anywhere, first=True) is not None

    def search(self, text: str, start: int) -> tuple[int, int] | None:
        """Return where the first match is that does not begin before `start`."""
        if self._end(text, start, self._anywhere, first=True) is None:
            return None
        while (end := self._end(text, start, self._start)) is None:
            start += 1
        return start, end

    # -- the graph ------------------------------------------------------------------------------

    def _node(
        self,
        after: list[int],
        *,
        takes: Pattern[str] | None = None,
        asks: Pattern[str] | None = None,
    ) -> int:
        self._next.append(after)
        self._takes.append(takes)
        self._asks.append(asks)
        return len(self._next) - 1

    def _built(self, parts: Any, flags: int, after: int) -> int:
        """Add a sequence that goes on with `after`; return where it begins."""
        for operator, given in reversed(list(parts)):
            if operator in _REPEATS:
                after = self._repeated(operator, given, flags, after)
            elif operator is _constants.BRANCH:
                after = self._node([self._built(each, flags, after) for each in given[1]])
            elif operator is _constants.SUBPATTERN:
                _, added, removed, inner = given
                below = _compiler._combine_flags(flags, added, removed)  # noqa: SLF001
                after = self._built(inner, below, after)
            else:
                alone = self._alone(operator, given, flags)
                if operator in _SINGLE:
                    after = self._node([after], takes=alone)
                else:
                    after = self._node([after], asks=alone)
        return after

    def _alone(self, operator: Any, given: Any, flags: int) -> Pattern[str]:
        """Return a part as a pattern of its own; the same one, if it is repeated."""
        key = repr((operator, given, flags))
        if key not in self._parts:
            state = _parser.State()
            state.flags, state.str = flags, ""
            part = _parser.SubPattern(state, [(operator, given)])
            self._parts[key] = _compiler.compile(part)
        return self._parts[key]

    def _repeated(self, operator: Any, given: Any, flags: int, after: int) -> int:
        lowest, highest, inner = given
        lazy = operator is _constants.MIN_REPEAT
        if highest is _constants.MAXREPEAT:
            loop = self._node([])
            body = self._built(inner, flags, loop)
            self._next[loop] = [after, body] if lazy else [body, after]
            here = loop
        else:
            here = after
            for _ in range(highest - lowest):
                body = self._built(inner, flags, here)
                here = self._node([after, body] if lazy else [body, after])
        for _ in range(lowest):
            here = self._built(inner, flags, here)
        return here

    # -- the walk ---------------------------------------------------------------------------------

    def _end(self, text: str, start: int, node: int, *, first: bool = False) -> int | None:
        """Return where the best match ends that begins at `start`; the first that is seen, if that will do."""
        state = self._state((node,), _kind(text[start - 1 : start] if start else ""))
        end = None
        for position, character in enumerate(chain(text[start:], ("",)), start):
            state, accepted = state.moves.get(character) or self._move(state, character)
            if accepted:
                end = position
                if first:
                    return end
            if not state.nodes:
                break
        return end

    def _state(self, nodes: tuple[int, ...], before: str) -> _State:
        found = self._states.get((nodes, before))
        if found is None:
            if len(self._states) > _MOST_STATES:
                self._states.clear()
            found = self._states[nodes, before] = _State(nodes, before)
        return found

    def _move(self, state: _State, character: str) -> tuple[_State, bool]:
        """Return the state after a character (empty: the end), and whether a match ends before it."""
        reached, accepted = self._reached(state, character)
        after: dict[int, None] = {}
        for node in reached:
            wanted = self._takes[node]
            if character and wanted is not None and wanted.match(character):
                after.update(dict.fromkeys(self._next[node]))
        move = self._state(tuple(after), _kind(character)), accepted
        if len(state.moves) < _MOST_STATES:
            state.moves[character] = move
        return move

    def _reached(self, state: _State, character: str) -> tuple[list[int], bool]:
        """Return the nodes that want a character, best first; those that are worse than a match do not count."""
        around, place = state.before + character, len(state.before)
        found: list[int] = []
        seen: set[int] = set()
        waiting = list(reversed(state.nodes))
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if node == _ACCEPT:
                return found, True
            if self._takes[node] is not None:
                found.append(node)
                continue
            asked = self._asks[node]
            if asked is None or asked.match(around, place):
                waiting += reversed(self._next[node])
        return found, False


def _kind(character: str) -> str:
    """Return a character that looks the same to what asks about the character before."""
    if character in ("", "\n"):
        return character
    return "a" if character == "_" or (character.isascii() and character.isalnum()) else " "


def _check_size(parts: Any) -> None:
    """Insist that the graph of a pattern is not too large; raises `TooLarge`."""
    if _size(parts) > MOST_NODES:
        raise TooLarge("it repeats too much")


def _size(parts: Any) -> int:
    total = 0
    for operator, given in parts:
        if operator in _REPEATS:
            lowest, highest, inner = given
            times = lowest + 1 if highest is _constants.MAXREPEAT else highest
            total += times * (_size(inner) + 1)
        elif operator is _constants.BRANCH:
            total += 1 + sum(map(_size, given[1]))
        else:
            total += _size(given[3]) if operator is _constants.SUBPATTERN else 1
    return total


class _Ways(NamedTuple):
    """How many ways there may be to match a text: `factor * len(text) ** loops`."""

    loops: int = 0
    factor: int = 1


def _ways(parts: Any, *, repeated: bool = False) -> _Ways | None:
    """Return how many ways there are at most; None: choices are repeated, so each character may multiply them."""
    loops, factor = 0, 1
    for operator, given in parts:
        below: list[_Ways | None]
        if operator in _REPEATS:
            several = given[1] > 1
            below = [None if repeated else _ways(given[2], repeated=several)]
            loops, factor = (loops + 1, factor) if several else (loops, factor * 2)
        elif operator is _constants.BRANCH:
            below = [None if repeated else _ways(each) for each in given[1]]
        elif operator is _constants.SUBPATTERN:
            below = [_ways(given[3], repeated=repeated)]
        else:
            continue
        known = [each for each in below if each is not None]
        if len(known) < len(below):
            return None
        loops += max(each.loops for each in known)
        factor *= sum(each.factor for each in known)
    return _Ways(loops, factor)
