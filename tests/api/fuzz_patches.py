"""Patches of all four types, at random."""

from random import Random
from typing import Any

from jobferry.objects import Obj
from tests.api import fuzz_values
from tests.api.fuzz_values import dumps

JSON_PATCH, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"


def patch(rng: Random, about: tuple[str, str], obj: Obj) -> tuple[str, bytes]:
    """Return a patch for an object of a kind (its apiVersion and kind), with its content type."""
    match rng.choice((JSON_PATCH, MERGE, STRATEGIC, STRATEGIC, APPLY, APPLY)):
        case "application/json-patch+json":
            return JSON_PATCH, dumps([_operation(rng, obj) for _ in range(rng.randrange(1, 4))])
        case "application/apply-patch+yaml":
            return APPLY, dumps(_configuration(rng, about, obj))
        case found:
            changed = fuzz_values.mutated(rng, _part(rng, obj))
            if found == STRATEGIC:
                changed = _directed(rng, changed)
            return found, dumps(changed)


def _configuration(rng: Random, about: tuple[str, str], obj: Obj) -> Obj:
    metadata = obj.get("metadata") or {}
    kept: Obj = {"name": metadata.get("name")}
    if rng.random() < 0.2:
        kept["managedFields"] = metadata.get("managedFields")
    part = fuzz_values.mutated(rng, _part(rng, obj)) if rng.random() < 0.7 else _part(rng, obj)
    own = part.pop("metadata", None)
    if isinstance(own, dict):
        drop = ("managedFields", "name", "resourceVersion", "uid", "namespace")
        kept |= {key: own[key] for key in own if key not in drop}
    return {"apiVersion": about[0], "kind": about[1], **part, "metadata": kept}


def _part(rng: Random, obj: Obj) -> Obj:
    """Return some members of an object, down to some depth."""
    found: Obj = {}
    for key, value in obj.items():
        if rng.random() < 0.4:
            continue
        found[key] = (
            _part(rng, value) if isinstance(value, dict) and rng.random() < 0.7 else value
        )
    return found


def _operation(rng: Random, obj: Obj) -> Obj:
    """Return one operation of a JSON patch."""
    found: Obj = {"op": rng.choice(("add", "remove", "replace", "move", "copy", "test", "x"))}
    found["path"] = _pointer(rng, obj)
    if rng.random() < 0.9:
        found["value"] = fuzz_values.value(rng)
    if found["op"] in ("move", "copy"):
        found["from"] = _pointer(rng, obj)
    return fuzz_values.mutated(rng, found) if rng.random() < 0.1 else found


def _pointer(rng: Random, obj: Any) -> str:
    parts: list[str] = []
    while isinstance(obj, dict | list) and obj and rng.random() < 0.8:
        key = rng.choice(list(obj)) if isinstance(obj, dict) else rng.randrange(len(obj))
        parts.append(str(key))
        obj = obj[key]
    if rng.random() < 0.3:
        parts.append(
            rng.choice(("-", "0", "-1", "99999999999", "~", "~2", "a", "", "01", "1e3"))
        )
    return "".join(f"/{part.replace('/', '~1')}" for part in parts)


def _directed(rng: Random, changed: Obj) -> Obj:
    """Put directives of strategic merge patches in."""
    for container, key in fuzz_values.places(changed):
        if rng.random() > 0.1:
            continue
        if isinstance(container, dict) and isinstance(key, str):
            name = rng.choice(
                (
                    "$patch",
                    "$retainKeys",
                    f"$setElementOrder/{key}",
                    f"$deleteFromPrimitiveList/{key}",
                )
            )
            container[name] = rng.choice(
                ("replace", "merge", "delete", "x", [], ["a"], [{"name": "a"}], [key], None, 1)
            )
        elif isinstance(container, list):
            container.append(
                {"$patch": rng.choice(("replace", "delete", "merge", 1)), "name": "a"}
            )
    return changed
