"""Field selectors (`metadata.name=x,status.phase!=Running`), with the words of an API server."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from jobferry import errors

# A backslash takes the next character along, whatever it is.
_TERM = re.compile(r"(?:\\.|[^\\,]|\\$)+", re.DOTALL)
_OPERATOR = re.compile(r"!=|==|=")
_ESCAPED = re.compile(r"\\(?P<escaped>.?)|(?P<special>[,=])", re.DOTALL)
_SPECIAL = re.compile(r"[\\,=]")


class BadSelector(errors.BadInput):
    """A selector that cannot be understood, in the words of an API server."""

    hint = r"A field selector looks like: metadata.name=x,status.phase!=Running; put \ before , = \ in values."


@dataclass(frozen=True, slots=True)
class Requirement:
    """One field that has to have, or not to have, one value."""

    field: str
    value: str
    negated: bool = False

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Tell whether an object with these fields meets it; a missing field counts as empty."""
        return (fields.get(self.field, "") == self.value) is not self.negated

    def __str__(self) -> str:
        return f"{self.field}{'!=' if self.negated else '='}{escape(self.value)}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that all have to be met; without any, everything matches."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Tell whether an object with these fields is selected."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = Selector()


def parse(text: str) -> Selector:
    """Read a selector; terms with neither field nor value are skipped."""
    found = [_requirement(text, term) for term in sorted(_TERM.findall(text))]
    return Selector(tuple(each for each in found if each.field or each.value))


def escape(value: str) -> str:
    """Write a value so that it can stand in a selector."""
    return _SPECIAL.sub(r"\\\g<0>", value)


def _requirement(text: str, term: str) -> Requirement:
    operator = _OPERATOR.search(term)
    if operator is None:
        raise BadSelector(f"invalid selector: '{text}'; can't understand '{term}'")
    value = _ESCAPED.sub(_unescape, term[operator.end() :])
    return Requirement(term[: operator.start()], value, negated=operator[0] == "!=")


def _unescape(match: re.Match[str]) -> str:
    if special := match["special"]:
        # An API server shows the number of the character, not the character.
        raise BadSelector(
            f"invalid field selector: unescaped character in value: {ord(special)}"
        )
    escaped = match["escaped"]
    if escaped not in ("\\", ",", "="):
        raise BadSelector(f"invalid field selector: invalid escape sequence: {match[0]}")
    return escaped
