"""Draws what a CRD allows: workloads with members that nobody thought of when the adapters were written."""

import copy
from random import Random
from typing import Any

from jobferry.objects import Obj

DEEPEST = 4
"""How far below a member that is drawn others are."""

_FORMATS = {"date-time": "2026-11-17T11:00:00Z", "byte": "aGVsbG8="}


def schema_of(crd: Obj, version: str) -> Obj:
    """Return the schema of the spec of a kind."""
    served = next(each for each in crd["spec"]["versions"] if each["name"] == version)
    schema: Obj = served["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return schema


class Additions:
    """Adds members to the spec of a workload, as its schema has them."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def added(self, spec: Obj, schema: Obj, number: int) -> Obj:
        """Return a spec with some more members."""
        spec = copy.deepcopy(spec)
        for _ in range(number):
            self._add(spec, schema)
        return spec

    def _add(self, value: Any, schema: Obj) -> None:
        """Add a member here, or somewhere below."""
        if isinstance(value, list):
            if value:
                self._add(self._random.choice(value), schema.get("items") or {})
            return
        if not isinstance(value, dict):
            return
        known = schema.get("properties") or {}
        inner = [key for key in value if isinstance(value[key], dict | list)]
        absent = sorted(known.keys() - value.keys() - {"managedBy", "status"})
        if inner and (not absent or self._random.random() < 0.7):
            key = self._random.choice(inner)
            self._add(value[key], known.get(key) or schema.get("additionalProperties") or {})
        elif absent:
            key = self._random.choice(absent)
            value[key] = self._value(known[key], DEEPEST)

    def _value(self, schema: Obj, depth: int) -> Any:
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string"):
            return self._random.choice([1, "2"])
        match schema.get("type"):
            case "object" | None:
                return self._object(schema, depth)
            case "array":
                number = max(schema.get("minItems", 0), 1 if depth else 0)
                return [self._value(schema["items"], depth - 1) for _ in range(number)]
            case "string":
                return _FORMATS.get(schema.get("format", ""), "a")
            case "boolean":
                return self._random.random() < 0.5
            case _:
                return max(schema.get("minimum", 1), 1)

    def _object(self, schema: Obj, depth: int) -> Obj:
        known = schema.get("properties") or {}
        wanted = set(schema.get("required") or ())
        if depth > 0 and known:
            wanted |= set(self._random.sample(sorted(known), min(2, len(known))))
        made = {
            key: self._value(known[key], depth - 1) for key in sorted(wanted) if key in known
        }
        more = schema.get("additionalProperties")
        if depth > 0 and isinstance(more, dict):
            made["key"] = self._value(more, depth - 1)
        return made
