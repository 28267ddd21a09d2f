"""How each field of the built-in kinds is merged: the table behind strategic merge patches.

merge_keys.json is made from Kubernetes' own Go types by tools/tables (`make tables`). Fields that it
does not name are merged by default: objects member by member, lists as a whole.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import orjson

from jobferry.objects.patch_errors import Malformed


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Field:
    """How one field is merged."""

    strategy: str
    """"merge" a list, "replace" an object, or empty for the default."""

    key: str
    """The member by which the items of a list know each other; empty where they are plain values."""

    fields: "Fields"
    """What is in it, or in each of its items."""


Fields = Mapping[str, Field]
PLAIN = Field("", "", {})


def fields_of(api_version: str, kind: str) -> Fields:
    """Return the fields of a built-in kind; others have no strategic merge patch."""
    try:
        return _kinds()[f"{api_version}/{kind}"]
    except KeyError:
        raise Malformed("strategic merge patch format is not supported") from None


@functools.cache
def _kinds() -> Mapping[str, Fields]:
    text = resources.files("jobferry.objects").joinpath("merge_keys.json").read_bytes()
    table: dict[str, Any] = orjson.loads(text)
    types: dict[str, dict[str, Field]] = {name: {} for name in table["types"]}
    for name, fields in table["types"].items():
        for field, rule in fields.items():
            inner = types.get(rule.get("type"), {})
            types[name][field] = Field(rule.get("strategy", ""), rule.get("key", ""), inner)
    return {kind: types[name] for kind, name in table["kinds"].items()}
