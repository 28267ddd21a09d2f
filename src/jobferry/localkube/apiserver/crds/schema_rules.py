"""What the schema of a custom resource may say, besides being structural."""

import re
from dataclasses import dataclass, replace
from typing import Any

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.crds import internal, pruning, rules, schema_paths
from jobferry.localkube.apiserver.crds.cel import declared
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj

TYPES = ("array", "boolean", "integer", "number", "object", "string")
REASONS = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_LIST_TYPE, _LIST_KEYS = "x-kubernetes-list-type", "x-kubernetes-list-map-keys"
_MAP_TYPE = "x-kubernetes-map-type"
_NOT_SUPPORTED = (
    ("id", "id"),
    ("additionalItems", "additionalItems"),
    ("patternProperties", "patternProperties"),
    ("definitions", "definitions"),
    ("dependencies", "dependencies"),
    ("$ref", "$ref"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a schema is: what counts for it because of what is around it."""

    root: bool = False
    in_metadata: bool = False
    no_defaults: str | None = None
    """Why defaults are not allowed; None: they are."""
    uncorrelated: str | None = None
    """The list around it of which items cannot be followed through an update."""
    with_rules: bool = True
    """Whether rules are compiled."""


@dataclass(slots=True)
class Findings:
    """Problems of the schema, and of its rules: those only count where the schema is right."""

    schema: list[Problem]
    rules: list[Problem]

    def merge(self, other: "Findings") -> None:
        """Add those of a part."""
        self.schema += other.schema
        self.rules += other.rules


def check(schema: Obj, path: str, *, with_rules: bool) -> list[Problem]:
    """Find what is wrong with a whole schema."""
    found = _check(schema, path, Place(root=True, with_rules=with_rules))
    return found.schema + found.rules


def _check(schema: Obj, path: str, place: Place) -> Findings:
    found = Findings(_standard(schema, path, place), [])
    if schema.get("uniqueItems"):
        words = (
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        )
        found.schema.append(problems.forbidden(f"{path}.uniqueItems", words))
    _check_members(schema, path, place, found)
    _check_combinations(schema, path, place, found)
    _check_items(schema, path, place, found)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        at = f"{path}.x-kubernetes-preserve-unknown-fields"
        found.schema.append(problems.invalid(at, False, "must be true or undefined"))
    found.schema += (
        _map_type(schema, path) + _list_type(schema, path) + list_map_rules(schema, path)
    )
    _check_rules(schema, path, place, found)
    return found


def _standard(schema: Obj, path: str, place: Place) -> list[Problem]:
    found: list[Problem] = []
    kind = schema.get("type")
    if kind and kind not in TYPES:
        found.append(problems.not_supported(f"{path}.type", kind, TYPES))
    if schema.get("default") is not None and place.no_defaults is not None:
        words = f"must not be set {place.no_defaults}".strip()
        found.append(problems.forbidden(f"{path}.default", words))
    for name, shown in _NOT_SUPPORTED:
        value = schema.get(name)
        if value or (value is not None and name in ("additionalItems", "dependencies", "$ref")):
            found.append(problems.forbidden(f"{path}.{name}", f"{shown} is not supported"))
    if kind == "null":
        words = "type cannot be set to null, use nullable as an alternative"
        found.append(problems.forbidden(f"{path}.type", words))
    if isinstance(schema.get("items"), list) and schema["items"]:
        words = "items must be a schema object and not an array"
        found.append(problems.forbidden(f"{path}.items", words))
    if place.in_metadata and schema.get("x-kubernetes-embedded-resource"):
        at = f"{path}.x-kubernetes-embedded-resource"
        found.append(problems.forbidden(at, "must not be used inside of resource meta"))
    return found


def _check_members(schema: Obj, path: str, place: Place, found: Findings) -> None:
    allowed, others = pruning.additional_of(schema)
    properties = schema.get("properties") or {}
    inner = replace(place, root=False)
    if allowed:
        if properties and (others is not None or not schema["additionalProperties"]):
            words = "additionalProperties and properties are mutual exclusive"
            found.schema.append(problems.forbidden(f"{path}.additionalProperties", words))
        if others is not None:
            below = inner
            if place.in_metadata:
                words = "inside additionalProperties applying to object metadata"
                below = replace(inner, no_defaults=words)
            found.merge(_check(others, f"{path}.additionalProperties", below))
    embedded = bool(schema.get("x-kubernetes-embedded-resource"))
    for name in sorted(properties):
        below = inner
        if (place.root or embedded) and name in pruning.META_FIELDS:
            below = replace(below, in_metadata=True)
            if place.root:
                below = replace(below, no_defaults=f"in top-level {name}")
        found.merge(_check(properties[name], f"{path}.properties[{name}]", below))


def _check_combinations(schema: Obj, path: str, place: Place, found: Findings) -> None:
    inner = replace(place, root=False, with_rules=False)
    if schema.get("not") is not None:
        found.merge(_check(schema["not"], f"{path}.not", inner))
    for name in ("allOf", "oneOf", "anyOf"):
        for index, each in enumerate(schema.get(name) or ()):
            found.merge(_check(each, f"{path}.{name}[{index}]", inner))
    for name, each in (schema.get("definitions") or {}).items():
        found.merge(_check(each, f"{path}.definitions[{name}]", inner))


def _check_items(schema: Obj, path: str, place: Place, found: Findings) -> None:
    items = schema.get("items")
    if items is None:
        return
    inner = replace(place, root=False)
    if schema.get(_LIST_TYPE) != "map" and inner.uncorrelated is None:
        inner = replace(inner, uncorrelated=path)
    if isinstance(items, list):
        for index, each in enumerate(items):
            found.merge(_check(each, f"{path}.items[{index}]", inner))
    else:
        found.merge(_check(items, f"{path}.items", inner))


def _must_be(kind: str, schema: Obj, path: str, extension: str) -> list[Problem]:
    words = f"must be {kind} if {extension} is specified"
    given = schema.get("type") or ""
    at = f"{path}.type"
    return [problems.invalid(at, given, words) if given else problems.required(at, words)]


def _map_type(schema: Obj, path: str) -> list[Problem]:
    kind = schema.get(_MAP_TYPE)
    if kind is None:
        return []
    found = (
        [] if schema.get("type") == "object" else _must_be("object", schema, path, _MAP_TYPE)
    )
    if kind not in ("atomic", "granular"):
        found.append(
            problems.not_supported(f"{path}.{_MAP_TYPE}", kind, ("atomic", "granular"))
        )
    return found


def _list_type(schema: Obj, path: str) -> list[Problem]:
    kind = schema.get(_LIST_TYPE)
    found: list[Problem] = []
    items = schema.get("items")
    if kind is not None and schema.get("type") != "array":
        found += _must_be("array", schema, path, _LIST_TYPE)
    elif kind == "set" and isinstance(items, dict):
        found += _set_items(items, path)
    if kind is not None and kind not in ("atomic", "set", "map"):
        found.append(
            problems.not_supported(f"{path}.{_LIST_TYPE}", kind, ("atomic", "set", "map"))
        )
    if schema.get(_LIST_KEYS):
        words = f"must be map if {_LIST_KEYS} is non-empty"
        at = f"{path}.{_LIST_TYPE}"
        if kind is None:
            found.append(problems.required(at, words))
        elif kind != "map":
            found.append(problems.invalid(at, kind, words))
    if kind == "map":
        found += _map_list(schema, path)
    return found


def _set_items(items: Obj, path: str) -> list[Problem]:
    words = f"must be atomic as item of a list with {_LIST_TYPE}=set"
    kind = items.get(_LIST_TYPE)
    if items.get("type") == "array" and kind not in (None, "atomic"):
        return [problems.invalid(f"{path}.items.{_LIST_TYPE}", kind, words)]
    if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
        return [problems.invalid(f"{path}.items.{_MAP_TYPE}", kind, words)]
    return []


def _map_list(schema: Obj, path: str) -> list[Problem]:
    found: list[Problem] = []
    keys: list[str] = schema.get(_LIST_KEYS) or []
    items = schema.get("items")
    if not keys:
        words = f"must not be empty if {_LIST_TYPE} is map"
        found.append(problems.required(f"{path}.{_LIST_KEYS}", words))
    if items is None:
        words = f"must have a schema if {_LIST_TYPE} is map"
        return [*found, problems.required(f"{path}.items", words)]
    if isinstance(items, list):
        words = f"must only have a single schema if {_LIST_TYPE} is map"
        shown = {"Schema": None, "JSONSchemas": [internal.shown_schema(each) for each in items]}
        return [*found, internal.invalid_struct(f"{path}.items", shown, words)]
    if items.get("type") != "object":
        words = f"must be object if parent array's {_LIST_TYPE} is map"
        return [*found, problems.invalid(f"{path}.items.type", items.get("type") or "", words)]
    seen: set[str] = set()
    for key in keys:
        inner = (items.get("properties") or {}).get(key)
        if inner is None:
            words = "entries must all be names of item properties"
            found.append(problems.invalid(f"{path}.{_LIST_KEYS}", keys, words))
        elif inner.get("type") in ("array", "object"):
            words = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
            at = f"{path}.items.properties[{key}].type"
            found.append(problems.invalid(at, items.get("type"), words))
        if key in seen:
            words = "must not contain duplicate entries"
            found.append(problems.invalid(f"{path}.{_LIST_KEYS}", keys, words))
        seen.add(key)
    return found


def list_map_rules(schema: Obj, path: str) -> list[Problem]:
    """Find what keeps items of a set or map from being told apart."""
    items, kind = schema.get("items"), schema.get(_LIST_TYPE)
    if not isinstance(items, dict) or kind not in ("set", "map"):
        return []
    found: list[Problem] = []
    if items.get("nullable"):
        words = f"cannot be nullable when {_LIST_TYPE} is {kind}"
        found.append(problems.forbidden(f"{path}.items.nullable", words))
    if kind == "set":
        return found
    known = items.get("properties") or {}
    for key in schema.get(_LIST_KEYS) or ():
        if key not in known:
            continue
        at = f"{path}.items.properties[{key}]"
        words = f"this property is in {_LIST_KEYS}, so it"
        if key not in (items.get("required") or ()) and known[key].get("default") is None:
            needed = f"{words} must have a default or be a required property"
            found.append(problems.required(f"{at}.default", needed))
        if known[key].get("nullable"):
            found.append(problems.forbidden(f"{at}.nullable", f"{words} cannot be nullable"))
    return found


def _check_rules(schema: Obj, path: str, place: Place, found: Findings) -> None:
    given: list[Obj] = schema.get(rules.RULES) or []
    for index, rule in enumerate(given):
        found.schema += _rule_shape(schema, rule, f"{path}.{rules.RULES}[{index}]")
    if not given or found.schema or not place.with_rules:
        return
    known = declared.declared(schema, root=place.root)
    at = f"{path}.{rules.RULES}"
    if known is None:
        words = "failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations"
        found.rules.append(
            Problem("InternalError", at, f"Internal error: internal error: {words}")
        )
        return
    for index, rule in enumerate(given):
        found.rules += _compiled(schema, rule, known[0], f"{at}[{index}]", place)


def _compiled(schema: Obj, rule: Obj, type_: Any, at: str, place: Place) -> list[Problem]:
    try:
        compiled = rules.compile_rule(rule, schema, type_)
    except rules.BadRule as bad:
        return [internal.invalid_struct(f"{at}.{bad.at}", internal.shown_rule(rule), str(bad))]
    if compiled.uses_old:
        if place.uncorrelated is not None:
            words = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
            return [problems.invalid(f"{at}.rule", rule["rule"], words)]
    elif rule.get("optionalOldSelf") is not None:
        words = "may not be set if oldSelf is not used in rule"
        return [problems.invalid(f"{at}.optionalOldSelf", rule["optionalOldSelf"], words)]
    return []


def _rule_shape(schema: Obj, rule: Obj, at: str) -> list[Problem]:
    found = _rule_texts(rule, at)
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        words = "messageExpression must be non-empty if specified"
        found.append(problems.required(f"{at}.messageExpression", words))
    reason = rule.get("reason")
    if reason is not None and reason not in REASONS:
        found.append(problems.not_supported(f"{at}.reason", reason, REASONS))
    path = rule.get("fieldPath") or ""
    if path and not path.strip():
        words = "must be non-empty if specified"
        found.append(problems.invalid(f"{at}.fieldPath", path, words))
    if re.search(r"[\n\r]", path):
        found.append(problems.invalid(f"{at}.fieldPath", path, "must not contain line breaks"))
    if path:
        try:
            schema_paths.follow(path, schema)
        except schema_paths.BadPath:
            found.append(problems.invalid(f"{at}.fieldPath", path, "must be a valid path"))
    return found


def _rule_texts(rule: Obj, at: str) -> list[Problem]:
    text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
    trimmed = message.strip()
    if not text:
        return [problems.required(f"{at}.rule", "rule is not specified")]
    if message and not trimmed:
        return [problems.invalid(f"{at}.message", message, "must be non-empty if specified")]
    if re.search(r"[\n\r]", trimmed):
        return [problems.invalid(f"{at}.message", message, "must not contain line breaks")]
    if re.search(r"[\n\r]", text) and not trimmed:
        words = "message must be specified if rule contains line breaks"
        return [problems.required(f"{at}.message", words)]
    return []
