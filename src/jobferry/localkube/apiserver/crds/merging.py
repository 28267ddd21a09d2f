"""How the fields of custom objects are owned and merged, from their schema."""

from typing import Any

from jobferry.localkube.apiserver.crds import pruning
from jobferry.localkube.apiserver.shapes import ANYTHING, Leaf, ListMap, SetOf, Shape, Struct
from jobferry.localkube.apiserver.types import shaping
from jobferry.objects import Obj

_SCALARS = {
    "string": Leaf("string"),
    "integer": Leaf("numeric"),
    "number": Leaf("numeric"),
    "boolean": Leaf("boolean"),
}


def metadata_shape() -> Shape:
    """Return the shape of every object's metadata."""
    return shaping.shape_of("v1", "Namespace").fields["metadata"]


def shape_of_schema(
    schema: Obj | None, *, root: bool = True, preserving: bool = False
) -> Shape:
    """Return how what a schema describes is owned and merged; at the root, as a whole object.

    `preserving`: something around it keeps unknown fields. For applying, upstream lets that count for all that
    is within, though what is unknown there is pruned in the end.
    """
    kind = schema.get("type") if schema else None
    if schema is None or schema.get("x-kubernetes-int-or-string"):
        return ANYTHING
    if kind in _SCALARS:
        return _SCALARS[kind]
    preserving = preserving or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if kind == "array":
        return _list(schema, preserving)
    if kind == "object" or root:
        return _object(schema, preserving, root=root)
    return ANYTHING


def _object(schema: Obj, preserving: bool, *, root: bool) -> Shape:
    properties: dict[str, Obj] = schema.get("properties") or {}
    allowed, others = pruning.additional_of(schema)
    fields = {name: _inner(each, preserving) for name, each in properties.items()}
    if root or schema.get("x-kubernetes-embedded-resource"):
        text = _SCALARS["string"]
        fields |= {"apiVersion": text, "kind": text, "metadata": metadata_shape()}
    rest: Shape | None = None
    if others is not None:
        rest = _inner(others, preserving)
    elif allowed or preserving or not fields:
        rest = ANYTHING
    whole = Struct(fields, rest)
    return Leaf(inner=whole) if schema.get("x-kubernetes-map-type") == "atomic" else whole


def _list(schema: Obj, preserving: bool) -> Shape:
    items = schema.get("items")
    item = _inner(items, preserving)
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return SetOf(item)
        case "map":
            keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
            return ListMap(keys, item, _defaults(items or {}, keys))
    return Leaf(inner=ListMap((), item))


def _inner(schema: Obj | None, preserving: bool) -> Shape:
    return shape_of_schema(schema, root=False, preserving=preserving)


def _defaults(items: Obj, keys: tuple[str, ...]) -> dict[str, Any]:
    known = items.get("properties") or {}
    return {
        key: known[key]["default"]
        for key in keys
        if known.get(key, {}).get("default") is not None
    }
