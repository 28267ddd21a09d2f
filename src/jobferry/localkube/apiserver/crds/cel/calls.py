"""The closures that expressions are made of: each takes a frame of variables and returns a value."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jobferry.localkube.apiserver.crds.cel import values
from jobferry.localkube.apiserver.crds.cel.library import PLAIN_ERRORS, Overload
from jobferry.localkube.apiserver.crds.cel.types import Field, Type
from jobferry.localkube.apiserver.crds.cel.values import NONE, CelError, Optional, OutOfBudget

Frame = list[Any]
Run = Callable[[Frame], Any]
BUDGET = 2
"""Where a frame holds how many more steps may be taken."""

_SCALARS = frozenset(
    ("int", "uint", "string", "bool", "bytes", "double", "timestamp", "duration", "type")
)


class Member(NamedTuple):
    """How a member is got from an object, and whether it is there."""

    get: Callable[[Any], Any]
    has: Callable[[Any], bool]


def constant(value: Any) -> Run:
    """Return always the same."""
    return lambda _frame: value


def slot(place: int) -> Run:
    """Return a variable."""
    return operator.itemgetter(place)


def field_member(shown: str, field: Field) -> Member:
    """Get a field of an object; null is not there."""
    name, convert = field.name, field.convert

    def get(obj: Any) -> Any:
        value = obj.get(name)
        if value is None:
            raise CelError(f"no such key: {shown}")
        return value if convert is None else convert(value)

    return Member(get, lambda obj: obj.get(name) is not None)


def map_member(name: str) -> Member:
    """Get the value of a key."""

    def get(entries: Any) -> Any:
        if entries.__class__ is not dict:
            raise CelError("no such overload")
        if name not in entries:
            raise CelError(f"no such key: {name}")
        return entries[name]

    def has(entries: Any) -> bool:
        if entries.__class__ is not dict:
            raise CelError("no such overload")
        return name in entries

    return Member(get, has)


def member(operand: Run, get: Callable[[Any], Any]) -> Run:
    """Return a member."""
    return lambda frame: get(operand(frame))


def presence(operand: Run, has: Callable[[Any], bool]) -> Run:
    """Tell whether a member is there."""

    def run(frame: Frame) -> bool:
        value = operand(frame)
        if value.__class__ is Optional:
            return value.present and has(value.value)
        return has(value)

    return run


def optional_member(operand: Run, found: Member) -> Run:
    """Return a member if it is there."""

    def run(frame: Frame) -> Optional:
        value = operand(frame)
        if value.__class__ is Optional:
            if not value.present:
                return NONE
            value = value.value
        return Optional(True, found.get(value)) if found.has(value) else NONE

    return run


def inside_optional(operand: Run, get: Callable[[Any], Any]) -> Run:
    """Return a member of what may be missing."""

    def run(frame: Frame) -> Optional:
        value = operand(frame)
        return Optional(True, get(value.value)) if value.present else NONE

    return run


def items(runs: Sequence[tuple[Run, bool]]) -> Run:
    """Return a new list."""
    if not any(optional for _, optional in runs):
        plain = [run for run, _ in runs]
        return lambda frame: [run(frame) for run in plain]

    def build(frame: Frame) -> list[Any]:
        result = []
        for run, optional in runs:
            value = run(frame)
            if not optional:
                result.append(value)
            elif value.present:
                result.append(value.value)
        return result

    return build


def entries(runs: Sequence[tuple[Run, Run, bool]]) -> Run:
    """Return a new map."""

    def build(frame: Frame) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key_run, value_run, optional in runs:
            key, value = key_run(frame), value_run(frame)
            if optional:
                if not value.present:
                    continue
                value = value.value
            if key.__class__ in (list, dict):
                raise CelError(f"unsupported key type: {values.kind_of(key)}")
            result[key] = value
        return result

    return build


def truth(value: Any) -> bool:
    """Return a truth value; anything else fits no operator."""
    if value is True or value is False:
        return value
    raise CelError("no such overload")


def may_be_missing(value: Any) -> Optional:
    """Return a value that may be missing; anything else fits no operator."""
    if value.__class__ is Optional:
        return value
    raise CelError("no such overload")


def both(left: Run, right: Run) -> Run:
    """Return whether both hold; one that does not makes up for an error in the other."""

    def run(frame: Frame) -> bool:
        try:
            if not truth(left(frame)):
                return False
        except OutOfBudget:
            raise
        except CelError:
            if truth(right(frame)) is False:
                return False
            raise
        return truth(right(frame))

    return run


def either(left: Run, right: Run) -> Run:
    """Return whether one holds; one that does makes up for an error in the other."""

    def run(frame: Frame) -> bool:
        try:
            if truth(left(frame)):
                return True
        except OutOfBudget:
            raise
        except CelError:
            if truth(right(frame)):
                return True
            raise
        return truth(right(frame))

    return run


def choice(condition: Run, first: Run, second: Run) -> Run:
    """Return one or the other."""
    return lambda frame: first(frame) if truth(condition(frame)) else second(frame)


def equality_of(left: Type, right: Type) -> Callable[[Any, Any], bool]:
    """Return how values of two types are compared."""
    if left.kind in _SCALARS and right.kind in _SCALARS:
        return values.equal if "type" in (left.kind, right.kind) else operator.eq
    if left.kind in ("list", "map", "struct") and left.kind == right.kind:
        if left.equality is not None:
            return left.equality
        # JSON compares as it should where booleans and numbers cannot meet.
        return values.equal if _has_dyn(left) or _has_dyn(right) else operator.eq
    return values.equal


def _has_dyn(type_: Type) -> bool:
    return type_.kind in ("dyn", "param", "error") or any(map(_has_dyn, type_.params))


def compared(compare: Callable[[Any, Any], bool], left: Run, right: Run) -> Run:
    """Return whether two values are equal."""
    return lambda frame: compare(left(frame), right(frame))


def differing(compare: Callable[[Any, Any], bool], left: Run, right: Run) -> Run:
    """Return whether two values differ."""
    return lambda frame: not compare(left(frame), right(frame))


def membership(compare: Callable[[Any, Any], bool], item: Run, container: Run) -> Run:
    """Return whether something is in a list, or a key of a map."""
    plain = compare is operator.eq

    def run(frame: Frame) -> bool:
        wanted, found = item(frame), container(frame)
        if found.__class__ is dict:
            return wanted.__class__ not in (list, dict) and wanted in found
        if plain and found.__class__ is list:
            return wanted in found
        if found.__class__ is not list:
            raise CelError("no such overload")
        return any(compare(each, wanted) for each in found)

    return run


def united(union: Callable[[Any, Any], Any], left: Run, right: Run) -> Run:
    """Return what is in one list or the other, as the first one's kind of list asks for."""
    return lambda frame: union(left(frame), right(frame))


def dispatched(name: str, fitting: list[Overload], runs: list[Run], *, guarded: bool) -> Run:
    """Return a call of the overload that fits; which one, values may have to tell."""
    if name in ("or", "orValue"):
        return _lazy(name, *runs)
    targets = {id(overload.run): overload.run for overload in fitting}
    if guarded or len(targets) > 1:
        return _guarded(name, fitting, runs)
    function = fitting[0].run
    match runs:
        case [only]:
            return lambda frame: function(only(frame))
        case [first, second]:
            return lambda frame: function(first(frame), second(frame))
    return lambda frame: function(*(run(frame) for run in runs))


def _lazy(name: str, first: Run, second: Run) -> Run:
    def run(frame: Frame) -> Any:
        value = may_be_missing(first(frame))
        if value.present:
            return value if name == "or" else value.value
        return second(frame)

    return run


def _guarded(name: str, fitting: list[Overload], runs: list[Run]) -> Run:
    def run(frame: Frame) -> Any:
        args = [each(frame) for each in runs]
        for overload in fitting:
            if all(map(values.accepts, overload.args, args)):
                return overload.run(*args)
        if name in PLAIN_ERRORS:
            raise CelError("no such overload")
        kinds = ", ".join(map(values.kind_of, args))
        raise CelError(f"no such overload: {name}({kinds})")

    return run


def spend(frame: Frame, steps: int) -> None:
    """Take steps from the budget."""
    frame[BUDGET] -= steps
    if frame[BUDGET] < 0:
        raise OutOfBudget
