"""Whether a schema is structural: every field has a type, and what only restricts adds no structure."""

from collections.abc import Callable, Iterator

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.crds import patterns, pruning
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj

_UNSUPPORTED = (
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
)
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_EMBEDDED = "x-kubernetes-embedded-resource"
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_STRING = "x-kubernetes-int-or-string"
_NESTED_FORBIDDEN = (
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (_PRESERVE, "must be false to be structural"),
    (_EMBEDDED, "must be false to be structural"),
    (_INT_STRING, "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_EMPTY_TYPE = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}


def children(schema: Obj) -> Iterator[Obj]:
    """Yield the schemas directly inside of one, of every sort."""
    items = schema.get("items")
    yield from items if isinstance(items, list) else [items] if items is not None else []
    for name in ("allOf", "anyOf", "oneOf"):
        yield from schema.get(name) or ()
    if schema.get("not") is not None:
        yield schema["not"]
    for name in ("properties", "patternProperties", "definitions"):
        yield from (schema.get(name) or {}).values()
    for name in ("additionalProperties", "additionalItems"):
        if isinstance(schema.get(name), dict):
            yield schema[name]
    for dependency in (schema.get("dependencies") or {}).values():
        if isinstance(dependency, dict):
            yield dependency


def has(schema: Obj | None, test: Callable[[Obj], object]) -> bool:
    """Tell whether a test holds for a schema or one inside of it."""
    if schema is None:
        return False
    return bool(test(schema)) or any(has(each, test) for each in children(schema))


def conversion_problem(schema: Obj) -> str | None:
    """Say what a structural schema has no place for, or return None."""
    for name, shown in _UNSUPPORTED:
        value = schema.get(name)
        if value or (name == "additionalItems" and value is not None):
            return f"OpenAPIV3Schema '{shown}' is not supported"
    if schema.get(_PRESERVE) is False:
        return f"internal error: '{_PRESERVE}' must be true or undefined"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    for each in children(schema):
        if problem := conversion_problem(each):
            return problem
    return None


def check(schema: Obj, path: str) -> list[Problem]:
    """Find what keeps a schema from being structural."""
    found: list[Problem] = []
    _invariants(schema, "root", path, found)
    _restrictions_complete(schema, schema, path, path, found)
    return sorted(found, key=str)


def _invariants(schema: Obj, level: str, path: str, found: list[Problem]) -> None:
    items = schema.get("items")
    if schema.get("type") == "array" and items is None:
        found.append(problems.required(f"{path}.items", "must be specified"))
    if items is not None:
        _invariants(items, "item", f"{path}.items", found)
    for name, each in (schema.get("properties") or {}).items():
        _invariants(each, "field", f"{path}.properties[{name}]", found)
    allowed, others = pruning.additional_of(schema)
    if allowed and level == "root":
        words = "must not be used at the root"
        found.append(problems.forbidden(f"{path}.additionalProperties", words))
    if others is not None:
        _invariants(others, "field", f"{path}.additionalProperties", found)
    _extensions(schema, path, found)
    skip_any = schema.get("anyOf") == _INT_OR_STRING
    every: list[Obj] = schema.get("allOf") or []
    skip_first = bool(every) and every[0].get("anyOf") == _INT_OR_STRING
    _restrictions(schema, path, found, skip_any=skip_any, skip_first=skip_first)
    _type_rules(schema, level, path, found, has_additional=allowed)
    _metadata_rules(schema, level, path, found)


def _extensions(schema: Obj, path: str, found: list[Problem]) -> None:
    if schema.get(_INT_STRING):
        words = f"must be false if {_INT_STRING} is true"
        found += [
            problems.invalid(f"{path}.{name}", True, words)
            for name in (_PRESERVE, _EMBEDDED)
            if schema.get(name)
        ]


def _type_rules(
    schema: Obj, level: str, path: str, found: list[Problem], *, has_additional: bool
) -> None:
    kind = schema.get("type") or ""
    if schema.get(_EMBEDDED) and kind != "object":
        words = f"must be object if {_EMBEDDED} is true"
        at = f"{path}.type"
        found.append(
            problems.invalid(at, kind, words) if kind else problems.required(at, words)
        )
    elif not kind and not schema.get(_INT_STRING) and not schema.get(_PRESERVE):
        found.append(problems.required(f"{path}.type", _EMPTY_TYPE[level]))
    if schema.get(_EMBEDDED) and has_additional:
        words = f"must not be used if {_EMBEDDED} is set"
        found.append(problems.forbidden(f"{path}.additionalProperties", words))
    if level == "root" and kind and kind != "object":
        found.append(problems.invalid(f"{path}.type", kind, "must be object at the root"))
    if schema.get(_EMBEDDED) and not schema.get(_PRESERVE) and not schema.get("properties"):
        words = f"must not be empty if {_EMBEDDED} is true without {_PRESERVE}"
        found.append(problems.required(f"{path}.properties", words))


def _metadata_rules(schema: Obj, level: str, path: str, found: list[Problem]) -> None:
    properties = schema.get("properties") or {}
    is_object = level == "root" or bool(schema.get(_EMBEDDED))
    for name in ("kind", "apiVersion"):
        if name in properties and is_object and properties[name].get("type") != "string":
            at = f"{path}.properties[{name}].type"
            found.append(
                problems.invalid(at, properties[name].get("type") or "", "must be string")
            )
    if "metadata" not in properties:
        return
    metadata, at = properties["metadata"], f"{path}.properties[metadata]"
    if is_object and metadata.get("type") != "object":
        found.append(
            problems.invalid(f"{at}.type", metadata.get("type") or "", "must be object")
        )
    if level == "root" and not _only_names(metadata):
        words = "must not specify anything other than name and generateName, but metadata is implicitly specified"
        found.append(problems.forbidden(at, words))


def _only_names(metadata: Obj) -> bool:
    rest = {
        name
        for name, value in metadata.items()
        if value not in (None, "", False, [], {})
        and name not in ("type", "default", "properties")
    }
    named = set(metadata.get("properties") or ())
    return not rest and named <= {"name", "generateName"}


def _restrictions(
    schema: Obj, path: str, found: list[Problem], *, skip_any: bool, skip_first: bool = False
) -> None:
    if not skip_any:
        for index, each in enumerate(schema.get("anyOf") or ()):
            _nested(each, f"{path}.anyOf[{index}]", found)
    for index, each in enumerate(schema.get("allOf") or ()):
        _nested(each, f"{path}.allOf[{index}]", found, skip_any=skip_first and index == 0)
    for index, each in enumerate(schema.get("oneOf") or ()):
        _nested(each, f"{path}.oneOf[{index}]", found)
    if schema.get("not") is not None:
        _nested(schema["not"], f"{path}.not", found)
    pattern = schema.get("pattern")
    if pattern and (problem := patterns.problem(pattern)):
        words = f"must be a valid regular expression, but isn't: {problem}"
        found.append(problems.invalid(f"{path}.pattern", pattern, words))


def _nested(schema: Obj, path: str, found: list[Problem], *, skip_any: bool = False) -> None:
    _restrictions(schema, path, found, skip_any=skip_any)
    if schema.get("items") is not None:
        _nested(schema["items"], f"{path}.items", found)
    properties = schema.get("properties") or {}
    for name, each in properties.items():
        _nested(each, f"{path}.properties[{name}]", found)
    if schema.get("type"):
        found.append(problems.forbidden(f"{path}.type", "must be empty to be structural"))
    allowed, others = pruning.additional_of(schema)
    if others is not None or (allowed and schema["additionalProperties"]):
        words = "must be undefined to be structural"
        found.append(problems.forbidden(f"{path}.additionalProperties", words))
    for name, words in _NESTED_FORBIDDEN:
        value = schema.get(name)
        if value or (
            value is not None
            and name in ("default", "x-kubernetes-list-type", "x-kubernetes-map-type")
        ):
            found.append(problems.forbidden(f"{path}.{name}", words))
    if "metadata" in properties:
        words = "must not be specified in a nested context"
        found.append(problems.forbidden(f"{path}.properties[metadata]", words))


def _restrictions_complete(
    restricting: Obj, schema: Obj | None, path: str, at: str, found: list[Problem]
) -> None:
    """Whatever is restricted must be there without the restriction too."""
    if restricting.get("not") is not None:
        _complete(restricting["not"], schema, path, f"{at}.not", found)
    for name in ("allOf", "anyOf", "oneOf"):
        for index, each in enumerate(restricting.get(name) or ()):
            _complete(each, schema, path, f"{at}.{name}[{index}]", found)


def _complete(
    restricting: Obj, schema: Obj | None, path: str, at: str, found: list[Problem]
) -> None:
    if schema is None:
        found.append(problems.required(path, f"because it is defined in {at}"))
        return
    _restrictions_complete(restricting, schema, path, at, found)
    if restricting.get("items") is not None:
        _complete(
            restricting["items"], schema.get("items"), f"{path}.items", f"{at}.items", found
        )
    known = schema.get("properties") or {}
    for name, each in (restricting.get("properties") or {}).items():
        below, there = f"{path}.properties[{name}]", f"{at}.properties[{name}]"
        _complete(each, known.get(name), below, there, found)
