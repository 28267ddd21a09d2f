"""Command lines that are allowed: written as for a shell, `[NAME=VALUE ...] program [argument ...]`.

A `*` in a value or an argument stands for a name, as of a cluster: letters, digits, "_", and after the first also
"." and "-". So it is never another option, a path or a URL.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jobferry.errors import BadInput

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """One program with all that it may be told: no argument and no variable more or less."""

    program: str
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()

    def takes(self, arguments: Sequence[str]) -> bool:
        """Tell whether these are its arguments."""
        return len(arguments) == len(self.arguments) and all(
            map(_fits, self.arguments, arguments)
        )

    def has(self, variables: Mapping[str, str]) -> bool:
        """Tell whether these are its variables."""
        own = dict(self.variables)
        return own.keys() == variables.keys() and all(
            _fits(own[name], value) for name, value in variables.items()
        )


def parse(line: str) -> Command:
    """Read a command line; raises `BadInput`."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise BadInput(f"{line!r}: not a command line: {error}") from None
    variables = {}
    while words and (found := _VARIABLE.fullmatch(words[0])):
        variables[found[1]] = found[2]
        del words[0]
    if not words or not words[0] or "*" in words[0]:
        raise BadInput(f"{line!r}: a command line must name its program")
    if any(word.count("*") > 1 for word in (*words, *variables.values())):
        raise BadInput(f"{line!r}: there may be one * in an argument or value")
    return Command(words[0], tuple(words[1:]), tuple(sorted(variables.items())))


def _fits(pattern: str, text: str) -> bool:
    start, star, end = pattern.partition("*")
    if not star:
        return text == pattern
    middle = text[len(start) : len(text) - len(end)]
    return text == start + middle + end and _NAME.fullmatch(middle) is not None
