"""Whole objects inside of custom objects: their type and metadata are read and checked like those of any object."""

from typing import Any

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.crds import pruning
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.types import readers
from jobferry.localkube.apiserver.types.leaves import Broken, Notes
from jobferry.localkube.apiserver.validation import metadata as metadata_rules
from jobferry.localkube.apiserver.validation import names
from jobferry.objects import Obj

EMBEDDED = "x-kubernetes-embedded-resource"

_UNKNOWN = 'unknown field "'


class BadMetadata(ValueError):
    """Metadata that cannot be read, in the words of Go's JSON decoder."""


def has_embedded(schema: Obj | None) -> bool:
    """Tell whether there is an embedded object below a schema."""
    if schema is None:
        return False
    return (
        bool(schema.get(EMBEDDED))
        or has_embedded(schema.get("items"))
        or has_embedded(pruning.additional_of(schema)[1])
        or any(map(has_embedded, (schema.get("properties") or {}).values()))
    )


def read_metadata(metadata: Any) -> tuple[Obj, list[str]]:
    """Return metadata with what it may hold, and the names of what it may not; raises `BadMetadata`."""
    found, notes = _read(metadata, in_order=False)
    if notes:
        found, notes = _read(metadata, in_order=True)
    if notes.mismatch is not None:
        raise BadMetadata(str(notes.mismatch))
    return found, [text.removeprefix(_UNKNOWN).removesuffix('"') for text in notes.strict]


def _read(metadata: Any, *, in_order: bool) -> tuple[Obj, Notes]:
    notes = Notes(in_order=in_order)
    try:
        return readers.of_struct("meta/v1.ObjectMeta")(metadata, None, notes), notes
    except Broken as error:
        notes.mismatch = error
        return {}, notes


def coerce(value: Any, schema: Obj | None, path: str, unknown: list[str]) -> Problem | None:
    """Read the metadata of embedded objects, drop what it may not hold; return what cannot be read."""
    if schema is None:
        return None
    if isinstance(value, dict):
        if schema.get(EMBEDDED) and (problem := _coerce_here(value, path, unknown)):
            return problem
        properties = schema.get("properties") or {}
        _, others = pruning.additional_of(schema)
        for name, each in value.items():
            known = name in properties
            below = (f"{path}.{name}" if path else name) if known else f"{path}[{name}]"
            if problem := coerce(each, properties.get(name, others), below, unknown):
                return problem
    elif isinstance(value, list):
        for index, each in enumerate(value):
            if problem := coerce(each, schema.get("items"), f"{path}[{index}]", unknown):
                return problem
    return None


def _coerce_here(value: Obj, path: str, unknown: list[str]) -> Problem | None:
    start = f"{path}." if path else ""
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            return problems.invalid(f"{start}{name}", value[name], "must be a string")
    if "metadata" not in value:
        return None
    try:
        value["metadata"], dropped = read_metadata(value["metadata"])
    except BadMetadata as error:
        return problems.invalid(f"{start}metadata", value["metadata"], str(error))
    unknown += [f"{start}metadata.{name}" for name in dropped]
    return None


def check(
    value: Any, schema: Obj | None, path: str = "", *, root: bool = False
) -> list[Problem]:
    """Find what is wrong with embedded objects, and with the whole when it is told to be one."""
    if schema is None:
        return []
    found: list[Problem] = []
    if isinstance(value, dict):
        if root or schema.get(EMBEDDED):
            found += _check_here(value, path)
        properties = schema.get("properties") or {}
        _, others = pruning.additional_of(schema)
        for name, each in value.items():
            known = name in properties
            below = (f"{path}.{name}" if path else name) if known else f"{path}[{name}]"
            found += check(each, properties.get(name, others), below)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            found += check(each, schema.get("items"), f"{path}[{index}]")
    return found


def _check_here(value: Obj, path: str) -> list[Problem]:
    start = f"{path}." if path else ""
    found = [
        problems.required(f"{start}{name}")
        for name in ("apiVersion", "kind")
        if name not in value
    ]
    for name in ("apiVersion", "kind"):
        if name not in value:
            continue
        if not isinstance(value[name], str):
            found.append(problems.invalid(f"{start}{name}", value[name], "must be a string"))
        elif not value[name]:
            found.append(problems.invalid(f"{start}{name}", "", "must not be empty"))
        elif name == "kind" and (wrong := names.old_label_problems(value[name].lower())):
            words = "may have mixed case, but should otherwise match: " + ",".join(wrong)
            found.append(problems.invalid(f"{start}{name}", value[name], words))
        elif name == "apiVersion" and value[name].count("/") > 1:
            words = f"unexpected GroupVersion string: {value[name]}"
            found.append(problems.invalid(f"{start}{name}", value[name], words))
    if "metadata" in value:
        found += _check_metadata(value["metadata"], f"{start}metadata")
    return found


def _check_metadata(metadata: Any, path: str) -> list[Problem]:
    try:
        read, _ = read_metadata(metadata)
    except BadMetadata as error:
        return [problems.invalid(path, metadata, str(error))]
    named = {"metadata": {**read, "name": read.get("name") or "fakename"}}
    found = metadata_rules.create_problems(
        named,
        namespaced=bool(read.get("namespace")),
        name_problems=names.is_path_segment,
        legacy_finalizers=False,
    )
    return [
        Problem(each.reason, path + each.field.removeprefix("metadata"), each.body)
        for each in found
    ]
