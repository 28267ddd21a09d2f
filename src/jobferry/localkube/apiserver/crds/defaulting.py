"""Values that a schema fills in, compiled to functions that touch only what has defaults."""

from collections.abc import Callable
from typing import Any

from jobferry.localkube.apiserver.crds import pruning
from jobferry.objects import Obj

Filler = Callable[[Any], None]


def copied(value: Any) -> Any:
    """Return a copy of a JSON value."""
    if value.__class__ is dict:
        return {key: copied(each) for key, each in value.items()}
    if value.__class__ is list:
        return [copied(each) for each in value]
    return value


def filler(schema: Obj | None) -> Filler | None:
    """Return a function that fills in defaults; None: there are none below."""
    if schema is None:
        return None
    members = _members_filler(schema)
    items = _items_filler(schema.get("items"))
    if members is None and items is None:
        return None

    def fill(value: Any) -> None:
        if value.__class__ is dict:
            if members:
                members(value)
        elif items and value.__class__ is list:
            items(value)

    return fill


def default_of(schema: Obj) -> Any:
    """Return a schema's default, as it is filled in: without what the schema does not know."""
    value = schema.get("default")
    if isinstance(value, dict | list):
        value = copied(value)
        embedded = bool(schema.get("x-kubernetes-embedded-resource"))
        pruning.prune(value, schema, root=embedded)
    return value


def _members_filler(schema: Obj) -> Filler | None:
    properties: dict[str, Obj] = schema.get("properties") or {}
    own = [
        (name, value, bool(each.get("nullable")), isinstance(value, dict | list))
        for name, each in properties.items()
        if (value := default_of(each)) is not None
    ]
    nested = [(name, inner) for name, each in properties.items() if (inner := filler(each))]
    others = _others_filler(schema, frozenset(properties))
    if not own and not nested and others is None:
        return None

    def fill(value: dict[str, Any]) -> None:
        for name, default, nullable, shared in own:
            if name not in value or (value[name] is None and not nullable):
                value[name] = copied(default) if shared else default
        for name, inner in nested:
            if name in value:
                inner(value[name])
        if others:
            others(value)

    return fill


def _others_filler(schema: Obj, known: frozenset[str]) -> Filler | None:
    _, others = pruning.additional_of(schema)
    if others is None:
        return None
    inner, default = filler(others), default_of(others)
    if inner is None and default is None:
        return None
    nullable = bool(others.get("nullable"))

    def fill(value: dict[str, Any]) -> None:
        for name, each in value.items():
            if name in known:
                continue
            if each is None and not nullable:
                value[name] = copied(default)
            if inner:
                inner(value[name])

    return fill


def _items_filler(schema: Obj | None) -> Filler | None:
    if schema is None:
        return None
    inner, default = filler(schema), default_of(schema)
    if inner is None and default is None:
        return None
    nullable = bool(schema.get("nullable"))

    def fill(value: list[Any]) -> None:
        for index, each in enumerate(value):
            if each is None and not nullable:
                value[index] = copied(default)
            if inner:
                inner(value[index])

    return fill
