"""Labels and label selectors: what is allowed, what matches, and what an API server says if not.

A selector comes as text (`a=b,c!=d,e in (x,y),!f,g>1`) or as a LabelSelector object (matchLabels
and matchExpressions); both become the same `Selector`.
"""

import enum
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobferry import errors
from jobferry.objects import gotext

_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"

_BAD_NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    f"regex used for validation is '{_NAME}')"
)
_BAD_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
    f"'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_BAD_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', "
    f"regex used for validation is '{_SUBDOMAIN}')"
)


class BadSelector(errors.BadInput):
    """A selector that cannot be understood, in the words of an API server."""

    hint = "A label selector looks like: app=web,tier!=cache,env in (test,prod),!canary"


class Operator(enum.Enum):
    """How a requirement relates a label to its values; the value is how it is written."""

    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


_SETS = (Operator.IN, Operator.NOT_IN)
_UNARY = (Operator.EXISTS, Operator.DOES_NOT_EXIST)
_COMPARISONS = (Operator.GREATER_THAN, Operator.LESS_THAN)
_NEGATIONS = (Operator.NOT_IN, Operator.NOT_EQUALS, Operator.DOES_NOT_EXIST)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether an object with these labels meets the condition."""
        value = labels.get(self.key)
        if value is None:
            return self.operator in _NEGATIONS
        if self.operator in _UNARY:
            return self.operator is Operator.EXISTS
        if self.operator in _COMPARISONS:
            return self._compares(value)
        return (value in self.values) is not (self.operator in _NEGATIONS)

    def _compares(self, value: str) -> bool:
        number, bound = gotext.parse_int(value), gotext.parse_int(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if self.operator is Operator.GREATER_THAN else number < bound

    def __str__(self) -> str:
        values = ",".join(sorted(self.values))
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.value} ({values})"
            case _:
                return f"{self.key}{self.operator.value}{values}"


@dataclass(frozen=True, slots=True)
class Selector:
    """Requirements that all have to be met; without any, everything matches."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False
    """Match no object at all: what an absent LabelSelector means."""

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Tell whether an object with these labels is selected."""
        labels = labels or {}
        return not self.nothing and all(each.matches(labels) for each in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def parse(text: str) -> Selector:
    """Read a selector in its text form."""
    return _select(_Parser(text).requirements())


def from_object(selector: Mapping[str, Any] | None) -> Selector:
    """Read a LabelSelector object; none at all selects nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    exact = [
        _requirement(key, Operator.EQUALS, [value])
        for key, value in (selector.get("matchLabels") or {}).items()
    ]
    return _select(
        exact + [_expression(each) for each in selector.get("matchExpressions") or ()]
    )


def key_problems(key: str) -> list[str]:
    """Say what is wrong with a label key, in the words of an API server; empty if nothing is."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {_BAD_NAME}{optional}"]
    problems = []
    if slash:
        problems += [f"prefix part {problem}" for problem in _prefix_problems(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif _size(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_NAME, name):
        problems.append(f"name part {_BAD_NAME}")
    return problems


def value_problems(value: str) -> list[str]:
    """Say what is wrong with a label value, in the words of an API server; empty if nothing is."""
    problems = []
    if _size(value) > 63:
        problems.append("must be no more than 63 bytes")
    if not re.fullmatch(_VALUE, value):
        problems.append(_BAD_VALUE)
    return problems


def _prefix_problems(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    problems = []
    if _size(prefix) > 253:
        problems.append("must be no more than 253 bytes")
    if not re.fullmatch(_SUBDOMAIN, prefix):
        problems.append(_BAD_SUBDOMAIN)
    return problems


def _size(text: str) -> int:
    return len(text.encode())


def _select(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda requirement: requirement.key)))


_OBJECT_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def _expression(expression: Mapping[str, Any]) -> Requirement:
    name = expression.get("operator") or ""
    if name not in _OBJECT_OPERATORS:
        raise BadSelector(f"{gotext.quote(name)} is not a valid label selector operator")
    values = expression.get("values") or ()
    return _requirement(expression.get("key") or "", _OBJECT_OPERATORS[name], values)


def _requirement(key: str, operator: Operator, values: Sequence[str]) -> Requirement:
    problems = []
    if wrong := key_problems(key):
        problems.append(_invalid("key", key, wrong))
    problems += _operator_problems(operator, values)
    for index, value in enumerate(values):
        if wrong := value_problems(value):
            problems.append(_invalid(f"values[{index}][{key}]", value, wrong))
    if problems:
        distinct = list(dict.fromkeys(problems))
        raise BadSelector(distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]")
    return Requirement(key, operator, tuple(values))


def _operator_problems(operator: Operator, values: Sequence[str]) -> list[str]:
    if operator in _SETS and not values:
        return [
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
        ]
    if operator in _UNARY and values:
        listed = json.dumps(list(values), ensure_ascii=False, separators=(",", ":"))
        what = "values set must be empty for exists and does not exist"
        return [f"values: Invalid value: {listed}: {what}"]
    if operator in _COMPARISONS and gotext.parse_int(values[0]) is None:
        what = "for 'Gt', 'Lt' operators, the value must be an integer"
        return [_invalid("values[0]", values[0], [what])]
    return []


def _invalid(field: str, value: str, problems: Sequence[str]) -> str:
    return f"{field}: Invalid value: {gotext.quote(value)}: {'; '.join(problems)}"


_WORD = re.compile(r"==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+")
_TEXT_OPERATORS = {operator.value: operator for operator in Operator if operator not in _UNARY}
_END = ""


class _Parser:
    """Reads the text form of a selector, complaining exactly as an API server does.

    Words are plain strings: one that starts with a special character is an operator or a
    delimiter, the empty one is the end, any other is an identifier. `in` and `notin` are
    identifiers too, except where an operator has to come.
    """

    def __init__(self, text: str) -> None:
        self._words: list[str] = [*_WORD.findall(text), _END]
        self._next = 0

    def requirements(self) -> list[Requirement]:
        """Read the whole text."""
        found: list[Requirement] = []
        if self._peek() == _END:
            return found
        if not self._starts_requirement():
            raise _unexpected(self._peek(), ", expected: !, identifier, or 'end of string'")
        while True:
            found.append(self._requirement())
            word = self._take()
            if word == _END:
                return found
            if word != ",":
                raise _unexpected(word, ", expected: ',' or 'end of string'")
            if not self._starts_requirement():
                raise _unexpected(self._peek(), ", expected: identifier after ','")

    def _requirement(self) -> Requirement:
        try:
            key, operator = self._key_and_operator()
            return _requirement(key, operator, sorted(self._values(operator)))
        except BadSelector as error:
            raise BadSelector(f"unable to parse requirement: {error}") from None

    def _key_and_operator(self) -> tuple[str, Operator]:
        key = self._take()
        absent = key == "!"
        if absent:
            key = self._take()
        if not _is_identifier(key):
            raise _unexpected(key, ", expected: identifier")
        if problems := key_problems(key):
            raise BadSelector(_invalid("<nil>", key, problems))
        if absent:
            return key, Operator.DOES_NOT_EXIST
        return key, Operator.EXISTS if self._peek() in (_END, ",") else self._operator()

    def _operator(self) -> Operator:
        word = self._take()
        if word not in _TEXT_OPERATORS:
            raise _unexpected(word, ", expected: in, notin, =, ==, !=, gt, lt")
        return _TEXT_OPERATORS[word]

    def _values(self, operator: Operator) -> set[str]:
        if operator in _UNARY:
            return set()
        return self._set() if operator in _SETS else {self._value()}

    def _value(self) -> str:
        if self._peek() in (_END, ","):
            return ""
        word = self._take()
        if not _is_identifier(word):
            raise _unexpected(word, ", expected: identifier")
        return word

    def _set(self) -> set[str]:
        word = self._take()
        if word != "(":
            raise _unexpected(word, " expected: '('")
        word = self._peek()
        if word not in (",", ")") and not _is_identifier(word):
            raise _unexpected(word, ", expected: ',', ')' or identifier")
        values = {""} if word == ")" else self._members()
        self._take()
        return values

    def _members(self) -> set[str]:
        """Read what stands between parentheses; a comma with nothing beside it means ""."""
        values: set[str] = set()
        while True:
            word = self._take()
            following = self._peek()
            if _is_identifier(word):
                values.add(word)
                if following not in (",", ")"):
                    raise _unexpected(following, ", expected: ',' or ')'")
            elif word != ",":
                raise _unexpected(word, ", expected: ',', or identifier")
            elif not values or following in (",", ")"):
                values.add("")
            if following == ")":
                return values

    def _starts_requirement(self) -> bool:
        return self._peek() == "!" or _is_identifier(self._peek())

    def _peek(self) -> str:
        return self._words[self._next]

    def _take(self) -> str:
        word = self._peek()
        if word != _END:
            self._next += 1
        return word


def _is_identifier(word: str) -> bool:
    return word != _END and word[0] not in "=!(),<>"


def _unexpected(word: str, expected: str) -> BadSelector:
    return BadSelector(f"found '{word}'{expected}")
