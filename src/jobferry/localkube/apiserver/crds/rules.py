"""`x-kubernetes-validations`: rules in CEL, compiled with the schema and checked with each object."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.crds import correlation, pruning, schema_paths
from jobferry.localkube.apiserver.crds.cel import (
    calls,
    compiler,
    declared,
    programs,
    types,
    values,
)
from jobferry.localkube.apiserver.crds.cel.types import Type
from jobferry.localkube.apiserver.crds.correlation import Correlated
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj

RULES = "x-kubernetes-validations"
CALL_BUDGET = 1_000_000
"""How many rounds of loops one rule may take: upstream's limit of cost, roughly."""

OBJECT_BUDGET = 10_000_000
_LONGEST_MESSAGE = 5 * 1024


class BadRule(ValueError):
    """A rule that cannot be used; `at` is the part of it that is to blame."""

    def __init__(self, at: str, words: str) -> None:
        super().__init__(words)
        self.at = at


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled rule."""

    text: str
    message: str
    run: compiler.Program
    message_run: compiler.Program | None
    reason: str
    path: str
    uses_old: bool
    optional_old: bool

    @property
    def shown(self) -> str:
        """What a failure is called when nothing better is there."""
        return self.message or self.text


@dataclass(frozen=True, slots=True)
class Level:
    """The rules of one schema and of those below; only what has rules is here."""

    schema: Obj
    convert: declared.Convert = None
    rules: tuple[Rule, ...] = ()
    properties: Mapping[str, "Level"] = field(default_factory=dict)
    others: "Level | None" = None
    items: "Level | None" = None


def has_rules(schema: Obj | None) -> bool:
    """Tell whether there are rules at a schema or below."""
    if schema is None:
        return False
    return (
        bool(schema.get(RULES))
        or has_rules(schema.get("items"))
        or has_rules(pruning.additional_of(schema)[1])
        or any(map(has_rules, (schema.get("properties") or {}).values()))
    )


def compile_rule(rule: Obj, schema: Obj, type_: Type) -> Rule:
    """Compile one rule for what `type_` says `self` is; raises `BadRule`."""
    optional = bool(rule.get("optionalOldSelf"))
    old = types.optional_of(type_) if optional else type_
    variables = {"self": (type_, 0), "oldSelf": (old, 1)}
    run = _compiled(
        "rule", rule["rule"], variables, types.BOOL, "cel expression must evaluate to a bool"
    )
    message_run = None
    if rule.get("messageExpression"):
        words = "messageExpression must evaluate to a string"
        text = rule["messageExpression"]
        message_run = _compiled("messageExpression", text, variables, types.STRING, words)
    path = ""
    if rule.get("fieldPath"):
        try:
            path = schema_paths.follow(rule["fieldPath"], schema).shown
        except schema_paths.BadPath:
            path = ""
    return Rule(
        text=rule["rule"].strip(),
        message=(rule.get("message") or "").strip(),
        run=run,
        message_run=message_run,
        reason=rule.get("reason") or "",
        path=path,
        uses_old="oldSelf" in run.uses,
        optional_old=optional,
    )


def _compiled(
    at: str, text: str, variables: Mapping[str, tuple[Type, int]], wanted: Type, words: str
) -> compiler.Program:
    try:
        program = programs.compile_text(text, variables)
    except compiler.Unusable as unusable:
        what = "program" if at == "rule" else at
        raise BadRule(at, f"{what} instantiation failed: {unusable}") from unusable
    except compiler.Refused as refused:
        prefix = "" if at == "rule" else f"{at} "
        raise BadRule(at, f"{prefix}compilation failed: {refused}") from refused
    if not program.type.exactly(wanted):
        raise BadRule(at, words)
    return program


def level(
    schema: Obj | None,
    *,
    root: bool = False,
    known: tuple[Type, declared.Convert] | None = None,
) -> Level | None:
    """Compile all rules of a schema; raises `BadRule`; None: there are none."""
    if schema is None or not has_rules(schema):
        return None
    type_convert = known or declared.declared(schema, root=root)
    if type_convert is None:
        return None
    type_, convert = type_convert
    return Level(
        schema,
        convert,
        tuple(compile_rule(each, schema, type_) for each in schema.get(RULES) or ()),
        {
            name: inner
            for name, each in (schema.get("properties") or {}).items()
            if (inner := level(each, known=_field_type(type_, name)))
        },
        level(pruning.additional_of(schema)[1]),
        level(schema.get("items")),
    )


def _field_type(type_: Type, name: str) -> tuple[Type, declared.Convert] | None:
    """Return a member's type as its parent knows it, so that it is made once."""
    for each in type_.fields.values():
        if each.name == name:
            return each.type, each.convert
    return None


@dataclass(slots=True)
class _Walk:
    """One check of one object."""

    found: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    budget: int = OBJECT_BUDGET


@dataclass(frozen=True, slots=True)
class _Trace:
    """Where a value comes from, or the nearest part around it that can be told."""

    here: Correlated | None = None
    around: Correlated | None = None

    def unchanged(self) -> bool:
        known = self.here or self.around
        return known is not None and known.same()

    def key(self, name: str) -> "_Trace":
        if self.here is None:
            return self
        if self.around is None and name in ("apiVersion", "kind"):
            return _Trace()
        return _Trace(self.here.key(name), self.here)

    def index(self, position: int) -> "_Trace":
        return self if self.here is None else _Trace(self.here.index(position), self.here)


def check(
    top: Level,
    value: Any,
    old: Any = None,
    correlated: Correlated | None = None,
    path: str = "",
) -> tuple[list[Problem], list[str]]:
    """Return what breaks rules, and warnings of what breaks them but did not change."""
    walk = _Walk()
    _check(walk, top, path, value, old, _Trace(correlated))
    return walk.found, walk.warnings


def _check(walk: _Walk, here: Level, path: str, value: Any, old: Any, trace: _Trace) -> None:
    if value is None or walk.budget < 0:
        return
    if here.rules:
        _check_rules(walk, here, path, value, old, trace)
    if isinstance(value, dict):
        _check_members(walk, here, path, value, old if isinstance(old, dict) else {}, trace)
    elif isinstance(value, list) and here.items is not None:
        before: dict[Any, Any] = {}
        if isinstance(old, list) and here.schema.get("x-kubernetes-list-type") == "map":
            before = correlation.by_key(here.schema, old)
        for index, each in enumerate(value):
            previous = before.get(correlation.key_of(here.schema, each)) if before else None
            inner = trace.index(index)
            _check(walk, here.items, f"{path}[{index}]", each, previous, inner)


def _check_members(
    walk: _Walk, here: Level, path: str, value: Obj, old: Obj, trace: _Trace
) -> None:
    if here.others is not None:
        for name, each in value.items():
            _check(walk, here.others, f"{path}[{name}]", each, old.get(name), trace.key(name))
    for name, inner in here.properties.items():
        if name in value:
            below = f"{path}.{name}" if path else name
            _check(walk, inner, below, value[name], old.get(name), trace.key(name))


def _check_rules(
    walk: _Walk, here: Level, path: str, value: Any, old: Any, trace: _Trace
) -> None:
    convert = here.convert
    kind = here.schema.get("type") or ""
    where = path or "<nil>"
    try:
        current = convert(value) if convert else value
        before = convert(old) if convert and old is not None else old
    except values.CelError as error:
        rule = here.rules[0]
        words = f"{error} evaluating rule: {rule.shown}"
        walk.found.append(problems.invalid(where, kind, words))
        return
    for rule in here.rules:
        if rule.uses_old and old is None and not rule.optional_old:
            continue
        frame: list[Any] = [current, before, 0]
        if rule.optional_old:
            frame[1] = values.NONE if old is None else values.Optional(True, before)
        if not _holds(walk, rule, frame, kind, where):
            problem = _told(here, rule, frame, path, value)
            if trace.unchanged() and not rule.uses_old:
                walk.warnings.append(str(problem))
            else:
                walk.found.append(problem)
        if walk.budget < 0:
            return


def _evaluate(program: compiler.Program, frame: list[Any], budget: int) -> tuple[Any, int]:
    allowed = min(CALL_BUDGET, budget)
    run_frame = [*frame[:2], allowed, *([None] * program.frame_size)]
    try:
        value = program.run(run_frame)
    except RecursionError:
        raise values.OutOfBudget from None
    return value, allowed - run_frame[calls.BUDGET] + 1


def _holds(walk: _Walk, rule: Rule, frame: list[Any], kind: str, where: str) -> bool:
    try:
        value, spent = _evaluate(rule.run, frame, walk.budget)
    except values.OutOfBudget as error:
        words = (
            "no further validation rules will be run due to call cost exceeds limit for rule"
        )
        walk.found.append(problems.invalid(where, kind, f"'{error}': {words}: {rule.shown}"))
        walk.budget = -1
        return True
    except values.CelError as error:
        words = f"{error} evaluating rule: {rule.shown}"
        if str(error).startswith("no such overload"):
            told = (
                "call arguments did not match a supported operator, function or macro signature"
            )
            words = f"'{error}': {told} for rule: {rule.shown}"
        walk.found.append(problems.invalid(where, kind, words))
        return True
    walk.budget -= spent
    return value is True


def _message(rule: Rule, frame: list[Any]) -> str:
    if rule.message_run is not None:
        try:
            text, _ = _evaluate(rule.message_run, frame, CALL_BUDGET)
        except values.CelError:
            text = ""
        text = text.strip()
        if text and len(text.encode()) <= _LONGEST_MESSAGE and not re.search(r"\n", text):
            return str(text)
    return rule.message or f"failed rule: {rule.text}"


def _told(here: Level, rule: Rule, frame: list[Any], path: str, value: Any) -> Problem:
    where = ".".join(part for part in (path, rule.path) if part) or "<nil>"
    words = _message(rule, frame)
    hidden = here.schema.get("type") in ("object", "array")
    match rule.reason:
        case "FieldValueForbidden":
            return problems.forbidden(where, words)
        case "FieldValueRequired":
            return problems.required(where, words)
        case "FieldValueDuplicate":
            if hidden:
                return Problem("FieldValueDuplicate", where, "Duplicate value")
            return problems.duplicate(where, value)
    if hidden:
        return problems.invalid_here(where, words)
    return problems.invalid(where, value, words)
