"""What is wrong with a value, in the words of kube-openapi; slow, and only asked when `checking` says no."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.crds import checking, formats, patterns
from jobferry.localkube.apiserver.crds.correlation import Correlated
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj
from jobferry.objects.gotext import quote

TYPE_META = ("kind", "apiVersion")


class Fault(NamedTuple):
    """One thing that is wrong; `code` says how it is told."""

    code: str
    name: str
    message: str
    value: Any = None
    limit: Any = None


@dataclass(slots=True)
class Result:
    """What was found, and how much was right: of several alternatives, the closest is told of."""

    faults: list[Fault] = field(default_factory=list)
    matches: int = 0

    def add(self, *faults: Fault) -> None:
        """Add what was not said before."""
        for fault in faults:
            if all(fault.message != known.message for known in self.faults):
                self.faults.append(fault)

    def merge(self, other: "Result") -> None:
        """Add all that another found."""
        self.add(*other.faults)
        self.matches += other.matches


def go_number(number: float) -> str:
    """Return a number as Go prints it (%v)."""
    if isinstance(number, int):
        return str(number)
    if number and not 1e-4 <= abs(number) < 1e21:
        mantissa, _, exponent = f"{number!r}e".partition("e")
        if not exponent.strip("e"):
            mantissa, _, exponent = f"{number:.17g}".partition("e")
        power = int(exponent.strip("e") or 0)
        return f"{mantissa.removesuffix('.0')}e{'-' if power < 0 else '+'}{abs(power):02d}"
    return f"{number:.0f}" if number == int(number) else repr(number)


def explain(
    schema: Obj, value: Any, path: str = "", correlated: Correlated | None = None
) -> Result:
    """Find what is wrong; what did not change since the old object is let pass."""
    result = _check(schema, value, path, correlated)
    if result.faults and correlated is not None and correlated.same():
        return Result(matches=result.matches)
    return result


def _check(schema: Obj, value: Any, path: str, correlated: Correlated | None) -> Result:
    result = Result()
    types, form = checking.types_of(schema), checking.format_of(schema)
    if value is None:
        result.merge(_type_result(types, form, schema, value, path))
        result.merge(_enum(schema, value, path))
        return result
    if types or form:
        result.merge(_type_result(types, form, schema, value, path))
        result.matches += 1
    result.merge(_combinations(schema, value, path, correlated))
    result.matches += 1
    match value:
        case str():
            result.merge(_string(schema, value, path))
            result.matches += 1
            if form:
                result.merge(_format(form, value, path))
                result.matches += 1
        case bool():
            pass
        case int() | float():
            result.merge(_number(schema, value, path))
            result.matches += 1
        case list():
            result.merge(_list(schema, value, path, correlated))
            result.matches += 1
    result.merge(_enum(schema, value, path))
    result.matches += 1
    if isinstance(value, dict):
        result.merge(_object(schema, value, path, correlated))
        result.matches += 1
    result.matches += 1
    return result


def _one(code: str, name: str, message: str, value: Any = None, limit: Any = None) -> Result:
    return Result([Fault(code, name, message, value, limit)])


def _wrong_type(path: str, wanted: str, found: str) -> Result:
    return _one("type", path, f"{path} in body must be of type {wanted}: {quote(found)}", found)


def _type_result(
    types: tuple[str, ...], form: str, schema: Obj, value: Any, path: str
) -> Result:
    right = Result(matches=1)
    wanted = ",".join(types)
    if value is None:
        return (
            right if not types or schema.get("nullable") else _wrong_type(path, wanted, "null")
        )
    found = checking.JSON_TYPES[value.__class__]
    allowed = bool(types) and checking.type_allows(types, value)
    if form and not isinstance(value, str | list) and not allowed:
        native = {"integer": "int64", "number": "float64"}.get(found, "")
        return _wrong_type(path, form, native)
    if form and isinstance(value, str | list) and not {"number", "integer"} & set(types):
        return right
    return right if allowed else _wrong_type(path, wanted, found)


def _enum(schema: Obj, value: Any, path: str) -> Result:
    values = schema.get("enum")
    if not values or (value is not None and checking.enum_allows(values, value)):
        return Result()
    return _one("enum", path, f"{path} in body should be one of {values}", value, values)


def _combinations(schema: Obj, value: Any, path: str, correlated: Correlated | None) -> Result:
    result = Result()
    shown = quote(path)
    if schema.get("anyOf"):
        _any_of(result, schema["anyOf"], value, path, correlated)
    if schema.get("oneOf"):
        _one_of(result, schema["oneOf"], value, path, correlated)
    if schema.get("allOf"):
        outcomes = [_check(each, value, path, correlated) for each in schema["allOf"]]
        for outcome in outcomes:
            result.merge(outcome)
        failed = sum(bool(outcome.faults) for outcome in outcomes)
        if failed:
            none = ". None validated" if failed == len(outcomes) else ""
            result.add(Fault("", "", f"{shown} must validate all the schemas (allOf){none}"))
    if (
        schema.get("not") is not None
        and not _check(schema["not"], value, path, correlated).faults
    ):
        result.add(Fault("", "", f"{shown} must not validate the schema (not)"))
    result.matches += 1
    return result


def _best(outcomes: list[Result]) -> Result:
    return max(outcomes, key=lambda outcome: outcome.matches)


def _any_of(
    result: Result, options: list[Obj], value: Any, path: str, correlated: Correlated | None
) -> None:
    outcomes: list[Result] = []
    for option in options:
        outcomes.append(_check(option, value, path, correlated))
        if not outcomes[-1].faults:
            result.merge(outcomes[-1])
            return
    message = f"{quote(path)} must validate at least one schema (anyOf)"
    result.add(Fault("", "", message))
    result.merge(_best(outcomes))


def _one_of(
    result: Result, options: list[Obj], value: Any, path: str, correlated: Correlated | None
) -> None:
    outcomes = [_check(option, value, path, correlated) for option in options]
    valid = [outcome for outcome in outcomes if not outcome.faults]
    if len(valid) == 1:
        result.merge(valid[0])
        return
    found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    message = f"{quote(path)} must validate one and only one schema (oneOf). {found}"
    result.add(Fault("", "", message))
    # What failed after the first success is told of, as upstream does.
    if not valid:
        result.merge(_best(outcomes))


def _string(schema: Obj, value: str, path: str) -> Result:
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    if longest is not None and len(value) > longest:
        message = f"{path} in body should be at most {longest} chars long"
        return _one("long", path, message, value, longest)
    if shortest is not None and len(value) < shortest:
        message = f"{path} in body should be at least {shortest} chars long"
        return _one("value", path, message, value)
    pattern = schema.get("pattern")
    if pattern and not patterns.compiled(pattern).found_in(value):
        return _one("value", path, f"{path} in body should match '{pattern}'", value)
    return Result()


def _format(form: str, value: str, path: str) -> Result:
    check = formats.check_of(form)
    if check is None or check(value):
        return Result()
    return _wrong_type(path, form, value)


def _number(schema: Obj, value: float, path: str) -> Result:
    result = Result(matches=1)
    factor = schema.get("multipleOf")
    if factor is not None and not checking.multiple(value, factor):
        used = checking.bound(value, factor)
        if used <= 0:
            message = (
                f"factor MultipleOf declared for {path} must be positive: {go_number(used)}"
            )
            result.add(Fault("value", path, message, used))
        else:
            message = f"{path} in body should be a multiple of {go_number(used)}"
            result.add(Fault("value", path, message, value))
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None:
        limit, strict = checking.bound(value, least), bool(schema.get("exclusiveMinimum"))
        if value < limit or (strict and value == limit):
            words = "greater than" if strict else "greater than or equal to"
            result.add(_bound(path, words, limit, value))
    if most is not None:
        limit, strict = checking.bound(value, most), bool(schema.get("exclusiveMaximum"))
        if value > limit or (strict and value == limit):
            words = "less than" if strict else "less than or equal to"
            result.add(_bound(path, words, limit, value))
    return result


def _bound(path: str, words: str, limit: float, value: float) -> Fault:
    return Fault("value", path, f"{path} in body should be {words} {go_number(limit)}", value)


def _list(schema: Obj, value: list[Any], path: str, correlated: Correlated | None) -> Result:
    result = Result()
    if schema.get("items"):
        for position, each in enumerate(value):
            inner = correlated.index(position) if correlated else None
            result.merge(explain(schema["items"], each, f"{path}[{position}]", inner))
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        message = f"{path} in body should have at least {least} items"
        result.add(Fault("value", path, message, len(value)))
    if most is not None and len(value) > most:
        message = f"{path} in body should have at most {most} items"
        result.add(Fault("many", path, message, len(value), most))
    result.matches += 1
    return result


def _object(schema: Obj, value: Obj, path: str, correlated: Correlated | None) -> Result:
    result = Result()
    least, most = schema.get("minProperties"), schema.get("maxProperties")
    if least is not None and len(value) < least:
        message = f"{path} in body should have at least {least} properties"
        result.add(Fault("value", path, message, len(value)))
    if most is not None and len(value) > most:
        message = f"{path} in body should have at most {most} properties"
        result.add(Fault("many", path, message, len(value), most))
    properties = schema.get("properties") or {}
    for name in sorted(value.keys() - properties.keys()):
        _other(result, schema.get("additionalProperties"), value[name], path, name, correlated)
    for name in sorted(properties.keys() & value.keys()):
        below = f"{path}.{name}" if path else name
        inner = _inner(correlated, path, name)
        result.merge(explain(properties[name], value[name], below, inner))
    for name in schema.get("required") or ():
        if name not in value:
            result.add(
                Fault("required", f"{path}.{name}", f"{path}.{name} in body is required")
            )
    return result


def _other(
    result: Result,
    additional: Any,
    value: Any,
    path: str,
    name: str,
    correlated: Correlated | None,
) -> None:
    """Check a member that the schema does not name."""
    if additional is False:
        message = f"{path}.{name} in body is a forbidden property"
        result.add(Fault("value", path, message, name))
    elif isinstance(additional, dict):
        inner = _inner(correlated, path, name)
        result.merge(explain(additional, value, f"{path}.{name}", inner))


def _inner(correlated: Correlated | None, path: str, name: str) -> Correlated | None:
    """Return where a member comes from; both versions are shown as the same type, so types always count."""
    if correlated is None or (path == "" and name in TYPE_META):
        return None
    return correlated.key(name)


def told(result: Result, prefix: str = "") -> list[Problem]:
    """Return what was found as an API server tells it; `prefix` is where the value is in its object."""
    return [_told(fault, prefix) for fault in result.faults]


def _told(fault: Fault, prefix: str) -> Problem:
    name = fault.name.removeprefix(".")
    where = ".".join(part for part in (prefix, name) if part) or "<nil>"
    value = "" if fault.value is None else fault.value
    match fault.code:
        case "required":
            return problems.required(where)
        case "enum":
            values = [
                each if isinstance(each, str) else orjson.dumps(each).decode()
                for each in fault.limit
            ]
            return _as_go(problems.not_supported(where, fault.value, values), fault.value)
        case "long":
            return problems.too_long(where, fault.limit)
        case "many":
            return problems.too_many(where, fault.value, fault.limit)
        case "type":
            return problems.wrong_type(where, value, fault.message)
        case "value":
            return _as_go(problems.invalid(where, value, fault.message), value)
        case _:
            return problems.invalid(prefix or "<nil>", "", fault.message)


def _as_go(problem: Problem, value: Any) -> Problem:
    """Show a float as Go does: 20.0 is 20."""
    if not isinstance(value, float):
        return problem
    before, found, after = problem.body.partition(orjson.dumps(value).decode())
    if not found:
        return problem
    return Problem(problem.reason, problem.field, before + go_number(value) + after)
