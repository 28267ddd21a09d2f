"""Custom objects, right and wrong, of definitions that use every feature of schemas."""

from typing import Any

from jobferry.objects import Obj
from tests.api.crd_definition_cases import GROUP, crd, version

TEXT: Obj = {"type": "string"}
INT: Obj = {"type": "integer"}

_FIELDS: dict[str, Obj] = {
    "text": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
    "choice": {"type": "string", "enum": ["a", "b"]},
    "number choice": {"type": "integer", "enum": [1, 2]},
    "count": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 10},
    "open": {
        "type": "integer",
        "minimum": 1,
        "exclusiveMinimum": True,
        "maximum": 10,
        "exclusiveMaximum": True,
    },
    "even": {"type": "integer", "multipleOf": 2},
    "share": {"type": "number", "minimum": 0.5, "maximum": 1.5, "multipleOf": 0.25},
    "flag": {"type": "boolean"},
    "list": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "integer", "minimum": 0}},
    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
    "map": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name", "kind"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": TEXT,
                "kind": {"type": "string", "default": "plain"},
                "value": {"type": "integer", "maximum": 5},
            },
        },
    },
    "named": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": TEXT, "size": {"type": "integer", "maximum": 5}},
        },
    },
    "labels": {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 2,
        "additionalProperties": {"type": "string", "maxLength": 3},
    },
    "closed": {"type": "object", "additionalProperties": False},
    "inner": {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": INT,
            "b": {"type": "string", "default": "bee"},
            "c": {"type": "object", "default": {"d": 1}, "properties": {"d": INT, "e": {"type": "integer", "default": 7}}},
        },
    },
    "nullable": {"type": "string", "nullable": True},
    "nullable choice": {"type": "string", "nullable": True, "enum": ["a"]},
    "defaulted": {"type": "integer", "default": 3},
    "amount": {"x-kubernetes-int-or-string": True, "pattern": "^[0-9]+%?$"},
    "any": {"x-kubernetes-preserve-unknown-fields": True},
    "kept": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"known": {"type": "object", "properties": {"a": INT}}},
    },
    "anyof": {
        "type": "object",
        "properties": {"a": INT, "b": INT},
        "anyOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {"minimum": 5}}}],
    },
    "oneof": {
        "type": "object",
        "properties": {"a": INT, "b": INT},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
    },
    "allof": {"type": "integer", "allOf": [{"minimum": 3}, {"maximum": 5}]},
    "not": {"type": "string", "not": {"enum": ["x"]}},
    "object": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    },
    "loose": {"type": "object", "additionalProperties": True},
    "mixed": {"type": "array", "items": {"type": "object", "properties": {"a": INT}}},
    **{
        f"as {form}": {"type": "string", "format": form}
        for form in (
            "date-time", "date", "duration", "byte", "email", "ipv4", "ipv6", "cidr", "uuid", "uri",
            "hostname", "mac", "hexcolor", "k8s-short-name", "k8s-long-name", "password",
        )
    },
}  # fmt: skip

SCHEMA: Obj = {
    "type": "object",
    "properties": {
        "spec": {"type": "object", "properties": _FIELDS},
        "status": {
            "type": "object",
            "properties": {
                "phase": {"type": "string", "enum": ["Up", "Down"]},
                "n": INT,
                "since": {"type": "string", "default": "then"},
            },
        },
    },
}

THINGS = crd(
    versions=[version(SCHEMA, subresources={"status": {}})],
    names={"plural": "things", "kind": "Thing"},
)


def _rule(text: str, **more: Any) -> Obj:
    return {"rule": text, **more}


RULED: Obj = {
    "type": "object",
    "x-kubernetes-validations": [
        _rule("self.metadata.name != 'forbidden'", message="not this name"),
    ],
    "properties": {
        "spec": {
            "type": "object",
            "x-kubernetes-validations": [
                _rule("!has(self.low) || !has(self.high) || self.low <= self.high"),
                _rule(
                    "!has(self.low) || self.low > 0",
                    message="low must be positive",
                    fieldPath=".low",
                    reason="FieldValueForbidden",
                ),
                _rule(
                    "!has(self.high) || self.high < 100",
                    messageExpression="'high is %d'.format([self.high])",
                ),
                _rule(
                    "has(self.name) || !has(self.needs)",
                    reason="FieldValueRequired",
                    fieldPath=".name",
                    message="name it",
                ),
                _rule(
                    "!has(oldSelf.name) || has(self.name)", message="name may not be removed"
                ),
                _rule("self.?amount.hasValue() == false || self.amount < 5 ", message="small"),
                _rule("!has(self.div) || 10 / self.div > 1", message="divides"),
                _rule("!has(self.items) || self.items[1].v == 1", message="second"),
            ],
            "properties": {
                "low": INT,
                "high": INT,
                "needs": {"type": "boolean"},
                "div": INT,
                "amount": {"x-kubernetes-int-or-string": True},
                "name": {
                    "type": "string",
                    "maxLength": 10,
                    "x-kubernetes-validations": [
                        _rule("self == oldSelf", message="name is fixed"),
                        _rule("self.startsWith('n')", message="begins with n"),
                    ],
                },
                "items": {
                    "type": "array",
                    "maxItems": 5,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "x-kubernetes-validations": [
                        _rule("self.all(i, i.v < 10)", message="all small"),
                    ],
                    "items": {
                        "type": "object",
                        "required": ["k", "v"],
                        "properties": {"k": {"type": "string", "maxLength": 5}, "v": INT},
                        "x-kubernetes-validations": [
                            _rule("self.v >= oldSelf.v", message="v may only grow"),
                            _rule("self.v != 7", message="not seven"),
                        ],
                    },
                },
                "times": {
                    "type": "object",
                    "maxProperties": 5,
                    "additionalProperties": {
                        "type": "string",
                        "format": "date-time",
                        "x-kubernetes-validations": [
                            _rule(
                                "self < timestamp('2030-01-01T00:00:00Z')", message="too late"
                            ),
                        ],
                    },
                },
                "wait": {
                    "type": "string",
                    "format": "duration",
                    "x-kubernetes-validations": [
                        _rule("self <= duration('1h')", message="too long"),
                    ],
                },
                "tags": {
                    "type": "array",
                    "maxItems": 5,
                    "items": {"type": "string", "maxLength": 9},
                    "x-kubernetes-validations": [
                        _rule("self.isSorted()", message="sorted"),
                        _rule(
                            "self.all(t, self.exists_one(u, u == t))",
                            reason="FieldValueDuplicate",
                            message="twice",
                        ),
                    ],
                },
                "size": {
                    "type": "string",
                    "maxLength": 9,
                    "x-kubernetes-validations": [
                        _rule("isQuantity(self) && quantity(self).isLessThan(quantity('1Gi'))"),
                    ],
                },
                "address": {
                    "type": "string",
                    "maxLength": 20,
                    "x-kubernetes-validations": [
                        _rule("cidr('10.0.0.0/8').containsIP(self)", message="inside"),
                    ],
                },
                "seen": {
                    "type": "integer",
                    "x-kubernetes-validations": [
                        _rule(
                            "oldSelf.hasValue() || self == 0",
                            optionalOldSelf=True,
                            message="begins at 0",
                        ),
                    ],
                },
            },
        }
    },
}

RULES = crd(versions=[version(RULED)], names={"plural": "ruledthings", "kind": "RuledThing"})
SCALED = crd(
    versions=[
        version(
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            subresources={
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                },
            },
            selectableFields=None,
        )
    ],
    names={"plural": "scaledthings", "kind": "ScaledThing"},
)
for _version in SCALED["spec"]["versions"]:
    _version.pop("selectableFields")

DEFINITIONS = {"Thing": THINGS, "RuledThing": RULES, "ScaledThing": SCALED}


def thing(kind: str = "Thing", name: str = "it", **more: Any) -> Obj:
    """Return an object of one of the kinds above."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        **more,
    }


_VALUES: dict[str, list[Any]] = {
    "text": ["abc", "a", "abcdef", "ABC", 5, True, None, [], {}, {"a": 1}, "äöü"],
    "choice": ["a", "c", 1, None, 2.0, ["a"], {"a": "b"}],
    "number choice": [1, 3, 1.0, 1.5, "1"],
    "count": [1, 0, 11, 5.0, 5.5, "5", 2**40, True, 20.0, -0.5, 1e30],
    "open": [2, 1, 10],
    "even": [2, 3, 2.5],
    "share": [0.5, 0.4, 1.75, 0.6, 1, 2, "x", 3.0, 1e-9, 1e22],
    "flag": [True, "true", 1],
    "list": [[], [1], [1, 2, 3, 4], [-1, "x", None], "x", [[1]], {"a": 1}],
    "set": [["a", "b"], ["a", "a", "a"], ["a", None], [1, 1]],
    "map": [
        [{"name": "a"}, {"name": "b"}],
        [{"name": "a"}, {"name": "a"}],
        [{"name": "a"}, {"name": "a", "kind": "plain", "value": 9}],
        [{"kind": "x"}],
        [{"name": "a", "other": 1}],
        ["x"],
    ],
    "named": [
        [{"name": "a"}, {"name": "a"}],
        [{"size": 1}, {"size": 2}],
        [{"name": "a", "size": 9}],
    ],
    "labels": [
        {"a": "b"},
        {},
        {"a": "b", "c": "d", "e": "f"},
        {"a": "long"},
        {"a": 1},
        {"a": None},
        [],
    ],
    "closed": [{}, {"a": 1}],
    "inner": [
        {"a": 1},
        {},
        {"a": 1, "x": 2, "c": {"f": 3}},
        {"a": None},
        {"a": 1, "c": None},
        {"a": 1, "c": {}},
    ],
    "nullable": [None, "x"],
    "nullable choice": [None, "a", "b"],
    "defaulted": [None, 5],
    "amount": [5, "5%", "x", 5.5, True, {}],
    "any": [1, "x", {"a": {"b": [1]}}, None],
    "kept": [{"x": 1, "known": {"a": 1, "b": 2}}, {"known": {"a": "x"}}],
    "anyof": [{"a": 1}, {"b": 5}, {"b": 3}, {}, {"b": "x"}],
    "oneof": [{"a": 1}, {"a": 1, "b": 2}, {}],
    "allof": [4, 2, 6, "x"],
    "not": ["y", "x"],
    "object": [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "labels": {"a": "b"}},
            "x": 1,
        },
        {},
        {"apiVersion": "v1", "kind": "", "metadata": {"name": "a/b"}},
        {"apiVersion": 1, "kind": "Pod"},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": 1}}},
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"strange": 1, "annotations": {"a": "b"}},
        },
        {"apiVersion": "a/b/c", "kind": "P_d", "metadata": {"labels": {"-": "$"}}},
    ],
    "loose": [{"a": 1}, {"a": {"b": 1}}],
    "mixed": [[{"a": 1, "b": 2}, {"c": 3}], [{"a": "x"}]],
    "as date-time": ["2020-01-01T00:00:00Z", "2020-01-01", "2020-13-01T00:00:00Z", "x", 5, []],
    "as date": ["2020-02-29", "2021-02-29", "x"],
    "as duration": ["1h", "3 days", "x", "1.5s"],
    "as byte": ["YWJj", "a", "!!", ""],
    "as email": ["a@b.c", "a", "A <a@b>"],
    "as ipv4": ["1.2.3.4", "1.2.3", "::1", "01.2.3.4"],
    "as ipv6": ["::1", "1.2.3.4", "x"],
    "as cidr": ["10.0.0.0/8", "10.0.0.0", "::/0", "10.0.0.0/33"],
    "as uuid": ["123e4567-e89b-12d3-a456-426614174000", "x"],
    "as uri": ["https://a/b", "/a", "a", ""],
    "as hostname": ["a.com", "-a", "a_b"],
    "as mac": ["01:23:45:67:89:ab", "x"],
    "as hexcolor": ["#fff", "#ggg"],
    "as k8s-short-name": ["a-b", "A", "a" * 64],
    "as k8s-long-name": ["a.b", "a..b"],
    "as password": ["x"],
    "unknown": [1],
}

THING_BODIES: dict[str, Obj] = {
    f"{field} {index}": thing(spec={field: value})
    for field, values in _VALUES.items()
    for index, value in enumerate(values)
} | {
    "empty": thing(),
    "no spec": thing(spec=None),
    "spec is text": thing(spec="x"),
    "unknown at the top": thing(spec={}, extra=1, data={"a": 1}),
    "status is dropped": thing(spec={}, status={"phase": "Nowhere", "x": 1}),
    "bad name": thing(name="Bad_Name"),
    "bad labels": {**thing(), "metadata": {"name": "it", "labels": {"a b": "c"}}},
    "unknown metadata": {**thing(), "metadata": {"name": "it", "colour": "red"}},
    "wrong metadata": {**thing(), "metadata": {"name": "it", "labels": {"a": 1}}},
    "finalizers": {**thing(), "metadata": {"name": "it", "finalizers": ["a", "b.c", "d.e/f"]}},
    "many wrong": thing(spec={"text": "A", "count": 0, "choice": "z", "flag": "x"}),
}


def _ruled(**spec: Any) -> Obj:
    return thing("RuledThing", spec=spec)


RULED_BODIES: dict[str, Obj] = {
    "fine": _ruled(low=1, high=2, name="no"),
    "low and high": _ruled(low=3, high=2),
    "low": _ruled(low=0),
    "high": _ruled(high=500),
    "needs": _ruled(needs=True),
    "name": _ruled(name="x"),
    "forbidden name": thing("RuledThing", name="forbidden"),
    "amount": _ruled(amount=9),
    "amount as text": _ruled(amount="9"),
    "division": _ruled(div=0),
    "division fails": _ruled(div=10),
    "index": _ruled(items=[{"k": "a", "v": 1}]),
    "items": _ruled(items=[{"k": "a", "v": 7}, {"k": "b", "v": 1}]),
    "large items": _ruled(items=[{"k": "a", "v": 70}, {"k": "b", "v": 1}]),
    "times": _ruled(times={"a": "2020-01-01T00:00:00Z", "b": "2040-01-01T00:00:00Z"}),
    "wait": _ruled(wait="2h"),
    "short wait": _ruled(wait="30m"),
    "tags": _ruled(tags=["b", "a"]),
    "tags twice": _ruled(tags=["a", "a"]),
    "size": _ruled(size="5Gi"),
    "no size": _ruled(size="x"),
    "fine size": _ruled(size="5Mi"),
    "address": _ruled(address="11.0.0.1"),
    "fine address": _ruled(address="10.0.0.1"),
    "no address": _ruled(address="x"),
    "seen": _ruled(seen=3),
    "blocked by type": _ruled(low="x", high=500),
    "blocked by length": _ruled(name="n" * 11, high=500),
    "not blocked": _ruled(times={"a": "x"}, high=500),
}

UPDATES: dict[str, tuple[Obj, Obj]] = {
    "name changed": (_ruled(name="no"), _ruled(name="nu")),
    "name removed": (_ruled(name="no"), _ruled()),
    "name kept": (_ruled(name="no"), _ruled(name="no", low=1)),
    "v shrinks": (
        _ruled(items=[{"k": "a", "v": 3}, {"k": "b", "v": 1}]),
        _ruled(items=[{"k": "b", "v": 2}, {"k": "a", "v": 1}]),
    ),
    "v grows": (
        _ruled(items=[{"k": "a", "v": 3}, {"k": "b", "v": 1}]),
        _ruled(items=[{"k": "a", "v": 4}, {"k": "b", "v": 1}]),
    ),
    "item added": (
        _ruled(items=[{"k": "a", "v": 3}, {"k": "b", "v": 1}]),
        _ruled(items=[{"k": "a", "v": 3}, {"k": "b", "v": 1}, {"k": "c", "v": 0}]),
    ),
    "seen": (_ruled(seen=0), _ruled(seen=5)),
    "low broken": (_ruled(low=1), _ruled(low=0)),
    "thing changed": (thing(spec={"text": "abc"}), thing(spec={"text": "A"})),
    "default kept": (thing(spec={}), thing(spec={"defaulted": None})),
    "duplicates added": (thing(spec={"set": ["a"]}), thing(spec={"set": ["a", "a"]})),
    "kind is fixed": (thing(), {**thing(), "kind": "Other"}),
}

SCALED_BODIES: dict[str, Obj] = {
    "replicas": thing("ScaledThing", spec={"replicas": 3}),
    "no replicas": thing("ScaledThing"),
    "negative": thing("ScaledThing", spec={"replicas": -1}),
    "huge": thing("ScaledThing", spec={"replicas": 2**40}),
    "text": thing("ScaledThing", spec={"replicas": "3"}),
    "spec is text": thing("ScaledThing", spec="x"),
    "float": thing("ScaledThing", spec={"replicas": 3.0}),
}
