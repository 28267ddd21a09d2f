"""Requests at random: sensible ones, and ones that nobody in their right mind would send."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import yaml

from jobferry.localkube.apiserver import built_in
from jobferry.localkube.apiserver.types import tables
from jobferry.objects import Obj
from tests.api import fuzz_kinds, fuzz_values
from tests.api.fuzz_bombs import BOMBS
from tests.api.fuzz_options import DELETING, LISTING, ODD_NAMES, ODD_VALUES, WRITING
from tests.api.fuzz_patches import APPLY, JSON_PATCH, MERGE, STRATEGIC, patch
from tests.api.fuzz_server import Ask
from tests.api.fuzz_values import NUMBERS, TEXTS, dumps
from tests.api.types_rich import RICH

JSON, YAML = "application/json", "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
FORMS = (JSON, TABLE, PARTIAL, PARTIAL_LIST, YAML)

NAMESPACE = "fuzz"
SEEDS: dict[str, list[Obj]] = {}
for _kind, _obj in RICH:
    SEEDS.setdefault(_kind, []).append(_obj)


@dataclass(frozen=True, slots=True)
class Kind:
    """Something that is served."""

    api_version: str
    plural: str
    kind: str
    namespaced: bool
    subresources: tuple[str, ...] = ()
    built_in: bool = True

    def path(self, name: str = "", namespace: str = NAMESPACE) -> str:
        """Return where it is."""
        root = (
            f"/apis/{self.api_version}"
            if "/" in self.api_version
            else f"/api/{self.api_version}"
        )
        place = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{root}{place}/{self.plural}" + (f"/{name}" if name else "")


KINDS = [
    Kind(
        each.api_version,
        each.plural,
        each.kind,
        each.namespaced,
        tuple(each.subresources),
    )
    for each in built_in.resources()
]
STORED = [each for each in KINDS if not each.kind.endswith("Review") and each.kind != "Binding"]


@dataclass(slots=True)
class World:
    """What is there, as far as we know."""

    rng: Random
    objects: dict[tuple[Kind, str], Obj] = field(default_factory=dict)
    custom: list[Kind] = field(default_factory=list)
    samples: dict[Kind, Callable[[Random], Any]] = field(default_factory=dict)
    """What makes objects of custom kinds."""
    tokens: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=lambda: ["0", "1", "5"])
    made: int = 0

    def kind(self) -> Kind:
        """Choose a kind; those of pods and Jobs more often: they have the most rules."""
        if self.custom and self.rng.random() < 0.15:
            return self.rng.choice(self.custom)
        if self.rng.random() < 0.3:
            wanted = self.rng.choice(("Job", "Job", "Pod"))
            return next(each for each in KINDS if each.kind == wanted)
        return self.rng.choice(KINDS)

    def one(self) -> tuple[Kind, str, Obj] | None:
        """Choose an object that is there."""
        if not self.objects:
            return None
        (kind, name), obj = self.rng.choice(list(self.objects.items()))
        return kind, name, obj


def request(world: World) -> Ask:
    """Return the next request."""
    rng = world.rng
    chance = rng.random()
    if chance < 0.3:
        return creating(world)
    if chance < 0.62:
        return changing(world)
    if chance < 0.72:
        return reading(world)
    if chance < 0.78:
        return deleting(world)
    if chance < 0.86:
        return wandering(world)
    if chance < 0.92:
        return disguised(world)
    return garbled(world)


def new_object(world: World, kind: Kind) -> Obj:
    """Return an object that may be fine."""
    rng = world.rng
    world.made += 1
    name = f"f{world.made}"
    seeds = SEEDS.get(kind.kind) or [{}]
    obj: Obj = dict(rng.choice(seeds))
    if kind in world.samples:
        made = world.samples[kind](rng)
        obj = made if isinstance(made, dict) else {"spec": made}
    if rng.random() < 0.35 and kind.built_in:
        struct = tables.type_of(kind.api_version, kind.kind)
        assert struct is not None
        grown = fuzz_kinds.typed(rng, struct.name)
        if rng.random() < 0.5:  # one member at a time has a chance to be accepted
            keys = [key for key in grown if key not in ("metadata", "kind", "apiVersion")]
            grown = {key: grown[key] for key in rng.sample(keys, min(1, len(keys)))}
        obj = {**obj, **grown} if isinstance(grown, dict) else obj
    if rng.random() < 0.5:
        obj = fuzz_values.mutated(rng, obj)
    metadata = obj.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    metadata.pop("namespace", None)
    metadata.pop("generateName", None)
    metadata["name"] = name
    if rng.random() < 0.1:
        metadata = fuzz_values.mutated(rng, metadata)
    return {"apiVersion": kind.api_version, "kind": kind.kind, **obj, "metadata": metadata}


def creating(world: World) -> Ask:
    """Ask to create something."""
    rng, kind = world.rng, world.kind()
    path = kind.path()
    if kind.subresources and rng.random() < 0.1:
        path = (
            kind.path(f"f{rng.randrange(world.made + 1)}") + f"/{rng.choice(kind.subresources)}"
        )
    content_type, body = _encoded(world, kind)
    return Ask("POST", path + _query(rng, WRITING, 0.25), body, _headers(rng, content_type))


def _encoded(world: World, kind: Kind) -> tuple[str, bytes]:
    rng = world.rng
    chance = rng.random()
    if chance < 0.12 and kind.built_in:
        return PROTOBUF, fuzz_kinds.protobuf(rng, kind.api_version, kind.kind)
    obj = new_object(world, kind)
    if chance < 0.2:
        return YAML, yaml.safe_dump(obj, allow_unicode=rng.random() < 0.5).encode(
            "utf-8", "replace"
        )
    return JSON, dumps(obj)


def changing(world: World) -> Ask:
    """Ask to change something that is there."""
    rng = world.rng
    found = world.one()
    if found is None:
        return creating(world)
    kind, name, obj = found
    path = kind.path(name)
    if kind.subresources and rng.random() < 0.3:
        path += f"/{rng.choice(kind.subresources)}"
    if rng.random() < 0.25:
        changed = fuzz_values.mutated(rng, obj)
        if rng.random() < 0.6 and isinstance(changed.get("metadata"), dict):
            changed["metadata"].pop("resourceVersion", None)
        body = dumps(changed)
        return Ask("PUT", path + _query(rng, WRITING, 0.2), body, _headers(rng, JSON))
    content_type, body = patch(rng, (kind.api_version, kind.kind), obj)
    query = _query(rng, WRITING, 0.2)
    if content_type == APPLY and "fieldManager" not in query:
        query += ("&" if query else "?") + "fieldManager=" + rng.choice(("a", "b", "c"))
        query += rng.choice(("", "&force=true"))
    return Ask("PATCH", path + query, body, _headers(rng, content_type))


# -- the rest of a request -------------------------------------------------------------------------


def reading(world: World) -> Ask:
    """Ask to get, list or watch."""
    rng, kind = world.rng, world.kind()
    choices = dict(LISTING)
    if world.tokens:
        tokens = [*rng.choices(world.tokens, k=3), fuzz_values.bent(rng, world.tokens[-1])]
        choices["continue"] = (*tokens, *LISTING["continue"][:2])
    choices["resourceVersion"] = (
        *LISTING["resourceVersion"],
        *rng.choices(world.versions, k=6),
    )
    path = kind.path()
    if kind.namespaced and rng.random() < 0.3:
        path = path.replace(f"/namespaces/{NAMESPACE}", "")
    if world.objects and rng.random() < 0.3:
        found, name, _ = rng.choice([(*key, 0) for key in world.objects])
        path = found.path(name)
        if found.subresources and rng.random() < 0.4:
            path += f"/{rng.choice(found.subresources)}"
    accept = rng.choice((*FORMS, "application/json;stream=watch", f"{TABLE},{JSON}", "*/*"))
    return Ask("GET", path + _query(rng, choices, 0.15), b"", (("Accept", accept),))


def deleting(world: World) -> Ask:
    """Ask to delete one object, or many."""
    rng = world.rng
    found = world.one()
    options: Any = {
        "kind": "DeleteOptions",
        "apiVersion": rng.choice(("v1", "batch/v1", "meta.k8s.io/v1", "x")),
        "gracePeriodSeconds": rng.choice((0, 1, -1, None, "x")),
        "propagationPolicy": rng.choice(("Foreground", "Background", "Orphan", None, "x", 1)),
        "preconditions": rng.choice(
            (None, {}, {"uid": "x"}, {"resourceVersion": "1"}, "x", {"uid": 1})
        ),
    }
    body = dumps(fuzz_values.mutated(rng, options)) if rng.random() < 0.5 else b""
    if found is None or rng.random() < 0.1:
        path = world.kind().path()
    else:
        path = found[0].path(found[1])
    return Ask("DELETE", path + _query(rng, DELETING, 0.2), body, _headers(rng, JSON))


PARTS = [
    "",
    "api",
    "apis",
    "v1",
    "batch",
    "namespaces",
    "pods",
    "jobs",
    "watch",
    "proxy",
    "status",
    "scale",
    "finalize",
    "openapi",
    "v3",
    "v2",
    "healthz",
    "metrics",
    "version",
    "logs",
    ".",
    "..",
    "%2e%2e",
    "%2f",
    "%00",
    "%ff%fe",
    "%",
    "%zz",
    "a%20b",
    "é",
    "f1",
    "exec",
    "log",
    "apiextensions.k8s.io",
    "customresourcedefinitions",
    ";a=b",
    "*",
    "~",
    "\\",
    "token",
    NAMESPACE,
    "x" * 3000,
]
"""What paths are made of; the first is empty."""


def wandering(world: World) -> Ask:
    """Ask for a path that may be anything."""
    rng = world.rng
    path = "/" + "/".join(rng.choices(PARTS, k=rng.randrange(8)))
    if rng.random() < 0.3:
        path = fuzz_values.bent(rng, world.kind().path("f1")).replace("?", "")
    method = rng.choice(
        ("GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "FOO")
    )
    query = rng.choice(
        ("", "?", "?watch", "?%", "?=&=&&", "?a=b;c=d", "?" + "a=b&" * 500, "?watch=1&watch=0")
    )
    body = rng.choice((b"", b"{}", b"x"))
    return Ask(method, path.replace("#", "") + query, body, _headers(rng, JSON))


def disguised(world: World) -> Ask:
    """Ask with strange headers."""
    rng = world.rng
    odd = tuple(
        (rng.choice(ODD_NAMES), rng.choice(ODD_VALUES)) for _ in range(rng.randrange(1, 5))
    )
    ask = rng.choice((creating, changing, reading))(world)
    return Ask(ask.method, ask.target, ask.body, (*ask.headers, *odd), rng.random() < 0.3)


def garbled(world: World) -> Ask:
    """Ask with a body that is damaged."""
    rng = world.rng
    if rng.random() < 0.3:
        kind = world.kind()
        types = (JSON, YAML, PROTOBUF)
        body = rng.choice(BOMBS)
        if kind.kind == "Pod" and rng.random() < 0.5:
            content_type = rng.choice((JSON_PATCH, MERGE, STRATEGIC, APPLY))
            return Ask(
                "PATCH", kind.path("f1") + "?fieldManager=a", body, _headers(rng, content_type)
            )
        return Ask("POST", kind.path(), body, _headers(rng, rng.choice(types)))
    ask = rng.choice((creating, changing))(world)
    body = fuzz_values.bent_bytes(rng, ask.body)
    headers = ask.headers
    if rng.random() < 0.2:
        content_type = rng.choice(
            (JSON, YAML, PROTOBUF, JSON_PATCH, MERGE, STRATEGIC, APPLY, "x")
        )
        headers = _headers(rng, content_type)
    return Ask(ask.method, ask.target, body, headers)


def _query(rng: Random, choices: Mapping[str, tuple[str, ...]], chance: float) -> str:
    found = []
    for name, values in choices.items():
        if rng.random() < chance:
            value = rng.choice(values) if rng.random() < 0.95 else rng.choice(TEXTS)
            found.append((name, value))
    if rng.random() < 0.03:
        found.append((rng.choice(TEXTS), str(rng.choice(NUMBERS))))
    text = urlencode(found, quote_via=quote, errors="replace")
    return f"?{text}" if text else ""


def _headers(rng: Random, content_type: str) -> tuple[tuple[str, str], ...]:
    accept = rng.choice(FORMS) if rng.random() < 0.2 else JSON
    return ("Content-Type", content_type), ("Accept", accept), ("User-Agent", "fuzz/1")
