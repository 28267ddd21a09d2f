"""Definitions of custom resources, right and wrong, one thing at a time."""

from typing import Any

from jobferry.objects import Obj

GROUP = "rules.example.com"
TEXT = {"type": "string"}


def crd(schema: Any = None, /, *, name: str = "", **spec: Any) -> Obj:
    """Return a definition of Widgets with one version, changed as told."""
    given: Obj = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [version(schema)],
    }
    given.update(spec)
    given = {key: value for key, value in given.items() if value is not None}
    plural = (given.get("names") or {}).get("plural", "widgets")
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name or f"{plural}.{given.get('group', GROUP)}"},
        "spec": given,
    }


def version(schema: Any = None, name: str = "v1", **more: Any) -> Obj:
    """Return one version, stored and served."""
    whole = schema if schema is not None else {"type": "object"}
    return {
        "name": name,
        "served": True,
        "storage": name == "v1",
        "schema": {"openAPIV3Schema": whole},
        **more,
    }


def of_spec(**fields: Any) -> Obj:
    """Return a schema whose spec has these fields."""
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": fields}},
    }


def _embedded(**properties: Any) -> Obj:
    whole = {"type": "object", "x-kubernetes-embedded-resource": True}
    return of_spec(a={**whole, "properties": properties})


def rule(text: str, **more: Any) -> Obj:
    """Return a schema whose spec has one rule."""
    short = {"type": "string", "maxLength": 20}
    schema = of_spec(
        a={"type": "integer"},
        s=short,
        l={"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 9}},
        o={"type": "object", "properties": {"x": short, "x-y": short, "namespace": short}},
        m={"type": "object", "maxProperties": 5, "additionalProperties": {"type": "integer"}},
        t={"type": "string", "format": "date-time"},
        d={"type": "string", "format": "duration"},
        n={"type": "number"},
        i={"x-kubernetes-int-or-string": True},
        p={"x-kubernetes-preserve-unknown-fields": True},
        lm={
            "type": "array",
            "maxItems": 5,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "required": ["k"],
                "properties": {
                    "k": {"type": "string", "maxLength": 9},
                    "v": {"type": "integer"},
                },
            },
        },
    )
    schema["properties"]["spec"]["x-kubernetes-validations"] = [{"rule": text, **more}]
    return schema


STATUS: Obj = {"status": {}}

NAMES_AND_VERSIONS: dict[str, Obj] = {
    "plain": crd(),
    "wrong name": crd(name="gadgets.rules.example.com"),
    "no group": crd(group=""),
    "group without a dot": crd(group="example", name="widgets.example"),
    "bad group": crd(group="Rules.example.com", name="widgets.Rules.example.com"),
    "no scope": crd(scope=""),
    "bad scope": crd(scope="Galaxy"),
    "no names": crd(names={}),
    "no kind": crd(names={"plural": "widgets"}),
    "bad kind": crd(names={"plural": "widgets", "kind": "Wid_get"}),
    "bad singular": crd(names={"plural": "widgets", "kind": "Widget", "singular": "Widget"}),
    "bad plural": crd(names={"plural": "Widgets", "kind": "Widget"}),
    "long plural": crd(names={"plural": "w" * 64, "kind": "Widget"}),
    "kind is list kind": crd(
        names={"plural": "widgets", "kind": "Widget", "listKind": "Widget"}
    ),
    "bad short name": crd(
        names={"plural": "widgets", "kind": "Widget", "shortNames": ["ok", "B"]}
    ),
    "bad category": crd(names={"plural": "widgets", "kind": "Widget", "categories": ["a b"]}),
    "given names": crd(
        names={
            "plural": "widgets",
            "kind": "Widget",
            "singular": "wid",
            "listKind": "Widgets",
            "shortNames": ["w"],
            "categories": ["all"],
        }
    ),
    "no versions": crd(versions=None),
    "a version without a name": crd(versions=[{}]),
    "no storage version": crd(versions=[{**version(), "storage": False}]),
    "two storage versions": crd(versions=[version(), {**version(name="v2"), "storage": True}]),
    "two versions": crd(versions=[version(), version(name="v2")]),
    "two versions with schemas": crd(
        versions=[version(), version(of_spec(a=TEXT), "v2", subresources=STATUS)]
    ),
    "same version twice": crd(versions=[version(), {**version(), "storage": False}]),
    "bad version name": crd(versions=[version(name="V1")]),
    "no schema": crd(versions=[{"name": "v1", "served": True, "storage": True}]),
    "empty schema": crd(versions=[version({})]),
    "second without schema": crd(
        versions=[version(), {"name": "v2", "served": True, "storage": False}]
    ),
    "deprecation warning": crd(
        versions=[version(deprecated=True, deprecationWarning="use v2")]
    ),
    "warning without deprecation": crd(versions=[version(deprecationWarning="use v2")]),
    "empty warning": crd(versions=[version(deprecated=True, deprecationWarning="")]),
    "long warning": crd(versions=[version(deprecated=True, deprecationWarning="w" * 257)]),
    "unprintable warning": crd(versions=[version(deprecated=True, deprecationWarning="a\tb")]),
    "preserve unknown fields": crd(preserveUnknownFields=True),
    "community group": crd(group="things.k8s.io"),
    "bad approval": {
        **crd(group="things.k8s.io"),
        "metadata": {
            "name": "widgets.things.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "because"},
        },
    },
    "unapproved": {
        **crd(group="things.kubernetes.io"),
        "metadata": {
            "name": "widgets.things.kubernetes.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, experimental"},
        },
    },
    "approved": {
        **crd(group="k8s.io"),
        "metadata": {
            "name": "widgets.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "https://example.com/1"},
        },
    },
}


def _hook(**client: Any) -> Obj:
    return crd(
        conversion={
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
        }
    )


CONVERSION: dict[str, Obj] = {
    "none": crd(conversion={"strategy": "None"}),
    "no strategy": crd(conversion={}),
    "bad strategy": crd(conversion={"strategy": "Magic"}),
    "no webhook": crd(conversion={"strategy": "Webhook"}),
    "webhook without strategy": crd(
        conversion={
            "strategy": "None",
            "webhook": {
                "clientConfig": {"url": "https://a"},
                "conversionReviewVersions": ["v1"],
            },
        }
    ),
    "url": _hook(url="https://example.com/convert"),
    "http url": _hook(url="http://example.com/convert"),
    "url without host": _hook(url="https:///convert"),
    "url with query": _hook(url="https://example.com/convert?a=b#c"),
    "url with user": _hook(url="https://me:secret@example.com"),
    "both": _hook(url="https://a", service={"name": "a", "namespace": "b"}),
    "neither": _hook(),
    "service": _hook(service={"name": "a", "namespace": "b"}),
    "service without name": _hook(service={"namespace": "b", "name": ""}),
    "service without namespace": _hook(service={"name": "b", "namespace": ""}),
    "service port": _hook(service={"name": "a", "namespace": "b", "port": 70000}),
    "service path": _hook(service={"name": "a", "namespace": "b", "path": "convert//X"}),
    "no review versions": crd(
        conversion={
            "strategy": "Webhook",
            "webhook": {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": []},
        }
    ),
    "bad review versions": crd(
        conversion={
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"url": "https://a"},
                "conversionReviewVersions": ["v9", "v9", "V"],
            },
        }
    ),
}


def _with(**more: Any) -> Obj:
    schema = of_spec(
        replicas={"type": "integer"}, name=TEXT, list={"type": "array", "items": TEXT}
    )
    schema["properties"]["status"] = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
    }
    return crd(versions=[version(schema, **more)])


def _scale(**paths: Any) -> Obj:
    base = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.n"}
    return _with(subresources={"status": {}, "scale": {**base, **paths}})


def _column(**more: Any) -> Obj:
    base = {"name": "A", "type": "string", "jsonPath": ".spec.a"}
    return _with(additionalPrinterColumns=[{**base, **more}])


def _fields(*paths: str) -> Obj:
    return _with(selectableFields=[{"jsonPath": path} for path in paths])


FEATURES: dict[str, Obj] = {
    "scale": _scale(),
    "scale with selector": _scale(labelSelectorPath=".status.selector"),
    "no spec path": _scale(specReplicasPath=""),
    "no status path": _scale(statusReplicasPath=""),
    "spec path elsewhere": _scale(specReplicasPath=".status.replicas"),
    "status path elsewhere": _scale(statusReplicasPath=".spec.replicas"),
    "path without dot": _scale(specReplicasPath="spec.replicas"),
    "selector elsewhere": _scale(labelSelectorPath=".metadata.labels"),
    "selector without dot": _scale(labelSelectorPath="status.s"),
    "column": _column(),
    "column type": _column(type="map"),
    "no column type": _column(type=""),
    "no column name": _column(name=""),
    "column format": _column(format="int8"),
    "no column path": _column(jsonPath=""),
    "column path": _column(jsonPath="spec.a"),
    "fields": _fields(".spec.name", ".spec.replicas"),
    "field of list": _fields(".spec.list"),
    "no such field": _fields(".spec.nope"),
    "field twice": _fields(".spec.name", ".spec.name"),
    "field in metadata": _fields(".metadata.name"),
    "field with brackets": _fields(".spec['name']"),
    "empty field": _fields(""),
    "field without dot": _fields("spec.name"),
    "root field": _fields("."),
    "status with additional keys": crd(
        versions=[version({"type": "object", "maxProperties": 3}, subresources=STATUS)]
    ),
    "status with allOf": crd(
        versions=[
            version({"type": "object", "allOf": [{"required": ["spec"]}]}, subresources=STATUS)
        ]
    ),
    "unknown format": crd(of_spec(a={"type": "string", "format": "magic"})),
}

SCHEMAS: dict[str, Any] = {
    "no type": {"properties": {"spec": {"type": "object"}}},
    "not an object": {"type": "string"},
    "nullable root": {"type": "object", "nullable": True},
    "additional properties at root": {"type": "object", "additionalProperties": TEXT},
    "field without type": of_spec(a={"maxLength": 3}),
    "items without type": of_spec(a={"type": "array", "items": {}}),
    "array without items": of_spec(a={"type": "array"}),
    "items as list": of_spec(a={"type": "array", "items": [TEXT, TEXT]}),
    "unknown type": of_spec(a={"type": "text"}),
    "null type": of_spec(a={"type": "null"}),
    "unique items": of_spec(a={"type": "array", "uniqueItems": True, "items": TEXT}),
    "properties and additional": of_spec(
        a={"type": "object", "properties": {"b": TEXT}, "additionalProperties": TEXT}
    ),
    "properties and no additional": of_spec(
        a={"type": "object", "properties": {"b": TEXT}, "additionalProperties": False}
    ),
    "properties and any additional": of_spec(
        a={"type": "object", "properties": {"b": TEXT}, "additionalProperties": True}
    ),
    "reference": of_spec(a={"$ref": "#/definitions/a"}),
    "id": of_spec(a={"type": "string", "id": "x"}),
    "pattern properties": of_spec(a={"type": "object", "patternProperties": {"a": TEXT}}),
    "definitions": {"type": "object", "definitions": {"a": TEXT}},
    "dependencies": of_spec(a={"type": "object", "dependencies": {"a": ["b"]}}),
    "additional items": of_spec(a={"type": "array", "items": TEXT, "additionalItems": True}),
    "bad pattern": of_spec(a={"type": "string", "pattern": "a("}),
    "look ahead": of_spec(a={"type": "string", "pattern": "(?=a)b"}),
    "nested repetition": of_spec(a={"type": "string", "pattern": "a**"}),
    "good pattern": of_spec(a={"type": "string", "pattern": "^(?i)[a-z]+$"}),
    "typed any of": of_spec(a={"type": "string", "anyOf": [{"type": "string"}]}),
    "int or string": of_spec(a={"x-kubernetes-int-or-string": True}),
    "int or string with any of": of_spec(
        a={
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
        }
    ),
    "int or string with all of": of_spec(
        a={
            "x-kubernetes-int-or-string": True,
            "allOf": [
                {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                {"pattern": "a"},
            ],
        }
    ),
    "int or string that preserves": of_spec(
        a={"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}
    ),
    "preserve": of_spec(a={"x-kubernetes-preserve-unknown-fields": True}),
    "preserve false": of_spec(
        a={"type": "object", "x-kubernetes-preserve-unknown-fields": False}
    ),
    "embedded": of_spec(
        a={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        }
    ),
    "embedded without properties": of_spec(
        a={"type": "object", "x-kubernetes-embedded-resource": True}
    ),
    "embedded string": of_spec(a={"type": "string", "x-kubernetes-embedded-resource": True}),
    "embedded with additional": of_spec(
        a={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "additionalProperties": TEXT,
        }
    ),
    "metadata": {"type": "object", "properties": {"metadata": {"type": "object"}}},
    "metadata name": {
        "type": "object",
        "properties": {
            "metadata": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 5}},
            }
        },
    },
    "metadata labels": {
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}
        },
    },
    "metadata string": {"type": "object", "properties": {"metadata": TEXT}},
    "kind integer": {"type": "object", "properties": {"kind": {"type": "integer"}}},
    "api version default": {
        "type": "object",
        "properties": {"apiVersion": {"type": "string", "default": "v1"}},
    },
    "nested structure": of_spec(
        a={"type": "object", "allOf": [{"properties": {"b": {"type": "string"}}}]}
    ),
    "nested without structure": of_spec(
        a={"type": "object", "anyOf": [{"properties": {"b": {"maxLength": 3}}}]}
    ),
    "nested items": of_spec(
        a={"type": "object", "properties": {"b": TEXT}, "not": {"items": {"maxLength": 3}}}
    ),
    "nested right": of_spec(
        a={
            "type": "object",
            "properties": {"b": TEXT, "c": TEXT},
            "oneOf": [{"required": ["b"]}, {"required": ["c"]}],
            "not": {"properties": {"b": {"enum": ["x"]}}, "required": ["b"]},
        }
    ),
    "nested extras": of_spec(
        a={
            "type": "string",
            "allOf": [
                {
                    "description": "d",
                    "title": "t",
                    "nullable": True,
                    "default": "x",
                    "x-kubernetes-int-or-string": True,
                    "x-kubernetes-list-type": "set",
                    "x-kubernetes-map-type": "atomic",
                    "x-kubernetes-list-map-keys": ["a"],
                    "x-kubernetes-preserve-unknown-fields": True,
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-validations": [{"rule": "true"}],
                    "additionalProperties": TEXT,
                    "properties": {"metadata": {"maxLength": 3}},
                    "pattern": "a(",
                }
            ],
        }
    ),
    "set": of_spec(a={"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}),
    "set of objects": of_spec(
        a={
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "object", "properties": {"b": TEXT}},
        }
    ),
    "set of atomic objects": of_spec(
        a={
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {
                "type": "object",
                "x-kubernetes-map-type": "atomic",
                "properties": {"b": TEXT},
            },
        }
    ),
    "set of sets": of_spec(
        a={
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        }
    ),
    "set of nulls": of_spec(
        a={
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "string", "nullable": True},
        }
    ),
    "unknown list type": of_spec(
        a={"type": "array", "x-kubernetes-list-type": "bag", "items": TEXT}
    ),
    "list type of a string": of_spec(a={"type": "string", "x-kubernetes-list-type": "set"}),
    "list type of nothing": of_spec(a={"x-kubernetes-list-type": "set", "items": TEXT}),
    "map type of a string": of_spec(a={"type": "string", "x-kubernetes-map-type": "atomic"}),
    "unknown map type": of_spec(a={"type": "object", "x-kubernetes-map-type": "loose"}),
    "keys without list type": of_spec(
        a={"type": "array", "x-kubernetes-list-map-keys": ["b"], "items": TEXT}
    ),
    "keys of a set": of_spec(
        a={
            "type": "array",
            "x-kubernetes-list-type": "set",
            "x-kubernetes-list-map-keys": ["b"],
            "items": TEXT,
        }
    ),
    "map without keys": of_spec(
        a={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "items": {"type": "object", "properties": {"b": TEXT}},
        }
    ),
    "map of strings": of_spec(
        a={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["b"],
            "items": TEXT,
        }
    ),
    "map": of_spec(
        a={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["b", "c"],
            "items": {
                "type": "object",
                "required": ["b"],
                "properties": {"b": TEXT, "c": {"type": "string", "default": "x"}},
            },
        }
    ),
    "map with wrong keys": of_spec(
        a={
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["b", "b", "d", "e"],
            "items": {
                "type": "object",
                "nullable": True,
                "properties": {
                    "b": {"type": "string", "nullable": True},
                    "e": {"type": "object"},
                },
            },
        }
    ),
    "default": of_spec(a={"type": "integer", "default": 3}),
    "wrong default": of_spec(a={"type": "integer", "default": "x"}),
    "default below its minimum": of_spec(a={"type": "integer", "minimum": 5, "default": 3}),
    "default with unknown fields": of_spec(
        a={"type": "object", "properties": {"b": TEXT}, "default": {"b": "x", "c": 1}}
    ),
    "default that lacks": of_spec(
        a={"type": "object", "properties": {"b": TEXT}, "required": ["b"], "default": {}}
    ),
    "default of enum": of_spec(a={"type": "string", "enum": ["a", "b"], "default": "c"}),
    "default of a map": of_spec(
        a={"type": "object", "additionalProperties": {"type": "string", "default": 5}}
    ),
    "default breaking a rule": of_spec(
        a={
            "type": "integer",
            "default": 3,
            "x-kubernetes-validations": [{"rule": "self > 5", "message": "too small"}],
        }
    ),
    "default that is a list of bytes": of_spec(
        a={
            "type": "string",
            "format": "byte",
            "default": ["a"],
            "x-kubernetes-validations": [{"rule": "self != b''"}],
        }
    ),
    "default of embedded metadata": _embedded(
        kind={"type": "string", "default": "Pod"},
        metadata={"type": "object", "default": {"name": "foo"}},
    ),
    "wrong defaults of an embedded type": _embedded(
        kind={"type": "string", "default": "%"},
        apiVersion={"type": "string", "default": 42},
    ),
    "wrong default of an embedded name": _embedded(
        metadata={"type": "object", "properties": {"name": {"type": "string", "default": "%"}}},
    ),
    "wrong default of embedded labels": _embedded(
        metadata={"type": "object", "default": {"labels": {"bar": "x y"}}},
    ),
    "default metadata": {
        "type": "object",
        "properties": {
            "metadata": {
                "type": "object",
                "properties": {"name": {"type": "string", "default": "x"}},
            }
        },
    },
    "embedded in metadata": of_spec(
        a={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {
                "metadata": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "properties": {"name": TEXT},
                }
            },
        }
    ),
}

RULES: dict[str, Any] = {
    "true": rule("self.a > 1"),
    "all sorts": rule(
        "self.s.startsWith('a') && self.l.all(x, x.size() < 5) && self.m.exists(k, self.m[k] > 3)"
    ),
    "escapes": rule("self.o.x__dash__y == 'a' && self.o.namespace == 'b'"),
    "undefined field": rule("self.nope == 1"),
    "undefined in has": rule("has(self.nope)"),
    "two undefined": rule("self.nope == 1 && has(self.o.nothing)"),
    "undeclared": rule("foo == 1"),
    "undeclared function": rule("foo(self.a)"),
    "undeclared method": rule("self.a.foo()"),
    "wrong types": rule("self.a == 'x'"),
    "wrong addition": rule("self.a + self.s == 'x'"),
    "wrong call": rule("self.s.startsWith(1)"),
    "wrong index": rule("self.l['a'] == 'b'"),
    "not a bool": rule("self.a"),
    "dyn result": rule("self.i"),
    "bool wanted": rule("self.a && true"),
    "bool wanted in all": rule("self.l.all(x, x)"),
    "bool wanted in ternary": rule("self.a ? true : false"),
    "range of a comprehension": rule("self.a.all(x, true)"),
    "range of an object": rule("self.o.all(x, true)"),
    "field of a string": rule("self.s.x == 'a'"),
    "mixed list": rule("self.a in [1, 'a']"),
    "mixed map": rule("{'a': 1, 'b': 'c'}.size() == 2"),
    "empty rule": rule(""),
    "blank rule": rule("  "),
    "invisible field": rule("self.p == 1"),
    "message": rule("self.a > 1", message="a must be more"),
    "blank message": rule("self.a > 1", message=" "),
    "message of two lines": rule("self.a > 1", message="a\nb"),
    "rule of two lines": rule("self.a > 1 &&\nself.a < 5"),
    "rule of two lines with message": rule("self.a > 1 &&\nself.a < 5", message="m"),
    "wrong second line": rule("self.a > 1 &&\n  self.nope < 5", message="m"),
    "message expression": rule("self.a > 1", messageExpression="'a is %d'.format([self.a])"),
    "wrong message expression": rule("self.a > 1", messageExpression="self.a"),
    "broken message expression": rule("self.a > 1", messageExpression="'a' + self.a"),
    "blank message expression": rule("self.a > 1", messageExpression=" "),
    "reason": rule("self.a > 1", reason="FieldValueForbidden"),
    "bad reason": rule("self.a > 1", reason="Because"),
    "field path": rule("self.a > 1", fieldPath=".a"),
    "bad field path": rule("self.a > 1", fieldPath=".nope"),
    "field path without dot": rule("self.a > 1", fieldPath="a"),
    "field path into map": rule("self.a > 1", fieldPath=".m['b']"),
    "blank field path": rule("self.a > 1", fieldPath=" "),
    "old self": rule("self.a >= oldSelf.a"),
    "optional old self": rule("oldSelf.?a.orValue(0) <= self.a", optionalOldSelf=True),
    "optional old self unused": rule("self.a > 1", optionalOldSelf=True),
    "old self in list": of_spec(
        l={
            "type": "array",
            "maxItems": 5,
            "items": {
                "type": "string",
                "maxLength": 5,
                "x-kubernetes-validations": [{"rule": "self == oldSelf"}],
            },
        }
    ),
    "old self in list map": of_spec(
        l={
            "type": "array",
            "maxItems": 5,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "required": ["k"],
                "properties": {"k": {"type": "string", "maxLength": 5}},
                "x-kubernetes-validations": [{"rule": "self == oldSelf"}],
            },
        }
    ),
    "rule on preserved": of_spec(
        p={
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-validations": [{"rule": "true"}],
        }
    ),
    "bad regex": rule("self.s.matches('(')"),
    "bad duration": rule("duration('x') == duration('1s')"),
    "bad timestamp": rule("self.t == timestamp('x')"),
    "null": rule("self.s == null"),
    "null time": rule("self.t != null"),
    "reserved": rule("namespace == 'a'"),
    "metadata of spec": rule("self.metadata.name == 'a'"),
    "quantity": rule("quantity(self.s).isLessThan(quantity('5Gi'))"),
    "ip": rule("ip(self.s).family() == 4 && cidr('10.0.0.0/8').containsIP(ip(self.s))"),
    "url": rule("url(self.s).getHost() == 'a' && isURL(self.s)"),
    "format": rule("!format.dns1123Label().validate(self.s).hasValue()"),
    "semver": rule("semver(self.s).isGreaterThan(semver('1.0.0'))"),
    "sets": rule("sets.contains(self.l, ['a'])"),
    "lists": rule("self.l.isSorted() && self.l.indexOf('a') < 1 && self.l.reverse()[0] == 'a'"),
    "two variables": rule("self.m.all(k, v, k != 'a' || v > 1)"),
    "transform": rule("self.l.transformList(i, v, i + v.size()).sum() > 1"),
    "string functions": rule(
        "self.s.lowerAscii() != '' && self.s.split('-')[0] == 'a' && self.s.indexOf('b') > 1"
    ),
    "strings reverse": rule("self.s.reverse() == 'a'"),
    "format call": rule("self.a > 1", messageExpression="'%s has %d'.format([self.s, self.a])"),
    "dyn format call": rule(
        "self.a > 1", messageExpression="'%s has %d'.format([dyn(self.s), dyn(self.a)])"
    ),
    "numbers": rule("self.a < 1.5 && self.n > 1"),
    "numbers equal": rule("self.n == 1"),
    "times": rule("self.t > timestamp('2020-01-01T00:00:00Z') && self.d < duration('1h')"),
    "int or string": rule("type(self.i) == string ? self.i == '5%' : self.i < 5"),
    "optional": rule("self.?o.?x.orValue('a') == 'a' && self.l[?0].hasValue()"),
    "optional map": rule("self.?a.optMap(x, x + 1).orValue(0) == 1"),
    "list maps": rule("self.lm.exists_one(e, e.k == 'a') && self.lm == self.lm"),
    "different objects": rule("self.o == self.lm[0]"),
    "type names": rule("type(self.a) == int && type(self.l) == list"),
    "has on call": rule("has(self.o)"),
    "has on value": rule("has(self)"),
    "macro variable": rule("self.l.all(x.y, true)"),
    "bytes": rule("b'abc' == bytes(self.s)"),
    "conversions": rule("int(self.s) > 1 && double(self.a) > 1.0 && string(self.a) == '1'"),
    "unary": rule("!(-self.a > 1)"),
    "chained": rule("!(self.a == 1) || self.a == 2 || self.a == 3"),
    "root rule": {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "self.metadata.name.size() < 9"}],
    },
    "root labels": {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "self.metadata.labels.size() < 9"}],
    },
}


def all_definitions() -> dict[str, Obj]:
    """Return every definition by what it is about."""
    cases: dict[str, Obj] = {}
    for title, table in (
        ("names", NAMES_AND_VERSIONS),
        ("conversion", CONVERSION),
        ("features", FEATURES),
    ):
        cases |= {f"{title}: {name}": each for name, each in table.items()}
    cases |= {f"schema: {name}": crd(each) for name, each in SCHEMAS.items()}
    return cases | {f"rule: {name}": crd(each) for name, each in RULES.items()}
