"""Objects of built-in kinds out of thin air, as clients could write them."""

import base64
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from jobferry.localkube.apiserver.types import tables
from jobferry.localkube.apiserver.types.tables import Type

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - what hypothesis wants
TEXT = st.text(max_size=6)
RAW = st.dictionaries(
    TEXT, st.none() | st.booleans() | st.integers(-5, 5) | TEXT, min_size=1, max_size=2
)

CUSTOM: dict[str, st.SearchStrategy[Any]] = {
    "api/resource.Quantity": st.sampled_from(
        ["1", "0", "500m", "1.5Gi", "1024Mi", "12e6", "0.1"]
    ),
    "meta/v1.Time": st.datetimes(min_value=EPOCH).map(
        lambda when: when.replace(microsecond=0).isoformat() + "Z"
    ),
    "meta/v1.MicroTime": st.datetimes(min_value=EPOCH).map(
        lambda when: f"{when.replace(microsecond=0).isoformat()}.{when.microsecond:06}Z"
    ),
    "util/intstr.IntOrString": st.integers(-(2**31), 2**31 - 1) | TEXT,
    "meta/v1.FieldsV1": RAW,
    "pkg/runtime.RawExtension": RAW,
    "apiextensions/v1.JSON": RAW,
}
PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXT,
    "bool": st.booleans(),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False, allow_infinity=False, width=32),
}


def objects(api_version: str, kind: str) -> st.SearchStrategy[Any]:
    """Return objects of a kind."""
    struct = tables.type_of(api_version, kind)
    assert struct is not None
    return _struct(struct.name, 6)


@st.composite
def _struct(draw: st.DrawFn, name: str, depth: int) -> dict[str, Any]:
    members = tables.members(name)
    chosen = draw(st.lists(st.sampled_from(members), max_size=4)) if members and depth else []
    titles = ("kind", "apiVersion")
    return {
        member.field.name: draw(_value(member.field.type, depth - 1))
        for member in chosen
        if member.field.name not in titles
    }


def _value(type: Type, depth: int) -> st.SearchStrategy[Any]:
    match type.kind:
        case "pointer":
            return st.none() | _value(type.element, depth)
        case "slice" if type.is_bytes:
            return st.binary(max_size=5).map(lambda raw: base64.b64encode(raw).decode())
        case "slice":
            return st.lists(st.deferred(lambda: _value(type.element, depth)), max_size=2)
        case "map":
            return st.dictionaries(
                TEXT, st.deferred(lambda: _value(type.element, depth)), max_size=2
            )
        case "struct" if type.name in CUSTOM:
            return CUSTOM[type.name]
        case "struct" if tables.structure(type.name).custom:
            return _schema_or(type.name, depth)
        case "struct":
            return _struct(type.name, depth)
        case kind:
            return PLAIN[kind]


def _schema_or(name: str, depth: int) -> st.SearchStrategy[Any]:
    schema = _struct("apiextensions/v1.JSONSchemaProps", depth)
    if name.endswith("OrBool"):
        return st.booleans() | schema
    if name.endswith("OrStringArray"):
        return st.lists(TEXT, min_size=1, max_size=2) | schema
    return st.lists(schema, min_size=1, max_size=2) | schema
