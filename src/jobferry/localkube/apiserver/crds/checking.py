"""Whether a value is what its schema asks for: a yes or no, as fast as Python can say it.

A schema becomes a table by Python type: None says that any value of the type will do, False that none will, a
function looks closer. `explaining` says what is wrong, in words, when the answer is no.
"""

from collections.abc import Callable, Mapping
from typing import Any

from jobferry.localkube.apiserver.crds import formats, patterns
from jobferry.objects import Obj

Check = Callable[[Any], bool]
Table = dict[type, "Check | bool | None"]

JSON_TYPES: Mapping[type, str] = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_KINDS = (str, int, float, bool, list, dict, type(None))


def types_of(schema: Obj) -> tuple[str, ...]:
    """Return the JSON types that a schema allows; empty: all."""
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    return (schema["type"],) if schema.get("type") else ()


def format_of(schema: Obj) -> str:
    """Return the format that is enforced, or an empty text."""
    name: str = schema.get("format") or ""
    return name if name and formats.check_of(name) else ""


def is_json_integer(number: float) -> bool:
    """Tell whether a float stands for an integer, as closely as go-openapi looks."""
    if number != number or abs(number) > 2**53 - 1:
        return False
    rounded = float(int(number))
    difference = abs(number - rounded)
    if number == rounded:
        return True
    if number == 0 or rounded == 0 or difference < 5e-324:
        return difference < 1e-9 * 5e-324
    return difference / (abs(number) + abs(rounded)) < 1e-9


def type_allows(types: tuple[str, ...], value: Any) -> bool:
    """Tell whether a value that is not null has one of the JSON types."""
    found = JSON_TYPES[value.__class__]
    if found in types:
        return True
    if found == "integer":
        return "number" in types
    return found == "number" and "integer" in types and is_json_integer(value)


def enum_allows(values: list[Any], value: Any) -> bool:
    """Tell whether a value is one of those listed, numbers being converted as Go does."""
    kind = value.__class__
    for each in values:
        if each.__class__ is kind:
            if each == value:
                return True
        elif kind is int and each.__class__ is float:
            if float(value) == each:
                return True
        elif kind is float and each.__class__ is int and int(value) == each:
            return True
    return False


def table(schema: Obj) -> Table:
    """Compile a schema; raises `patterns.BadPattern` or `patterns.Untranslatable`."""
    return {kind: _check_for(schema, kind) for kind in _KINDS}


def passes(compiled: Table, value: Any) -> bool:
    """Tell whether a value is what the schema asks for."""
    check = compiled[value.__class__]
    return check is None or (check is not False and check(value))  # type: ignore[operator]


def _check_for(schema: Obj, kind: type) -> "Check | bool | None":
    types = types_of(schema)
    if kind is type(None):
        return (
            None if not schema.get("enum") and (not types or schema.get("nullable")) else False
        )
    checks: list[Check] = []
    verdict = _type_verdict(types, format_of(schema), kind)
    if verdict is False:
        return False
    if verdict is not None and verdict is not True:
        checks.append(verdict)
    checks += _SPECIFIC[kind](schema)
    checks += _combined(schema)
    if schema.get("enum"):
        values = schema["enum"]
        checks.append(lambda value: enum_allows(values, value))
    return _all(checks)


def _type_verdict(types: tuple[str, ...], form: str, kind: type) -> "Check | bool | None":
    if not types and not form:
        return None
    name = JSON_TYPES[kind]
    numeric = "number" in types or "integer" in types
    if form and kind in (str, list) and not numeric:
        return None
    if name in types or (name == "integer" and "number" in types):
        return None
    return is_json_integer if name == "number" and "integer" in types else False


def _all(checks: list[Check]) -> "Check | None":
    if len(checks) < 2:
        return checks[0] if checks else None
    first, *rest = checks
    if len(rest) == 1:
        second = rest[0]
        return lambda value: first(value) and second(value)
    if len(rest) == 2:
        second, third = rest
        return lambda value: first(value) and second(value) and third(value)

    def every(value: Any) -> bool:
        for check in checks:  # noqa: SIM110  # faster than all()
            if not check(value):
                return False
        return True

    return every


def _string_checks(schema: Obj) -> list[Check]:
    checks: list[Check] = []
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    if longest is not None:
        checks.append(lambda text: len(text) <= longest)
    if shortest is not None:
        checks.append(lambda text: len(text) >= shortest)
    if schema.get("pattern"):
        checks.append(patterns.compiled(schema["pattern"]).found_in)
    if form := format_of(schema):
        checks.append(formats.CHECKS[form.replace("-", "")])
    return checks


def multiple(value: float, factor: float) -> bool:
    """Tell whether a number is a multiple; a factor that is not positive has none."""
    if value.__class__ is int:
        whole = int(factor)
        return whole > 0 and value % whole == 0
    if factor <= 0:
        return False
    return is_json_integer(1 / factor * value if factor < 1 else value / factor)


def bound(value: float, limit: float) -> float:
    """Return a limit as it is compared with a value: integers see only its integer part."""
    return int(limit) if value.__class__ is int else limit


def _number_checks(schema: Obj) -> list[Check]:
    checks: list[Check] = []
    factor, most, least = (
        schema.get("multipleOf"),
        schema.get("maximum"),
        schema.get("minimum"),
    )
    if factor is not None:
        checks.append(lambda value: multiple(value, factor))
    if most is not None:
        if schema.get("exclusiveMaximum"):
            checks.append(lambda value: value < bound(value, most))
        else:
            checks.append(lambda value: value <= bound(value, most))
    if least is not None:
        if schema.get("exclusiveMinimum"):
            checks.append(lambda value: value > bound(value, least))
        else:
            checks.append(lambda value: value >= bound(value, least))
    return checks


def _no_checks(_schema: Obj) -> list[Check]:
    return []


def _list_checks(schema: Obj) -> list[Check]:
    checks: list[Check] = []
    most, least = schema.get("maxItems"), schema.get("minItems")
    if most is not None:
        checks.append(lambda items: len(items) <= most)
    if least is not None:
        checks.append(lambda items: len(items) >= least)
    if schema.get("items"):
        inner = table(schema["items"])
        if any(check is not None for check in inner.values()):
            checks.append(_each_item(inner))
    return checks


def _each_item(inner: Table) -> Check:
    def check_all(items: list[Any]) -> bool:
        for each in items:
            check = inner[each.__class__]
            if check is not None and (check is False or not check(each)):  # type: ignore[operator]
                return False
        return True

    return check_all


def _object_checks(schema: Obj) -> list[Check]:
    checks: list[Check] = []
    most, least = schema.get("maxProperties"), schema.get("minProperties")
    if most is not None:
        checks.append(lambda members: len(members) <= most)
    if least is not None:
        checks.append(lambda members: len(members) >= least)
    needed = tuple(schema.get("required") or ())
    if len(needed) == 1:
        only = needed[0]
        checks.append(lambda members: only in members)
    elif needed:
        every = frozenset(needed)
        checks.append(lambda members: members.keys() >= every)
    if member_check := _each_member(schema):
        checks.append(member_check)
    return checks


def _each_member(schema: Obj) -> "Check | None":
    known = {name: table(each) for name, each in (schema.get("properties") or {}).items()}
    additional = schema.get("additionalProperties")
    others = table(additional) if isinstance(additional, dict) else None
    if additional is False:
        others = dict.fromkeys(_KINDS, False)
    if not known and others is None:
        return None
    find = known.get

    def check_all(members: dict[str, Any]) -> bool:
        for name, each in members.items():
            inner = find(name, others)
            if inner is not None:
                check = inner[each.__class__]
                if check is not None and (check is False or not check(each)):  # type: ignore[operator]
                    return False
        return True

    return check_all


def _combined(schema: Obj) -> list[Check]:
    checks: list[Check] = []
    if every := [table(each) for each in schema.get("allOf") or ()]:
        checks.append(lambda value: all(passes(each, value) for each in every))
    # That an int-or-string is one or the other is known from its type already.
    alternatives = schema.get("anyOf") or ()
    if schema.get("x-kubernetes-int-or-string") and alternatives == INT_OR_STRING:
        alternatives = ()
    if some := [table(each) for each in alternatives]:
        checks.append(lambda value: any(passes(each, value) for each in some))
    if one := [table(each) for each in schema.get("oneOf") or ()]:
        checks.append(lambda value: sum(passes(each, value) for each in one) == 1)
    if schema.get("not") is not None:
        no = table(schema["not"])
        checks.append(lambda value: not passes(no, value))
    return checks


_SPECIFIC: Mapping[type, Callable[[Obj], list[Check]]] = {
    str: _string_checks,
    int: _number_checks,
    float: _number_checks,
    bool: _no_checks,
    list: _list_checks,
    dict: _object_checks,
}
