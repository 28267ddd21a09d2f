"""CustomResourceDefinitions and custom objects: our functions and a real API server say the same."""

import copy
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from jobferry.localkube.apiserver.crds import conversion, naming
from jobferry.localkube.apiserver.crds.custom import Custom
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from tests.api import (
    crd_beside,
    crd_definition_cases,
    crd_object_cases,
    crd_project_cases,
)
from tests.api.crd_beside import CRDS
from tests.api.crd_definition_cases import GROUP, crd, of_spec, rule, version
from tests.api.crd_object_cases import thing
from tests.api.raw_http import TABLE, RawHttp

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

DRY = {"dryRun": "All", "fieldValidation": "Warn"}
PROJECTS = (
    "appwrapper",
    "jobset",
    "kuberay",
    "kueue",
    "lws",
    "mpi-operator",
    "tekton",
    "trainer",
    "training-operator",
)


@pytest.fixture(scope="module")
def http(plane: ControlPlane) -> Iterator[RawHttp]:
    """A connection to the plane, on which our definitions are served."""
    with RawHttp(plane.url, plane.folder) as connection:
        for each in crd_object_cases.DEFINITIONS.values():
            crd_beside.install(connection, each)
        yield connection
        for each in crd_object_cases.DEFINITIONS.values():
            crd_beside.remove(connection, each["metadata"]["name"])


RESOURCES = {
    kind: crd_beside.resource_of(each) for kind, each in crd_object_cases.DEFINITIONS.items()
}


def path_of(kind: str) -> str:
    plural = crd_object_cases.DEFINITIONS[kind]["spec"]["names"]["plural"]
    return f"/apis/{GROUP}/v1/namespaces/default/{plural}"


def differences(pairs: dict[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
    """Return what was answered (theirs, ours) where that is not the same."""
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def test_definitions_are_taken_and_refused_alike(http: RawHttp) -> None:
    pairs = {}
    for name, body in crd_definition_cases.all_definitions().items():
        real = http.ask("POST", CRDS, body, query={"dryRun": "All"})
        ours = crd_beside.defined(body)
        pairs[name] = (crd_beside.comparable(real), crd_beside.comparable(ours))
    assert len(pairs) > 200
    assert not differences(pairs)


@pytest.mark.parametrize("project", PROJECTS)
def test_the_definitions_of_other_projects_are_taken(http: RawHttp, project: str) -> None:
    pairs = {}
    for body in assets.crds(project):
        body["metadata"].pop("resourceVersion", None)
        real = http.ask("POST", CRDS, body, query={"dryRun": "All"})
        assert real.code == 201, real.body
        ours = crd_beside.defined(body)
        name = body["metadata"]["name"]
        pairs[name] = (crd_beside.comparable(real), crd_beside.comparable(ours))
    assert not differences(pairs)


@pytest.mark.parametrize("kind", ["Thing", "RuledThing", "ScaledThing"])
def test_custom_objects_are_taken_and_refused_alike(http: RawHttp, kind: str) -> None:
    bodies = {
        "Thing": crd_object_cases.THING_BODIES,
        "RuledThing": crd_object_cases.RULED_BODIES,
        "ScaledThing": crd_object_cases.SCALED_BODIES,
    }[kind]
    pairs = {}
    for name, body in bodies.items():
        real = http.ask("POST", path_of(kind), body, query=DRY)
        ours = crd_beside.created(RESOURCES[kind], body)
        pairs[name] = (crd_beside.comparable(real), crd_beside.comparable(ours))
    assert not differences(pairs)


def _named(obj: Obj, name: str) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "name": name}}


def test_updates_are_taken_and_refused_alike(http: RawHttp) -> None:
    pairs = {}
    for index, (title, (old, new)) in enumerate(crd_object_cases.UPDATES.items()):
        kind, name = old["kind"], f"update-{index}"
        stored = http.post(path_of(kind), _named(old, name))
        body = _named(new, name)
        body["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"]
        real = http.ask("PUT", f"{path_of(kind)}/{name}", body, query=DRY)
        ours = crd_beside.updated(RESOURCES[kind], body, stored)
        pairs[title] = (crd_beside.comparable(real), crd_beside.comparable(ours))
    assert not differences(pairs)


def test_a_status_is_written_alone(http: RawHttp) -> None:
    stored = http.post(path_of("Thing"), _named(thing(spec={"text": "abc"}), "status"))
    pairs = {}
    for index, state in enumerate(
        [{"phase": "Up"}, {"phase": "Sideways", "n": "x"}, {"odd": 1}, None, "x", {"n": 1.5}]
    ):
        body = {**copy.deepcopy(stored), "spec": {"text": "XYZ"}, "status": state}
        real = http.ask("PUT", f"{path_of('Thing')}/status/status", body, query=DRY)
        ours = crd_beside.updated(RESOURCES["Thing"], body, stored, "status")
        pairs[str(index)] = (crd_beside.comparable(real), crd_beside.comparable(ours))
    assert not differences(pairs)


def _tightened(http: RawHttp, name: str, schema: Obj, probe: tuple[str, Obj]) -> Obj:
    """Give a stored definition another schema, and wait until the server goes by it."""
    body = http.ask("GET", f"{CRDS}/{name}").body
    body["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    changed: Obj = http.put(f"{CRDS}/{name}", body)
    path, wrong = probe
    until = time.monotonic() + 15
    while http.ask("POST", path, wrong, query=DRY).code != 422:
        assert time.monotonic() < until
        time.sleep(0.05)
    return changed


def test_what_did_not_change_is_not_held_against_an_update(http: RawHttp) -> None:
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    lax = crd(loose, names={"plural": "ratchets", "kind": "Ratchet"})
    crd_beside.install(http, lax)
    path = f"/apis/{GROUP}/v1/namespaces/default/ratchets"
    specs: dict[str, tuple[Obj, Obj]] = {
        "bad text kept": ({"text": "A", "count": 1}, {"text": "A", "count": 2}),
        "bad text and new bad": ({"text": "A"}, {"text": "A", "count": 0}),
        "bad text changed": ({"text": "A"}, {"text": "B"}),
        "bad item of map kept": (
            {"named": [{"name": "a", "size": 9}]},
            {"named": [{"name": "b", "size": 1}, {"name": "a", "size": 9}]},
        ),
        "bad item of map changed": (
            {"named": [{"name": "a", "size": 9}]},
            {"named": [{"name": "a", "size": 8}]},
        ),
        "bad list kept": ({"list": [-1]}, {"list": [-1], "count": 1}),
        "bad list grown": ({"list": [-1]}, {"list": [-1, 2]}),
        "duplicates kept": ({"set": ["a", "a"]}, {"set": ["a", "a"], "count": 1}),
        "any of kept": ({"anyof": {}}, {"anyof": {}, "count": 1}),
        "any of changed": ({"anyof": {}}, {"anyof": {"b": 1}}),
        "rule kept": ({"even": 2, "low": 5, "high": 1}, {"even": 4, "low": 5, "high": 1}),
        "rule broken anew": ({"low": 5}, {"low": 5, "high": 1}),
        "rule on field kept": ({"small": 50}, {"small": 50, "count": 1}),
    }
    stored = {
        title: http.post(path, thing("Ratchet", f"r{index}", spec=old))
        for index, (title, (old, _)) in enumerate(specs.items())
    }
    strict = copy.deepcopy(crd_object_cases.SCHEMA)
    fields = strict["properties"]["spec"]["properties"]
    fields.pop("defaulted")
    fields |= {"low": {"type": "integer"}, "high": {"type": "integer"}}
    fields["small"] = {
        "type": "integer",
        "x-kubernetes-validations": [{"rule": "self < 10", "message": "small"}],
    }
    strict["properties"]["spec"]["x-kubernetes-validations"] = [
        {"rule": "!has(self.low) || !has(self.high) || self.low <= self.high"}
    ]
    wrong = thing("Ratchet", "probe", spec={"text": "A"})
    changed = _tightened(http, "ratchets.rules.example.com", strict, (path, wrong))
    resource = crd_beside.resource_of(changed)
    pairs = {}
    for title, old in stored.items():
        body = {**copy.deepcopy(old), "spec": specs[title][1]}
        real = http.ask("PUT", f"{path}/{old['metadata']['name']}", body, query=DRY)
        ours = crd_beside.updated(resource, body, old)
        pairs[title] = (crd_beside.comparable(real), crd_beside.comparable(ours))
    crd_beside.remove(http, "ratchets.rules.example.com")
    assert not differences(pairs)


def test_definitions_are_changed_alike(http: RawHttp) -> None:
    name = "changers.rules.example.com"
    first = crd(
        of_spec(a={"type": "string"}),
        names={"plural": "changers", "kind": "Changer", "shortNames": ["ch"]},
    )
    old = crd_beside.install(http, first)
    changes: dict[str, dict[str, Any]] = {
        "scope": {"scope": "Cluster"},
        "kind": {"names": {**old["spec"]["names"], "kind": "Other"}},
        "short names": {"names": {**old["spec"]["names"], "shortNames": ["x"]}},
        "group": {"group": "other.example.com"},
        "new version": {"versions": [*old["spec"]["versions"], version(name="v2")]},
        "version gone": {"versions": [{**version(name="v2"), "storage": True}]},
        "moved storage": {
            "versions": [
                {**old["spec"]["versions"][0], "storage": False},
                {**version(name="v2"), "storage": True},
            ]
        },
        "wrong schema": {"versions": [version(of_spec(a={}))]},
        "wrong rule": {"versions": [version(rule("self.nope"))]},
        "new format": {"versions": [version(of_spec(a={"type": "string", "format": "odd"}))]},
        "preserve": {"preserveUnknownFields": True},
        "no certificate": {
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {"url": "https://a.example.com", "caBundle": "YWJj"},
                },
            }
        },
    }
    pairs = {}
    for title, change in changes.items():
        body = {**copy.deepcopy(old), "spec": {**old["spec"], **change}}
        real = http.ask("PUT", f"{CRDS}/{name}", body, query={"dryRun": "All"})
        ours = crd_beside.redefined(body, old)
        pairs[title] = (crd_beside.comparable(real), crd_beside.comparable(ours))
    crd_beside.remove(http, name)
    assert not differences(pairs)


def _timeless(status: Obj) -> Obj:
    conditions = [
        {key: each[key] for key in each if key != "lastTransitionTime"}
        for each in status.get("conditions") or ()
    ]
    return {**status, "conditions": sorted(conditions, key=lambda each: str(each["type"]))}


def test_names_are_given_and_refused_alike(http: RawHttp) -> None:
    taken = crd(names={"plural": "owners", "kind": "Owner", "shortNames": ["ow"]})
    rival = crd(
        names={
            "plural": "rivals",
            "kind": "Owner",
            "singular": "owner",
            "shortNames": ["ow", "rv"],
        }
    )
    owner = crd_beside.install(http, taken)
    http.post(CRDS, rival)
    until = time.monotonic() + 15
    seen: Obj = {}
    while time.monotonic() < until and not seen.get("status", {}).get("conditions"):
        seen = http.ask("GET", f"{CRDS}/rivals.rules.example.com").body
    ours = crd_beside.defined(rival).body
    status = naming.settled_status(ours, [owner], "now")
    fresh = naming.settled_status(crd_beside.defined(taken).body, [], "now")
    for each in ("owners", "rivals"):
        crd_beside.remove(http, f"{each}.rules.example.com")
    assert _timeless(seen["status"]) == _timeless(status)
    assert _timeless(owner["status"]) == _timeless(fresh)


def test_tables_show_the_same_cells(http: RawHttp) -> None:
    columns = [
        {"name": "Text", "type": "string", "jsonPath": ".spec.a"},
        {"name": "Ready", "type": "string", "jsonPath": '.spec.c[?(@.type=="Ready")].status'},
        {"name": "First", "type": "integer", "jsonPath": ".spec.l[0]"},
        {"name": "Last", "type": "integer", "jsonPath": ".spec.l[-1]", "priority": 1},
        {"name": "All", "type": "string", "jsonPath": ".spec.l[*]"},
        {"name": "List", "type": "string", "jsonPath": ".spec.l"},
        {"name": "Label", "type": "string", "jsonPath": r".metadata.labels.a\.b/c"},
        {"name": "Flag", "type": "boolean", "jsonPath": ".spec.flag"},
        {"name": "Share", "type": "number", "jsonPath": ".spec.share"},
        {"name": "When", "type": "date", "jsonPath": ".spec.when"},
        {"name": "Odd", "type": "integer", "jsonPath": ".spec.a", "description": "wrong type"},
        {"name": "Quoted", "type": "string", "jsonPath": ".spec['a']"},
    ]
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    shown = crd(
        versions=[version(loose, additionalPrinterColumns=columns)],
        names={"plural": "shownthings", "kind": "ShownThing"},
    )
    crd_beside.install(http, shown)
    path = f"/apis/{GROUP}/v1/namespaces/default/shownthings"
    specs: list[Any] = [
        {"a": "x", "l": [1, 2], "flag": True, "share": 1.5, "when": "2000-01-01T00:00:00Z"},
        {"a": 5, "c": [{"type": "Ready", "status": "True"}, {"type": "B"}], "l": []},
        {"a": {"b": [1, "<"]}, "l": "x", "flag": "x", "share": "x", "when": "never"},
        {},
        {"a": 1.0, "l": [{"z": 1, "a": 2}], "c": [{"status": "x"}]},
    ]
    for index, spec in enumerate(specs):
        obj = thing("ShownThing", f"s{index}", spec=spec)
        obj["metadata"]["labels"] = {"a.b/c": "label"}
        http.post(path, obj)
    table = http.ask("GET", path, accept=TABLE).body
    items = http.ask("GET", path).body["items"]
    resource = crd_beside.resource_of(shown)
    now = datetime.now(UTC)
    crd_beside.remove(http, "shownthings.rules.example.com")
    assert [row["cells"] for row in table["rows"]] == [
        resource.columns.cells(item, now) for item in items
    ]
    named = [each for each in table["columnDefinitions"] if each["name"] != "Name"]
    assert named == resource.columns.definitions[1:]


def test_scales_are_read_and_written_alike(http: RawHttp) -> None:
    custom = RESOURCES["ScaledThing"].codec
    assert isinstance(custom, Custom)
    assert custom.scale is not None
    body = thing("ScaledThing", "scaled", spec={"replicas": 3, "other": 1})
    stored = http.post(path_of("ScaledThing"), body)
    path = f"{path_of('ScaledThing')}/scaled/scale"
    real = http.ask("GET", path).body
    assert custom.scale.get(stored) == real
    wanted = {**real, "spec": {"replicas": 5}}
    assert http.put(path, wanted)["spec"] == {"replicas": 5}
    now = http.ask("GET", f"{path_of('ScaledThing')}/scaled").body
    assert custom.scale.write(stored, wanted)["spec"] == now["spec"]


def test_the_rules_of_other_projects_are_evaluated_alike(http: RawHttp) -> None:
    pairs = {}
    for project, plural, bodies in crd_project_cases.CASES:
        body = next(
            each for each in assets.crds(project) if each["spec"]["names"]["plural"] == plural
        )
        spec = body["spec"]
        stored = next(each["name"] for each in spec["versions"] if each["storage"])
        # One version is enough, and leaves no doubt which one is served.
        spec["versions"] = [each for each in spec["versions"] if each["name"] == stored]
        crd_beside.install(http, body)
        resource = crd_beside.resource_of(body, stored)
        place = "/namespaces/default" if spec["scope"] == "Namespaced" else ""
        path = f"/apis/{spec['group']}/{stored}{place}/{plural}"
        for title, given in bodies.items():
            metadata = {"name": "it", **({"namespace": "default"} if place else {})}
            obj = {
                "apiVersion": f"{spec['group']}/{stored}",
                "kind": spec["names"]["kind"],
                "metadata": {**metadata, **given.get("metadata", {})},
                **{key: value for key, value in given.items() if key != "metadata"},
            }
            real = http.ask("POST", path, obj, query=DRY)
            ours = crd_beside.created(resource, obj)
            pairs[f"{plural}: {title}"] = (
                crd_beside.comparable(real),
                crd_beside.comparable(ours),
            )
        crd_beside.remove(http, body["metadata"]["name"])
    assert not differences(pairs)
    assert sum(pair[0][0] == 422 for pair in pairs.values()) >= 10, "rules were broken"


def test_a_version_that_a_webhook_must_make_is_refused_alike(http: RawHttp) -> None:
    hook = {
        "clientConfig": {
            "service": {"name": "hook", "namespace": "nowhere", "path": "/convert"}
        },
        "conversionReviewVersions": ["v1"],
    }
    hooked = crd(
        versions=[version(), version(of_spec(a={"type": "string"}), "v2")],
        names={"plural": "hooks", "kind": "Hook"},
        conversion={"strategy": "Webhook", "webhook": hook},
    )
    crd_beside.install(http, hooked)
    stored = http.post(f"/apis/{GROUP}/v1/namespaces/default/hooks", thing("Hook"))
    real = http.ask("GET", f"/apis/{GROUP}/v2/namespaces/default/hooks/it")
    http.ask("DELETE", f"/apis/{GROUP}/v1/namespaces/default/hooks/it")
    crd_beside.remove(http, "hooks.rules.example.com")
    whole = crd_beside.defined(hooked).body
    with pytest.raises(StatusError) as caught:
        conversion.converter(whole).convert(stored, "v2")
    assert caught.value.status() == real.body
