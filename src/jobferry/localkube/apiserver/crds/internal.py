"""A definition as kube-apiserver holds it while checking it, and how its errors show that.

What all versions have in common is moved to the top; values of Go structs are shown with Go's names.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj

_SCHEMA_FIELDS = (
    ("ID", "id", "text"), ("Schema", "$schema", "text"), ("Ref", "$ref", "any"),
    ("Description", "description", "text"), ("Type", "type", "text"),
    ("Nullable", "nullable", "flag"), ("Format", "format", "text"), ("Title", "title", "text"),
    ("Default", "default", "any"), ("Maximum", "maximum", "any"),
    ("ExclusiveMaximum", "exclusiveMaximum", "flag"), ("Minimum", "minimum", "any"),
    ("ExclusiveMinimum", "exclusiveMinimum", "flag"), ("MaxLength", "maxLength", "any"),
    ("MinLength", "minLength", "any"), ("Pattern", "pattern", "text"),
    ("MaxItems", "maxItems", "any"), ("MinItems", "minItems", "any"),
    ("UniqueItems", "uniqueItems", "flag"), ("MultipleOf", "multipleOf", "any"),
    ("Enum", "enum", "any"), ("MaxProperties", "maxProperties", "any"),
    ("MinProperties", "minProperties", "any"), ("Required", "required", "any"),
    ("Items", "items", "items"), ("AllOf", "allOf", "schemas"), ("OneOf", "oneOf", "schemas"),
    ("AnyOf", "anyOf", "schemas"), ("Not", "not", "schema"), ("Properties", "properties", "map"),
    ("AdditionalProperties", "additionalProperties", "or-bool"),
    ("PatternProperties", "patternProperties", "map"), ("Dependencies", "dependencies", "any"),
    ("AdditionalItems", "additionalItems", "or-bool"), ("Definitions", "definitions", "map"),
    ("ExternalDocs", "externalDocs", "any"), ("Example", "example", "any"),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", "any"),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", "flag"),
    ("XIntOrString", "x-kubernetes-int-or-string", "flag"),
    ("XListMapKeys", "x-kubernetes-list-map-keys", "any"),
    ("XListType", "x-kubernetes-list-type", "any"), ("XMapType", "x-kubernetes-map-type", "any"),
    ("XValidations", "x-kubernetes-validations", "rules"),
)  # fmt: skip
GO_NAMES = {name: go_name for go_name, name, _ in _SCHEMA_FIELDS}
_MOVED = (
    ("subresources", "subresources"),
    ("schema", "validation"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
)


def hoisted(spec: Obj) -> Obj:
    """Return a spec with what all its versions have in common at its top, as the checks see it."""
    versions: list[Obj] = [dict(version) for version in spec.get("versions") or ()]
    result = {**spec, "versions": versions}
    if not versions:
        return result
    result["version"] = versions[0].get("name", "")
    for name, top in _MOVED:
        shared = versions[0].get(name)
        if all(version.get(name) == shared for version in versions):
            if shared is not None:
                result[top] = shared
            for version in versions:
                version.pop(name, None)
    return result


def go_json(value: Any) -> str:
    """Return JSON as Go writes it: in the order given, and safe to put in HTML."""
    text = orjson.dumps(value).decode()
    for character, written in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(character, written)
    return text


def invalid_struct(field: str, value: Any, detail: str) -> Problem:
    """Report a Go value that breaks a rule."""
    return Problem("FieldValueInvalid", field, f"Invalid value: {go_json(value)}: {detail}")


def shown_rule(rule: Obj) -> Obj:
    """Return a rule with Go's names."""
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def shown_schema(schema: Obj | None) -> Any:
    """Return a schema with Go's names."""
    if schema is None:
        return None
    return {
        go_name: _shown_field(kind, schema.get(name)) for go_name, name, kind in _SCHEMA_FIELDS
    }


def _shown_items(value: Any) -> Any:
    if isinstance(value, list):
        return {"Schema": None, "JSONSchemas": [shown_schema(each) for each in value]}
    return {"Schema": shown_schema(value), "JSONSchemas": None}


def _shown_or_bool(value: Any) -> Any:
    schema = shown_schema(value) if isinstance(value, dict) else None
    return {"Allows": schema is not None or bool(value), "Schema": schema}


_SHOWN: Mapping[str, Callable[[Any], Any]] = {
    "any": lambda value: value,
    "schema": shown_schema,
    "schemas": lambda value: [shown_schema(each) for each in value],
    "map": lambda value: {key: shown_schema(value[key]) for key in sorted(value)},
    "items": _shown_items,
    "or-bool": _shown_or_bool,
    "rules": lambda value: [shown_rule(each) for each in value],
}


def _shown_field(kind: str, value: Any) -> Any:
    if kind == "text":
        return value or ""
    if kind == "flag":
        return bool(value)
    return None if value is None else _SHOWN[kind](value)


def shown_versions(versions: Sequence[Obj]) -> Any:
    """Return versions with Go's names."""
    return [
        {
            "Name": version.get("name", ""),
            "Served": bool(version.get("served")),
            "Storage": bool(version.get("storage")),
            "Deprecated": bool(version.get("deprecated")),
            "DeprecationWarning": version.get("deprecationWarning"),
            "Schema": _shown_validation(version.get("schema")),
            "Subresources": _shown_subresources(version.get("subresources")),
            "AdditionalPrinterColumns": _shown_columns(version.get("additionalPrinterColumns")),
            "SelectableFields": [
                {"JSONPath": each.get("jsonPath", "")} for each in version["selectableFields"]
            ]
            if version.get("selectableFields")
            else None,
        }
        for version in versions
    ]


def _shown_validation(validation: Obj | None) -> Any:
    if validation is None:
        return None
    return {"OpenAPIV3Schema": shown_schema(validation.get("openAPIV3Schema"))}


def _shown_subresources(subresources: Obj | None) -> Any:
    if subresources is None:
        return None
    scale = subresources.get("scale")
    return {
        "Status": {} if subresources.get("status") is not None else None,
        "Scale": None
        if scale is None
        else {
            "SpecReplicasPath": scale.get("specReplicasPath", ""),
            "StatusReplicasPath": scale.get("statusReplicasPath", ""),
            "LabelSelectorPath": scale.get("labelSelectorPath"),
        },
    }


def _shown_columns(columns: Sequence[Obj] | None) -> Any:
    if not columns:
        return None
    return [
        {
            "Name": column.get("name", ""),
            "Type": column.get("type", ""),
            "Format": column.get("format", ""),
            "Description": column.get("description", ""),
            "Priority": column.get("priority", 0),
            "JSONPath": column.get("jsonPath", ""),
        }
        for column in columns
    ]
