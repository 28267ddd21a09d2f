"""Definitions of custom resources: names, storage, columns, shapes, conversion."""

from datetime import UTC, datetime
from typing import Any

import pytest

from jobferry.localkube.apiserver import shapes
from jobferry.localkube.apiserver.crds import (
    columns,
    conversion,
    custom,
    definition,
    jsonpath,
    merging,
    naming,
    publishing,
    weight,
)
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.strategy import HEAVY
from jobferry.objects import Obj


def crd(plural: str = "widgets", kind: str = "Widget", **spec: Any) -> Obj:
    whole: Obj = {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
            **spec,
        },
    }
    definition.default(whole)
    return whole


def conditions(status: Obj) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in status["conditions"]}


def test_names_that_are_free_are_accepted() -> None:
    status = naming.settled_status(crd(), [], "now")
    assert status["acceptedNames"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
    }
    assert conditions(status) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }


def test_a_kind_that_is_taken_is_not_accepted() -> None:
    first = crd()
    first["status"] = naming.settled_status(first, [], "now")
    status = naming.settled_status(crd("gadgets", "Widget"), [first], "now")
    assert conditions(status)["Established"] == ("False", "NotAccepted")
    assert conditions(status)["NamesAccepted"] == ("False", "ListKindConflict")
    assert "kind" not in status["acceptedNames"]


def test_a_status_that_is_settled_stays_as_it_is() -> None:
    first = crd()
    first["status"] = naming.settled_status(first, [], "then")
    assert naming.settled_status(first, [first], "now") == first["status"]


def test_a_version_that_was_stored_may_not_go() -> None:
    old = crd()
    old["metadata"] |= {
        "uid": "u",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "resourceVersion": "1",
    }
    new = crd()
    new["metadata"] = dict(old["metadata"])
    new["spec"]["versions"][0]["name"] = "v2"
    definition.prepare_update(new, old)
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    found = definition.check_update(new, old)
    assert [each.field for each in found] == ["status.storedVersions[0]"]


def test_versions_without_webhook_differ_in_their_name_only() -> None:
    converter = conversion.converter(crd())
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": {"a": 1}}
    assert converter.convert(obj, "v2") == {**obj, "apiVersion": "example.com/v2"}
    assert obj["apiVersion"] == "example.com/v1"


def test_a_webhook_is_needed_for_other_versions_only() -> None:
    hook = {
        "clientConfig": {"service": {"name": "s", "namespace": "n"}},
        "conversionReviewVersions": ["v1"],
    }
    converter = conversion.converter(crd(conversion={"strategy": "Webhook", "webhook": hook}))
    obj = {"apiVersion": "example.com/v1", "kind": "Widget"}
    assert converter.convert(obj, "v1") is obj
    with pytest.raises(StatusError) as caught:
        converter.convert(obj, "v2")
    assert str(caught.value).startswith(
        "conversion webhook for example.com/v1, Kind=Widget failed: Post"
    )
    assert caught.value.code == 500


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.a", [1]),
        (".spec.nope", []),
        (".spec.l[0].n", ["x"]),
        (".spec.l[-1].n", ["y"]),
        (".spec.l[*].n", ["x", "y"]),
        ('.spec.l[?(@.n=="y")].v', [2]),
        (".spec.l[?(@.v)].n", ["y"]),
        (r".metadata.labels.a\.b/c", ["label"]),
        (".spec['a']", [1]),
        (".spec.l[0:2].n", ["x", "y"]),
        ("..n", ["x", "y"]),
    ],
)
def test_paths_lead_where_kubectl_goes(path: str, found: list[Any]) -> None:
    obj = {
        "metadata": {"labels": {"a.b/c": "label"}},
        "spec": {"a": 1, "l": [{"n": "x"}, {"n": "y", "v": 2}]},
    }
    assert jsonpath.compiled(path)(obj) == found


def test_columns_show_what_is_there() -> None:
    given = [
        {"name": "N", "type": "integer", "jsonPath": ".spec.n"},
        {"name": "S", "type": "string", "jsonPath": ".spec.n"},
        {"name": "When", "type": "date", "jsonPath": ".spec.when"},
        {"name": "Out", "type": "integer", "jsonPath": ".spec.l[5]"},
    ]
    shown = columns.of({"additionalPrinterColumns": given})
    now = datetime(2026, 1, 1, tzinfo=UTC)
    obj = {
        "metadata": {"name": "it"},
        "spec": {"n": 3, "when": "2025-12-31T23:59:00Z", "l": []},
    }
    assert shown.cells(obj, now) == ["it", 3, "3", "60s", None]
    assert shown.cells({"metadata": {"name": "it"}}, now) == ["it", None, None, None, None]


def test_shapes_follow_the_schema() -> None:
    shape = merging.shape_of_schema(
        {
            "type": "object",
            "properties": {
                "spec": {
                    "type": "object",
                    "properties": {
                        "set": {
                            "type": "array",
                            "x-kubernetes-list-type": "set",
                            "items": {"type": "string"},
                        },
                        "map": {
                            "type": "array",
                            "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["k"],
                            "items": {
                                "type": "object",
                                "properties": {"k": {"type": "string", "default": "d"}},
                            },
                        },
                        "list": {"type": "array", "items": {"type": "string"}},
                        "whole": {"type": "object", "x-kubernetes-map-type": "atomic"},
                        "any": {"x-kubernetes-preserve-unknown-fields": True},
                        "amount": {"x-kubernetes-int-or-string": True},
                        "kept": {
                            "type": "object",
                            "x-kubernetes-preserve-unknown-fields": True,
                            "properties": {
                                "known": {"type": "object", "properties": {"a": {}}}
                            },
                        },
                        "strict": {"type": "object", "properties": {"a": {}}},
                        "free": {"type": "object"},
                    },
                }
            },
        }
    )
    assert isinstance(shape, shapes.Struct)
    spec = shape.fields["spec"]
    assert isinstance(spec, shapes.Struct)
    assert spec.fields["set"] == shapes.SetOf(shapes.Leaf("string"))
    listed = spec.fields["map"]
    assert isinstance(listed, shapes.ListMap)
    assert (listed.keys, dict(listed.defaults)) == (("k",), {"k": "d"})
    assert isinstance(spec.fields["list"], shapes.Leaf)
    assert isinstance(spec.fields["whole"], shapes.Leaf)
    assert spec.fields["any"] is shapes.ANYTHING
    assert spec.fields["amount"] is shapes.ANYTHING
    kept, strict, free = (spec.fields[name] for name in ("kept", "strict", "free"))
    assert isinstance(kept, shapes.Struct)
    known = kept.fields["known"]
    for each, others in ((known, True), (strict, False), (free, True)):
        assert isinstance(each, shapes.Struct)
        assert each is not shapes.ANYTHING
        assert (each.others is shapes.ANYTHING) is others
    assert isinstance(shape.fields["metadata"], shapes.Struct)


def test_published_schemas_have_what_every_object_has() -> None:
    version = {
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"i": {"x-kubernetes-int-or-string": True}},
            }
        }
    }
    published = publishing.schema_of(version)
    assert set(published["properties"]) == {"i", "apiVersion", "kind", "metadata"}
    assert published["properties"]["i"]["anyOf"] == [{"type": "integer"}, {"type": "string"}]


def test_a_status_is_kept_by_updates_and_alone_changed_by_its_own() -> None:
    whole = crd()
    whole["spec"]["versions"][0]["subresources"] = {"status": {}}
    main, state = custom.strategies(custom.Custom(whole, "v1"))
    old = {"metadata": {"name": "it", "generation": 1}, "spec": {"a": 1}, "status": {"n": 1}}
    new: Obj = {"metadata": {"name": "it"}, "spec": {"a": 2}, "status": {"n": 2}}
    main.prepare_update(new, old)
    assert new["status"] == {"n": 1}
    changed: Obj = {
        "metadata": {"name": "it", "managedFields": []},
        "spec": {"a": 2},
        "status": {"n": 2},
    }
    state.prepare_update(changed, old)
    assert (changed["spec"], changed["status"]) == ({"a": 1}, {"n": 2})
    assert main.versioned is not None
    assert main.versioned(old) == main.versioned(changed)
    assert old["status"] == {"n": 1}


def test_objects_are_kept_by_the_name_of_the_definition_whatever_its_status_says() -> None:
    whole = crd()
    names = {"plural": "victims", "singular": "victim", "kind": "Victim"}
    whole["status"]["acceptedNames"] = names
    assert custom.resource(whole, "v1").prefix == "/custom/example.com/widgets/"


@pytest.mark.parametrize(
    ("rule", "heavy"),
    [
        ("self.a == 1", False),
        ("has(self.a) && self.b.matches('^all$')", False),
        ("self.a.all(x, x > 1)", True),
        ("self.a . exists_one (x, x > 1)", True),
        ("self.a.map(x, x).size() > 1", True),
        ("self.a in self.b", True),
    ],
)
def test_rules_that_may_loop_weigh_more_than_an_object_tells(rule: str, heavy: bool) -> None:
    inner = {"type": "object", "x-kubernetes-validations": [{"rule": rule}]}
    found = weight.of({"type": "object", "properties": {"spec": inner}})
    assert found == (HEAVY if heavy else 2)
    assert weight.of({"type": "object"}) == 1


def test_rules_that_a_real_server_refuses_for_their_cost_are_warned_of() -> None:
    def warned(rule: str, most: int | None) -> list[str]:
        numbers: Obj = {"type": "array", "items": {"type": "integer"}}
        if most is not None:
            numbers["maxItems"] = most
        rules = [{"rule": "true"}, {"rule": rule}]
        spec: Obj = {"type": "object", "properties": {"a": numbers}}
        spec["x-kubernetes-validations"] = rules
        whole = crd()
        schema = {"type": "object", "properties": {"spec": spec}}
        whole["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
        assert definition.warn_update(whole, whole) == []
        return [each.partition(": ")[0] for each in definition.warn_create(whole)]

    twice = "self.a.all(x, self.a.all(y, x == y))"
    place = "spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations"
    assert warned(twice, None) == [f"{place}[1].rule"]
    assert warned(twice, 100) == []
    assert warned("self.a.all(x, x > 0)", None) == []
    assert warned("self.a.all(", None) == []
