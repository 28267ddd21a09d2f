"""CustomResourceDefinitions with schemas at random, and objects for them."""

from random import Random
from typing import Any

from jobferry.objects import Obj
from tests.api import fuzz_values
from tests.api.fuzz_requests import Kind

GROUP = "fuzz.example.com"

RULES = (
    *(
        "self == oldSelf",
        "has(self.a)",
        "self.size() < 3",
        "self.all(x, x > 1)",
        "self",
        "1 / 0 == 1",
    ),
    *(
        "self.a.b.c == 1",
        "self + 1 > 2",
        "self.matches('(a+)+$')",
        "x",
        "",
        "true",
        "self.map(x, x)",
    ),
    *(
        "size(self) > 0 && self.exists(k, k == 'a')",
        "quantity(self).isLessThan(quantity('1'))",
        "[1][2] == 1",
    ),
    *(
        "duration('1s') < self",
        "'a' in self",
        "self.orValue(1) == 1",
        "optional.none().value() == 1",
    ),
    *(
        "self.format('%s') == ''",
        "url(self).getHost() == ''",
        "isIP(self)",
        "self[0] == self[1]",
        "-self < 0",
    ),
    *(
        "9223372036854775807 + self > 0",
        "self.__a__ == 1",
        "self.split('').size() > 1",
        "oldSelf.hasValue()",
    ),
)
FORMATS = (
    "date-time",
    "int32",
    "int64",
    "byte",
    "duration",
    "uuid",
    "ipv4",
    "email",
    "x",
    "quantity",
    "password",
)


def definition(rng: Random, number: int) -> tuple[Obj, Kind]:
    """Return a definition, and the kind that it defines."""
    plural, kind = f"things{number}", f"Thing{number}"
    version: Obj = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": root(rng)},
        "additionalPrinterColumns": [_column(rng) for _ in range(rng.randrange(3))],
    }
    subresources: tuple[str, ...] = ()
    if rng.random() < 0.5:
        version["subresources"] = {"status": {}}
        subresources = ("status",)
        if rng.random() < 0.5:
            scale = {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}
            version["subresources"]["scale"] = scale
            subresources = ("status", "scale")
    versions = [version]
    if rng.random() < 0.3:
        other = {
            **version,
            "name": "v1beta1",
            "storage": False,
            "schema": {"openAPIV3Schema": root(rng)},
        }
        versions.append(other)
    namespaced = rng.random() < 0.8
    found: Obj = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": versions,
        },
    }
    if rng.random() < 0.3:
        found = fuzz_values.mutated(rng, found)
    return found, Kind(f"{GROUP}/v1", plural, kind, namespaced, subresources, built_in=False)


def root(rng: Random) -> Obj:
    """Return the schema of an object."""
    return {
        "type": "object",
        "properties": {"spec": schema(rng, 4), "status": schema(rng, 3)},
        **({"x-kubernetes-preserve-unknown-fields": True} if rng.random() < 0.1 else {}),
    }


def schema(rng: Random, depth: int) -> Obj:
    """Return a schema, mostly a structural one."""
    kind = rng.choice(("object", "object", "array", "string", "integer", "number", "boolean"))
    found: Obj = {"type": kind}
    if kind == "object" and depth > 0:
        _fill_object(rng, found, depth)
    elif kind == "array" and depth > 0:
        _fill_array(rng, found, depth)
    elif kind == "string":
        found |= _some(
            rng,
            pattern=TEXTS_OF_PATTERNS,
            format=FORMATS,
            minLength=(0, 1, -1),
            maxLength=(0, 5),
        )
        found |= _some(rng, enum=(["a", "b"], ["a", "a"], [], [1]))
    else:
        found |= _some(
            rng,
            minimum=(0, -1, 1.5),
            maximum=(10, 2**53),
            multipleOf=(2, 0, 0.1),
            format=FORMATS,
        )
    found |= _some(
        rng,
        nullable=(True, False),
        default=(1, "a", None, {}, [], {"a": 1}, ["a"]),
        description=("x",),
    )
    if rng.random() < 0.1:
        rules = [
            {"rule": rng.choice(RULES), "message": "m"} for _ in range(rng.randrange(1, 3))
        ]
        found["x-kubernetes-validations"] = rules
    if rng.random() < 0.05:
        found = {"x-kubernetes-int-or-string": True}
    return fuzz_values.mutated(rng, found) if rng.random() < 0.02 else found


TEXTS_OF_PATTERNS = (
    "^a*$",
    "(a+)+$",
    "[",
    "(?i)x",
    r"\p{L}",
    r"^\d+$",
    "(?<=a)b",
    "a{1001}",
    r"(\w+\s?)+$",
    "",
)


def _fill_object(rng: Random, found: Obj, depth: int) -> None:
    if rng.random() < 0.2:
        found["additionalProperties"] = schema(rng, depth - 1)
        found |= _some(rng, minProperties=(0, 1), maxProperties=(1, 5))
        return
    names = rng.sample(
        ("a", "b", "c", "metadata", "kind", "é", "a-b", "in", "x.y"), rng.randrange(4)
    )
    found["properties"] = {name: schema(rng, depth - 1) for name in names}
    if names and rng.random() < 0.3:
        found["required"] = [rng.choice(names)]
    if rng.random() < 0.1:
        found["x-kubernetes-preserve-unknown-fields"] = True
    if rng.random() < 0.05:
        found["x-kubernetes-embedded-resource"] = True
    found |= _some(rng, **{"x-kubernetes-map-type": ("atomic", "granular")})
    if rng.random() < 0.1:
        found[rng.choice(("allOf", "anyOf", "oneOf"))] = [
            {"required": ["a"]},
            {"properties": {"b": {"minimum": 1}}},
        ]
    if rng.random() < 0.05:
        found["not"] = {"required": ["a"]}


def _fill_array(rng: Random, found: Obj, depth: int) -> None:
    found["items"] = schema(rng, depth - 1)
    found |= _some(rng, minItems=(0, 1), maxItems=(0, 3), uniqueItems=(False, True))
    if rng.random() < 0.3:
        found["x-kubernetes-list-type"] = rng.choice(("map", "set", "atomic"))
        if found["x-kubernetes-list-type"] == "map":
            found["items"] = {
                "type": "object",
                "required": ["a"],
                "properties": {
                    "a": {"type": rng.choice(("string", "integer", "object"))},
                    "b": schema(rng, 1),
                },
            }
            found["x-kubernetes-list-map-keys"] = ["a"]


def _column(rng: Random) -> Obj:
    paths = (
        ".spec.a",
        ".status.b",
        ".spec.a[0]",
        ".spec['a']",
        ".metadata.creationTimestamp",
        ".spec.a[?(@.b==1)].c",
        "..a",
        "{.a}",
        ".a[*]",
    )
    kinds = ("string", "integer", "number", "boolean", "date", "x")
    return {"name": "C", "type": rng.choice(kinds), "jsonPath": rng.choice(paths)}


def _some(rng: Random, **options: Any) -> Obj:
    return {name: rng.choice(values) for name, values in options.items() if rng.random() < 0.12}


def sample(rng: Random, found: Any, depth: int = 6) -> Any:
    """Return a value that a schema may accept."""
    if not isinstance(found, dict) or depth <= 0 or rng.random() < 0.03:
        return fuzz_values.value(rng)
    match found.get("type"):
        case "object":
            properties = found.get("properties")
            names = properties if isinstance(properties, dict) else {}
            made = {
                name: sample(rng, names[name], depth - 1)
                for name in names
                if rng.random() < 0.7
            }
            if "additionalProperties" in found or rng.random() < 0.1:
                made["z"] = sample(rng, found.get("additionalProperties"), depth - 1)
            return made
        case "array":
            return [sample(rng, found.get("items"), depth - 1) for _ in range(rng.randrange(4))]
        case "string":
            return rng.choice(("a", "b", "", *rng.choices(fuzz_values.TEXTS, k=3)))
        case "integer":
            return rng.choice((0, 1, 2, 5, -1, 2**31, 2**63 - 1))
        case "number":
            return rng.choice((0, 1, 2.5, -1, 1e300))
        case "boolean":
            return rng.random() < 0.5
    return fuzz_values.value(rng)
