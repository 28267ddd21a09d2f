"""A version's schema as OpenAPI v3 publishes it."""

from typing import Any

from jobferry.localkube.apiserver.types import schemas
from jobferry.objects import Obj

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_LEFT_OUT = ("externalDocs", "example")
_TEXT = {"type": "string"}


def schema_of(version: Obj) -> Obj:
    """Return the schema of one version of a definition, with what every object has."""
    given = (version.get("schema") or {}).get("openAPIV3Schema")
    if given is None:
        return {"type": "object"}
    published = _published(given)
    published["properties"] = {**(published.get("properties") or {}), **_type_and_metadata()}
    if version.get("selectableFields"):
        published["x-kubernetes-selectable-fields"] = [
            {"fieldPath": each["jsonPath"].removeprefix(".")}
            for each in version["selectableFields"]
        ]
    return published


def _type_and_metadata() -> Obj:
    reference = {"$ref": schemas.PREFIX + schemas.name_of("meta/v1.ObjectMeta")}
    return {"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"allOf": [reference]}}


def _published(schema: Obj) -> Obj:
    # Parts are shared with the definition, which nobody changes.
    result: dict[str, Any] = {
        name: value for name, value in schema.items() if name not in _LEFT_OUT
    }
    _unfold(result)
    if isinstance(result.get("items"), dict):
        result["items"] = _published(result["items"])
    if isinstance(result.get("additionalProperties"), dict):
        result["additionalProperties"] = _published(result["additionalProperties"])
    if result.get("properties"):
        result["properties"] = {
            name: _published(each) for name, each in result["properties"].items()
        }
    if result.get("x-kubernetes-embedded-resource"):
        result["properties"] = {**(result.get("properties") or {}), **_type_and_metadata()}
        needed = list(result.get("required") or ())
        needed += [name for name in ("kind", "apiVersion") if name not in needed]
        result["required"] = needed
    return result


def _unfold(schema: dict[str, Any]) -> None:
    """Say in plain OpenAPI that a value may be an integer or a string."""
    if not schema.get("x-kubernetes-int-or-string"):
        return
    every = schema.get("allOf") or []
    if schema.get("anyOf") == _INT_OR_STRING or (
        every and every[0].get("anyOf") == _INT_OR_STRING
    ):
        return
    if schema.get("anyOf"):
        schema["allOf"] = [{"anyOf": _INT_OR_STRING}, *every]
    else:
        schema["anyOf"] = _INT_OR_STRING
