"""Fields that a schema does not know, and nulls that it does not allow: found fast, removed with their paths."""

from collections.abc import Callable
from typing import Any

from jobferry.objects import Obj

META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})

Detector = Callable[[Any], bool]


def drops_null(schema: Obj | None) -> bool:
    """Tell whether a null is removed where this schema applies."""
    return schema is not None and not schema.get("nullable") and schema.get("default") is None


def additional_of(schema: Obj) -> tuple[bool, Obj | None]:
    """Return whether unnamed members have a place, and the schema of their values."""
    additional = schema.get("additionalProperties")
    return additional is not None, additional if isinstance(additional, dict) else None


def detector(schema: Obj | None, *, embedded: bool = False) -> Detector:
    """Return a function that tells whether a value has anything to remove."""
    if schema is None:
        return _has_members
    keeps = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    embedded = embedded or bool(schema.get("x-kubernetes-embedded-resource"))
    members = _members_detector(schema, embedded, keeps)
    items = _items_detector(schema, keeps)

    def dirty(value: Any) -> bool:
        return members(value) if value.__class__ is dict else items(value)

    return dirty


def _has_members(value: Any) -> bool:
    if value.__class__ is dict:
        return bool(value)
    return value.__class__ is list and any(map(_has_members, value))


def _never(_value: Any) -> bool:
    return False


def _items_detector(schema: Obj, keeps: bool) -> Detector:
    item = schema.get("items")
    if item is None and keeps:
        return _never
    inner = _preserving_detector(item) if keeps else detector(item)

    def dirty(value: Any) -> bool:
        for each in value:
            kind = each.__class__
            if (kind is dict or kind is list) and inner(each):
                return True
        return False

    return dirty


def _preserving_detector(schema: Obj | None) -> Detector:
    """Inside a list that keeps unknown fields, items keep theirs too."""
    if schema is None:
        return _never
    return detector({**schema, "x-kubernetes-preserve-unknown-fields": True})


def _members_detector(schema: Obj, embedded: bool, keeps: bool) -> Detector:
    properties: dict[str, Obj] = schema.get("properties") or {}
    known: dict[str, Detector] = {name: detector(each) for name, each in properties.items()}
    nulls = {name for name, each in properties.items() if drops_null(each)}
    if embedded:
        known.update(dict.fromkeys(META_FIELDS, _never))
    allowed, value_schema = additional_of(schema)
    others = detector(value_schema) if allowed else _never if keeps else None
    other_nulls = drops_null(value_schema)
    find = known.get

    def dirty(value: dict[str, Any]) -> bool:
        for name, each in value.items():
            inner = find(name, others)
            if inner is None:
                return True
            kind = each.__class__
            if kind is dict or kind is list:
                if inner(each):
                    return True
            elif each is None and (name in nulls or (other_nulls and name not in known)):
                return True
        return False

    return dirty


def prune(value: Any, schema: Obj | None, *, root: bool = True) -> list[str]:
    """Remove what the schema does not know; return the paths of what was removed, sorted."""
    unknown: list[str] = []
    start = dict(schema or {})
    if root:
        start["x-kubernetes-embedded-resource"] = True
    _prune(value, start, "", unknown)
    return sorted(unknown)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _prune(value: Any, schema: Obj | None, path: str, unknown: list[str]) -> None:
    if schema is not None and schema.get("x-kubernetes-preserve-unknown-fields"):
        _prune_known(value, schema, path, unknown)
    elif isinstance(value, dict):
        _prune_members(value, schema, path, unknown)
    elif isinstance(value, list):
        item = None if schema is None else schema.get("items")
        for index, each in enumerate(value):
            _prune(each, item, f"{path}[{index}]", unknown)


def _prune_members(value: Obj, schema: Obj | None, path: str, unknown: list[str]) -> None:
    if schema is None:
        unknown.extend(_below(path, name) for name in value)
        value.clear()
        return
    properties = schema.get("properties") or {}
    allowed, others = additional_of(schema)
    for name in list(value):
        if schema.get("x-kubernetes-embedded-resource") and name in META_FIELDS:
            continue
        if name in properties:
            _prune(value[name], properties[name], _below(path, name), unknown)
        elif allowed:
            _prune(value[name], others, _below(path, name), unknown)
        else:
            if path or name not in META_FIELDS:
                unknown.append(_below(path, name))
            del value[name]


def _prune_known(value: Any, schema: Obj | None, path: str, unknown: list[str]) -> None:
    """Remove nothing here, but go on where the schema knows more."""
    if schema is None:
        return
    if isinstance(value, dict):
        properties = schema.get("properties") or {}
        allowed, others = additional_of(schema)
        for name, each in value.items():
            if schema.get("x-kubernetes-embedded-resource") and name in META_FIELDS:
                continue
            if name in properties or allowed:
                _prune(each, properties.get(name, others), _below(path, name), unknown)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _prune_known(each, schema.get("items"), f"{path}[{index}]", unknown)


def drop_nulls(value: Any, schema: Obj | None) -> None:
    """Remove members that are null where null is not allowed, unless a default takes their place."""
    if isinstance(value, dict):
        properties = (schema or {}).get("properties") or {}
        _, others = additional_of(schema or {})
        for name in list(value):
            inner = properties.get(name, others)
            if value[name] is None and drops_null(inner):
                del value[name]
            else:
                drop_nulls(value[name], inner)
    elif isinstance(value, list):
        for each in value:
            drop_nulls(each, (schema or {}).get("items"))
