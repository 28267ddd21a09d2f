"""Defaults in a schema must be what the schema itself asks for."""

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


def check(schema: Obj, path: str) -> list[Problem]:
    """Find defaults that would not be allowed as values."""
    return _check(schema, path, root=True)


def _check(schema: Obj, path: str, *, root: bool = False) -> list[Problem]:
    found: list[Problem] = []
    if schema.get("default") is not None:
        found += _default(schema, f"{path}.default")
    # Not below additionalProperties: upstream does not look there either.
    if schema.get("items") is not None:
        found += _check(schema["items"], f"{path}.items")
    for name in sorted(schema.get("properties") or ()):
        found += _check(schema["properties"][name], f"{path}.properties[{name}]")
    return found


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
    if not checking.passes(checking.table(schema), value):
        return found + explaining.told(explaining.explain(schema, value), path)
    return found + _rules(schema, value, path)


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
