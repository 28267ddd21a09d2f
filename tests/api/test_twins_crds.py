"""Both servers beside each other: definitions of custom resources, and their objects."""

import asyncio
import copy
from secrets import token_hex
from typing import Any

import pytest

from jobferry.objects import Obj
from tests.api import crd_object_cases
from tests.api.crd_definition_cases import all_definitions, crd, of_spec, version
from tests.api.crd_object_cases import RULED_BODIES, SCALED_BODIES, THING_BODIES, UPDATES
from tests.api.twins import (
    JSON_PATCH,
    MERGE,
    PARTIAL_LIST,
    STRATEGIC,
    TABLE,
    Both,
    Twins,
)

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DEFINITIONS = all_definitions()
TRIES = 100
UNTRACKED = ("as date-time 5",)
"""A list where text with a format belongs: refused or not, the real server loses track of its owners."""


def moved(definition: Obj, group: str) -> Obj:
    """Return a definition in a group of its own."""
    found = copy.deepcopy(definition)
    plural = found["spec"]["names"]["plural"]
    found["spec"]["group"] = group
    found["metadata"]["name"] = f"{plural}.{group}"
    return found


async def established(twins: Twins, definition: Obj) -> None:
    """Create a definition on both and wait until its objects are served."""
    await twins.post(CRDS, definition, adapt=settled)
    spec = definition["spec"]
    served = [each["name"] for each in spec["versions"] if each.get("served")]
    for name in served:
        await serving(twins, f"/apis/{spec['group']}/{name}/{spec['names']['plural']}", 200)


async def serving(twins: Twins, path: str, code: int) -> Both:
    """Ask both until both answer with a code."""
    codes = (0, 0)
    for _ in range(TRIES):
        both = await twins.ask("GET", path)
        codes = both.real.code, both.ours.code
        if codes == (code, code):
            return both
        await asyncio.sleep(0.1)
    raise AssertionError(f"{path} is answered with {codes}, not with {code}")


def settled(body: Any) -> None:
    """Take out what comes to be in its own time: conditions, and names that were accepted."""
    if isinstance(body, dict) and body.get("kind") == "CustomResourceDefinition":
        for member in ("conditions", "acceptedNames"):
            body["status"].pop(member, None)


def in_group(body: Obj, group: str, name: str) -> Obj:
    about = {**body.get("metadata", {})}
    about.pop("namespace", None)
    about["name"] = name if about.get("name") == "it" else about.get("name", name)
    return {**body, "apiVersion": f"{group}/v1", "metadata": about}


@pytest.fixture
def group() -> str:
    return f"g{token_hex(4)}.example.com"


# -- definitions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", range(4))
async def test_definitions_are_accepted_or_refused(twins: Twins, part: int) -> None:
    for title in sorted(DEFINITIONS)[part::4]:
        body = DEFINITIONS[title]
        query = {"dryRun": "All"}
        await twins.post(CRDS, body, title=title, query=query, any_order=True, adapt=settled)


async def test_a_definition_is_established(twins: Twins, group: str) -> None:
    definition = moved(crd(), group)
    name = definition["metadata"]["name"]
    await established(twins, definition)
    await twins.get(f"{CRDS}/{name}")
    await twins.get(f"{CRDS}/{name}", accept=TABLE)
    await twins.get(f"/apis/{group}/v1/namespaces/default/widgets")
    for path in (f"/apis/{group}", f"/apis/{group}/v1", f"/apis/{group}/v2"):
        await twins.get(path)
    await twins.patch(f"{CRDS}/{name}/status", {"status": {"storedVersions": []}})
    await twins.patch(f"{CRDS}/{name}", {"spec": {"scope": "Cluster"}})
    await twins.patch(f"{CRDS}/{name}", {"spec": {"names": {"kind": "Other"}}})
    await twins.patch(f"{CRDS}/{name}", {"metadata": {"labels": {"a": "b"}}}, STRATEGIC)
    await twins.same("DELETE", f"{CRDS}/{name}", adapt=settled)
    await serving(twins, f"{CRDS}/{name}", 404)
    await serving(twins, f"/apis/{group}/v1", 404)


async def test_names_may_be_taken(twins: Twins, group: str) -> None:
    await established(twins, moved(crd(), group))
    names = {"plural": "gadgets", "kind": "Widget", "shortNames": ["wg"]}
    other = moved(crd(names=names), group)
    path = f"{CRDS}/{other['metadata']['name']}"
    await twins.post(CRDS, other, adapt=settled)
    for _ in range(TRIES):
        both = await twins.ask("GET", path)
        if all(each["status"].get("conditions") for each in (both.object, both.each().mine)):
            break
        await asyncio.sleep(0.1)
    await twins.get(path)
    await twins.get(f"/apis/{group}/v1/gadgets")


async def test_names_that_become_free_are_given_away(twins: Twins, group: str) -> None:
    first, second = (
        moved(crd(names={"plural": plural, "kind": "Widget"}), group)
        for plural in ("gadgets", "gizmos")
    )
    await established(twins, first)
    await twins.post(CRDS, second, adapt=settled)
    await twins.same("DELETE", f"{CRDS}/{first['metadata']['name']}", adapt=settled)
    await serving(twins, f"/apis/{group}/v1/gizmos", 200)


NO_VERSIONS: tuple[tuple[str, Any], ...] = (
    (MERGE, {"spec": {"versions": None}}),
    (STRATEGIC, {"spec": {"versions": None}}),
    (JSON_PATCH, [{"op": "remove", "path": "/spec/versions"}]),
    (JSON_PATCH, [{"op": "replace", "path": "/spec/versions", "value": None}]),
    (MERGE, {"spec": {"versions": [None]}}),
    (MERGE, {"spec": None}),
)


async def test_a_definition_never_comes_to_have_no_versions(twins: Twins, group: str) -> None:
    definition = moved(crd(), group)
    path = f"{CRDS}/{definition['metadata']['name']}"
    empty = copy.deepcopy(definition)
    empty["spec"]["versions"] = None
    await twins.apply(path, empty)
    await established(twins, definition)
    await twins.apply(path, empty, force="true")
    empty["metadata"]["resourceVersion"] = (await twins.ask("GET", path)).each(
        "metadata", "resourceVersion"
    )
    await twins.same("PUT", path, empty)
    for kind, patch in NO_VERSIONS:
        await twins.patch(path, patch, kind)
    await twins.patch(f"{path}/status", {"spec": {"versions": None}}, adapt=settled)


async def test_deleting_a_definition_deletes_its_objects(
    twins: Twins, place: str, group: str
) -> None:
    definition = moved(crd(of_spec(a={"type": "string"})), group)
    path = f"/apis/{group}/v1/namespaces/{place}/widgets"
    name = definition["metadata"]["name"]
    await established(twins, definition)
    head = {"apiVersion": f"{group}/v1", "kind": "Widget"}
    held = {**head, "metadata": {"name": "held", "finalizers": ["a.b/c"]}}
    await twins.post(path, {**head, "metadata": {"name": "free"}})
    await twins.post(path, held)
    await twins.same("DELETE", f"{CRDS}/{name}", adapt=settled)
    await serving(twins, f"{path}/free", 404)
    await twins.post(path, {**head, "metadata": {"name": "late"}})
    await twins.get(f"{path}/held")
    await twins.patch(f"{path}/held", {"metadata": {"finalizers": None}})
    await serving(twins, f"{CRDS}/{name}", 404)


# -- objects ----------------------------------------------------------------------------------------


APPLIED: list[Obj] = [
    {"kept": {"other": 1, "known": {"a": 1, "b": 1}}},
    {"kept": {"known": {"c": 1}}},
    *({"kept": 1}, {"kept": {"known": 1}}, {"loose": 1}, {"object": [1]}, {"any": [1]}),
    *({"amount": "5%"}, {"amount": {"a": 1}}, {"amount": 1.5}, {"set": [1]}, {"zz": 1}),
]


async def test_objects_are_created_or_refused(twins: Twins, place: str, group: str) -> None:
    definition = moved(crd_object_cases.THINGS, group)
    await established(twins, definition)
    path = f"/apis/{group}/v1/namespaces/{place}/{definition['spec']['names']['plural']}"
    for index, (title, body) in enumerate(THING_BODIES.items()):
        body = in_group(body, group, f"it{index}")  # noqa: PLW2901
        validation = ("Warn", "Strict", "Ignore")[index % 3]
        query = {"fieldValidation": validation}
        if title in UNTRACKED:
            continue
        await twins.post(path, body, title=title, query=query, any_order=True)
    twice = '"spec":{"any":{"a":1}},"spec":{"any":{"b":1,"b":2}}'
    text = f'{{"apiVersion":"{group}/v1","kind":"Thing","metadata":{{"name":"twice"}},{twice}}}'
    await twins.post(path, text, title="fields that are there twice")
    for index, spec in enumerate(APPLIED):
        body = in_group(crd_object_cases.thing(spec=spec), group, f"ap{index}")
        validation = ("Strict", "Warn")[index % 2]
        await twins.apply(f"{path}/ap{index}", body, fieldValidation=validation)


async def test_rules_are_evaluated(twins: Twins, place: str, group: str) -> None:
    definition = moved(crd_object_cases.RULES, group)
    await established(twins, definition)
    path = f"/apis/{group}/v1/namespaces/{place}/ruledthings"
    for index, (title, body) in enumerate(RULED_BODIES.items()):
        body = in_group(body, group, f"it{index}")  # noqa: PLW2901
        await twins.post(path, body, title=title, any_order=True)
    for index, (title, (before, after)) in enumerate(UPDATES.items()):
        if before["kind"] != "RuledThing":
            continue
        name = f"up{index}"
        await twins.post(path, in_group(before, group, name), title=title)
        made = await twins.get(f"{path}/{name}", title=title)
        body = in_group(after, group, name)
        body["metadata"]["resourceVersion"] = made.each("metadata", "resourceVersion")
        await twins.same("PUT", f"{path}/{name}", body, title=title, any_order=True)


async def test_scales_are_read_and_written(twins: Twins, place: str, group: str) -> None:
    await established(twins, moved(crd_object_cases.SCALED, group))
    path = f"/apis/{group}/v1/namespaces/{place}/scaledthings"
    for index, (title, body) in enumerate(SCALED_BODIES.items()):
        here = f"{path}/it{index}"
        await twins.post(path, in_group(body, group, f"it{index}"), title=title)
        await twins.get(f"{here}/scale", title=title)
        await twins.patch(f"{here}/scale", {"spec": {"replicas": 5}}, title=title)
        await twins.patch(f"{here}/scale", {"spec": {"replicas": -5}}, title=title)
        head = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
        scale = {**head, "metadata": {"name": f"it{index}"}, "spec": {"replicas": 7}}
        await twins.same("PUT", f"{here}/scale", scale, title=title)
        status = {"status": {"replicas": 2, "selector": "a=b"}}
        await twins.patch(f"{here}/status", status, title=title)
        await twins.get(f"{here}/scale", title=title)
        if "replicas" in (body.get("spec") or ""):
            await twins.apply(f"{here}/scale", {**scale, "spec": {"replicas": 9}})
        await twins.get(here, title=title)


async def widgets(twins: Twins, place: str, group: str) -> tuple[str, Obj]:
    """Define Widgets with all that a definition can say, and create three."""
    columns = [
        {"name": "A", "type": "string", "jsonPath": ".spec.a"},
        {"name": "N", "type": "integer", "jsonPath": ".spec.n", "priority": 1},
    ]
    fields: Obj = {"a": {"type": "string", "default": "z"}, "n": {"type": "integer"}}
    schema = of_spec(**fields)
    schema["properties"]["status"] = {"type": "object", "properties": {"s": {"type": "string"}}}
    only = version(
        schema,
        additionalPrinterColumns=columns,
        subresources={"status": {}},
        selectableFields=[{"jsonPath": ".spec.a"}],
    )
    await established(twins, moved(crd(versions=[only]), group))
    path = f"/apis/{group}/v1/namespaces/{place}/widgets"
    head = {"apiVersion": f"{group}/v1", "kind": "Widget"}
    for name in "abc":
        spec = {"n": 1, "pruned": 1} if name == "a" else {"a": name}
        body = {**head, "metadata": {"name": name, "labels": {"l": name}}, "spec": spec}
        await twins.post(path, {**body, "status": {"s": "x"}})
    return path, head


async def test_custom_objects_are_read(twins: Twins, place: str, group: str) -> None:
    path, _ = await widgets(twins, place, group)
    for accept in ("application/json", TABLE, PARTIAL_LIST):
        await twins.get(path, accept=accept)
        await twins.get(path, accept=accept, labelSelector="l in (a,b)", limit="1")
        await twins.get(path, accept=accept, fieldSelector="spec.a=z")
    await twins.get(path, fieldSelector="spec.n=1")
    watch = {"watch": "true", "timeoutSeconds": "1"}
    await twins.same("GET", path, query={**watch, "fieldSelector": "spec.a=b"})
    await twins.same("GET", path, query={**watch, "fieldSelector": "spec.a=b"}, accept=TABLE)


async def test_custom_objects_are_written(twins: Twins, place: str, group: str) -> None:
    path, head = await widgets(twins, place, group)
    here = f"{path}/a"
    await twins.patch(here, {"spec": {"n": 2}}, MERGE)
    await twins.patch(here, {"spec": {"n": "2"}}, MERGE)
    await twins.patch(
        here, {"spec": {"n": 2, "zz": 1}}, MERGE, query={"fieldValidation": "Strict"}
    )
    await twins.patch(here, {"spec": {"n": 2}}, STRATEGIC)
    await twins.patch(here, {"spec": {"n": 3}, "status": {"s": "y"}}, MERGE)
    await twins.patch(f"{here}/status", {"spec": {"n": 4}, "status": {"s": "y"}}, MERGE)
    await twins.patch(f"{here}/status", {"status": {"s": 1}}, MERGE)
    await twins.patch(here, {"kind": "Odd"}, MERGE)
    others: tuple[Any, ...] = ([1, ["a"]], [], "a", 1, None, {}, {"spec": {}})
    for other in others:
        whole = [{"op": "replace", "path": "", "value": other}]
        await twins.patch(here, whole, "application/json-patch+json", title=f"{other}")
    await twins.apply(here, {**head, "metadata": {"name": "a"}, "spec": {"n": 9}}, "one")
    await twins.apply(
        here, {**head, "metadata": {"name": "a"}, "spec": {"n": 9}}, "one", force="true"
    )
    await twins.apply(here, {**head, "metadata": {"name": "a"}, "spec": {"x": 9}}, "one")
    await twins.apply(f"{path}/d", {**head, "metadata": {"name": "d"}, "spec": {}}, "one")
    body = {**head, "metadata": {"name": "a"}, "spec": {"a": "new"}}
    await twins.same("PUT", here, body)
    version_now = (await twins.get(here)).each("metadata", "resourceVersion")
    body["metadata"] = {"name": "a", "resourceVersion": version_now}
    await twins.same("PUT", here, body)
    await twins.same("PUT", here, {**body, "kind": "Odd"})
    await twins.post(path, {"metadata": {"name": "e"}})
    await twins.post(path, {**head, "metadata": {"name": "a"}})
    await twins.post(path, {**head, "metadata": {"generateName": "g-"}})
    await twins.post(path, b"{")
    await twins.post(path, b"x", content_type="text/plain")
    await twins.same("DELETE", here, {"propagationPolicy": "Foreground"})
    await twins.same("DELETE", f"{path}/b")
    await twins.same("DELETE", path)


async def test_objects_follow_a_definition_that_changes(
    twins: Twins, place: str, group: str
) -> None:
    fields: Obj = {"a": {"type": "string"}, "gone": {"type": "integer"}}
    definition = moved(
        crd(versions=[version(of_spec(**fields)), version(of_spec(**fields), "v2")]), group
    )
    await established(twins, definition)
    one, two = (f"/apis/{group}/{each}/namespaces/{place}/widgets" for each in ("v1", "v2"))
    head = {"apiVersion": f"{group}/v1", "kind": "Widget"}
    await twins.post(one, {**head, "metadata": {"name": "a"}, "spec": {"a": "x", "gone": 1}})
    watch = {"watch": "true", "timeoutSeconds": "60"}
    watches = [twins.ask("GET", path, query=watch) for path in (one, two)]
    watching = asyncio.gather(*watches)
    default = {"type": "integer", "default": 7}
    changed = [
        version(of_spec(a=fields["a"], new=default)) | {"storage": False},
        version(of_spec(a=fields["a"], new={"type": "integer"}), "v2") | {"storage": True},
    ]
    here = f"{CRDS}/{definition['metadata']['name']}"
    for category in map("c{}".format, range(TRIES)):
        # A watch may begin after a change: the next one ends it.
        spec = {"versions": changed, "names": {"categories": [category]}}
        await twins.patch(here, {"spec": spec}, adapt=settled)
        if (await asyncio.wait({watching}, timeout=0.2))[0]:
            break
    assert watching.done()
    await twins.soon_same("GET", f"{one}/a")
    await twins.soon_same("GET", f"{two}/a")
    await twins.soon_same("GET", two, accept=TABLE)
    await twins.patch(f"{two}/a", {"spec": {"a": "y"}})
    await twins.soon_same("GET", f"{one}/a")
    changed[0]["served"] = False
    await twins.patch(here, {"spec": {"versions": changed}}, adapt=settled)
    await serving(twins, one, 404)
    await twins.soon_same("GET", f"{two}/a")


async def test_an_object_is_served_in_several_versions(
    twins: Twins, place: str, group: str
) -> None:
    old = version(of_spec(a={"type": "string"}, b={"type": "integer"}))
    new = version(
        of_spec(a={"type": "string"}, c={"type": "string", "default": "d"}), name="v2"
    )
    gone = version(name="v3") | {"served": False}
    await established(twins, moved(crd(versions=[old, new, gone]), group))
    one, two = (f"/apis/{group}/{each}/namespaces/{place}/widgets" for each in ("v1", "v2"))
    body = {"kind": "Widget", "metadata": {"name": "a"}, "spec": {"a": "x", "b": 1, "c": "y"}}
    await twins.post(one, {**body, "apiVersion": f"{group}/v1"})
    await twins.get(f"{two}/a")
    await twins.post(two, {**body, "apiVersion": f"{group}/v1", "spec": {"a": "x"}})
    await twins.post(two, {**body, "apiVersion": f"{group}/v2", "metadata": {"name": "b"}})
    await twins.get(f"{one}/b")
    await twins.get(two)
    await twins.get(one.replace("v1", "v3"))
    for path in (f"/apis/{group}", f"/apis/{group}/v1", f"/apis/{group}/v2"):
        await twins.get(path)
