"""How the fields of custom objects are owned and merged, from their schema."""

from typing import Any

from jobferry.localkube.apiserver.crds import pruning
from jobferry.localkube.apiserver.shapes import ANYTHING, SET, Leaf, ListMap, Shape, Struct
from jobferry.localkube.apiserver.types import shaping
from jobferry.objects import Obj

_SCALARS = {
    "string": Leaf("string"),
    "integer": Leaf("numeric"),
    "number": Leaf("numeric"),
    "boolean": Leaf("boolean"),
}
_UNTYPED = Leaf("untyped")


def metadata_shape() -> Shape:
    """Return the shape of every object's metadata."""
    return shaping.shape_of("v1", "Namespace").fields["metadata"]


def shape_of_schema(schema: Obj | None, *, root: bool = True) -> Shape:
    """Return how what a schema describes is owned and merged; at the root, as a whole object."""
    if schema is None:
        return ANYTHING
    if schema.get("x-kubernetes-int-or-string"):
        return _UNTYPED
    kind = schema.get("type")
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind == "array":
        return _list(schema)
    if kind == "object" or root:
        return _object(schema, root=root)
    return ANYTHING


def _object(schema: Obj, *, root: bool) -> Shape:
    properties: dict[str, Obj] = schema.get("properties") or {}
    allowed, others = pruning.additional_of(schema)
    fields: dict[str, Shape] = {
        name: shape_of_schema(each, root=False) for name, each in properties.items()
    }
    if root or schema.get("x-kubernetes-embedded-resource"):
        text = _SCALARS["string"]
        fields |= {"apiVersion": text, "kind": text, "metadata": metadata_shape()}
    rest: Shape | None = None
    if others is not None:
        rest = shape_of_schema(others, root=False)
    elif allowed or schema.get("x-kubernetes-preserve-unknown-fields") or not fields:
        rest = ANYTHING
    whole = ANYTHING if not fields and rest is ANYTHING else Struct(fields, rest)
    if schema.get("x-kubernetes-map-type") == "atomic":
        return Leaf(inner=whole)
    return whole


def _list(schema: Obj) -> Shape:
    items = schema.get("items")
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return SET
        case "map":
            keys = tuple(schema.get("x-kubernetes-list-map-keys") or ())
            return ListMap(
                keys, shape_of_schema(items, root=False), _defaults(items or {}, keys)
            )
    return Leaf(inner=ListMap((), shape_of_schema(items, root=False)))


def _defaults(items: Obj, keys: tuple[str, ...]) -> dict[str, Any]:
    known = items.get("properties") or {}
    return {
        key: known[key]["default"]
        for key in keys
        if known.get(key, {}).get("default") is not None
    }
