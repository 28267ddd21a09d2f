"""Defaults in a schema must be what the schema itself asks for."""

from dataclasses import dataclass
from typing import Any

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.crds import (
    checking,
    defaulting,
    embedded,
    explaining,
    pruning,
    rules,
)
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj


@dataclass(frozen=True, slots=True)
class _Inside:
    """Where the type or metadata of an object is: the schema of the object, and the way down from it."""

    top: Obj
    way: tuple[str | int, ...]

    def whole(self, value: Any) -> Obj:
        """Return an object that has a value there, and nothing else but a type."""
        for step in reversed(self.way):
            value = [value] if isinstance(step, int) else {step: value}
        return {"apiVersion": "validation/v1", "kind": "Validation", **value}


def check(schema: Obj, path: str) -> list[Problem]:
    """Find defaults that would not be allowed as values."""
    return _check({**schema, embedded.EMBEDDED: True}, path, None)


def _check(schema: Obj, path: str, inside: _Inside | None) -> list[Problem]:
    found: list[Problem] = []
    is_object = bool(schema.get(embedded.EMBEDDED))
    if is_object:
        inside = None
    if schema.get("default") is not None:
        at = f"{path}.default"
        found += _in_metadata(schema, at, inside) if inside else _default(schema, at)
    # Not below additionalProperties: upstream does not look there either.
    if schema.get("items") is not None:
        found += _check(schema["items"], f"{path}.items", _below(inside, 0))
    for name in sorted(schema.get("properties") or ()):
        place = _below(inside, name)
        if is_object and name in pruning.META_FIELDS:
            place = _Inside(schema, (name,))
        found += _check(schema["properties"][name], f"{path}.properties[{name}]", place)
    return found


def _below(inside: _Inside | None, step: str | int) -> _Inside | None:
    return inside and _Inside(inside.top, (*inside.way, step))


def _in_metadata(schema: Obj, path: str, inside: _Inside) -> list[Problem]:
    """Find what is wrong with the default of a type or of metadata: an object with it must be one."""
    value = schema["default"]
    whole = inside.whole(defaulting.copied(value))
    wrong: list[Problem] = []
    if problem := embedded.coerce(whole, inside.top, "", []):
        wrong = [problem]
    elif not (wrong := embedded.check(whole, inside.top, root=True)):
        return _as_value(schema, value, path)
    texts = [str(each) for each in wrong]
    told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return [problems.invalid(path, value, f"must result in valid metadata: {told}")]


def _default(schema: Obj, path: str) -> list[Problem]:
    value: Any = defaulting.copied(schema["default"])
    found: list[Problem] = []
    is_object = bool(schema.get(embedded.EMBEDDED))
    pruned = defaulting.copied(value)
    pruning.prune(pruned, schema, root=is_object)
    if pruned != value:
        found.append(problems.invalid(path, value, "must not have unknown fields"))
    if problem := embedded.coerce(value, schema, path, []):
        return [*found, problem]
    if wrong := embedded.check(value, schema, path):
        return found + wrong
    return found + _as_value(schema, value, path)


def _as_value(schema: Obj, value: Any, path: str) -> list[Problem]:
    if not checking.passes(checking.table(schema), value):
        return explaining.told(explaining.explain(schema, value), path)
    return _rules(schema, value, path)


def _rules(schema: Obj, value: Any, path: str) -> list[Problem]:
    """Check rules against the default, as kept and as new; bad rules are told of elsewhere."""
    try:
        level = rules.level(schema)
    except rules.BadRule:
        return []
    if level is None:
        return []
    found, _ = rules.check(level, value, value, path=path)
    return found or rules.check(level, value, path=path)[0]
