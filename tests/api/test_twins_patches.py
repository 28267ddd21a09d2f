"""Both servers beside each other: patches of all types, drawn by hand and by chance."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobferry.kube.calls import PatchKind
from jobferry.kube.resources import CONFIG_MAPS, JOBS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from tests.api import patch_cases
from tests.api.job_bodies import job
from tests.api.patch_cases import OBJECTS, POD_TEMPLATES
from tests.api.twins import APPLY, JSON_PATCH, MERGE, STRATEGIC, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

NUMBERS = itertools.count()
ONLY_STORED = ("poddisruptionbudgets", "services")
"""What localkube keeps without rules and defaults."""
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")
CRON: Obj = {
    "spec": {
        "schedule": "@daily",
        "suspend": True,
        "jobTemplate": {"spec": {"template": OBJECTS[POD_TEMPLATES]["template"]}},
    }
}
TYPES = {PatchKind.JSON: JSON_PATCH, PatchKind.MERGE: MERGE, PatchKind.STRATEGIC: STRATEGIC}
TABLES: list[tuple[str, list[tuple[Resource, Any]]]] = [
    (JSON_PATCH, patch_cases.JSON_PATCHES),
    (JSON_PATCH, patch_cases.JSON_MISTAKES),
    (MERGE, patch_cases.MERGE_PATCHES),
    (MERGE, patch_cases.MERGE_MISTAKES),
    (STRATEGIC, patch_cases.STRATEGIC_PATCHES),
    (STRATEGIC, patch_cases.STRATEGIC_MISTAKES),
]


def collection(resource: Resource, place: str) -> str:
    head = f"/apis/{resource.group}/v1" if resource.group else "/api/v1"
    return f"{head}/namespaces/{place}/{resource.plural}"


def served(resource: Resource, patch: Any) -> tuple[Resource, Obj, Any]:
    """Return what is patched, and the patch: pod templates, which are not served, are in CronJobs."""
    if resource != POD_TEMPLATES:
        return resource, OBJECTS[resource], patch
    if isinstance(patch, list):
        moved = [
            {**each, **{at: f"/spec/jobTemplate/spec{each[at]}" for at in ("path", "from") if at in each}}
            for each in patch
        ]  # fmt: skip
        return CRON_JOBS, CRON, moved
    return CRON_JOBS, CRON, {"spec": {"jobTemplate": {"spec": patch}}}


async def patched(twins: Twins, place: str, kind: str, resource: Resource, patch: Any) -> None:
    """Create an object on both, and patch it."""
    resource, body, patch = served(resource, patch)
    name = f"p{next(NUMBERS)}"
    path = collection(resource, place)
    about = {**body.get("metadata", {}), "name": name}
    await twins.ask("POST", path, {**body, "metadata": about})
    title = str(patch)[:200]
    await twins.patch(f"{path}/{name}", patch, kind, title=title, any_order=True)


@pytest.mark.parametrize(("kind", "table"), TABLES, ids=lambda each: str(each)[:20])
async def test_tables_of_patches(
    twins: Twins, place: str, kind: str, table: list[tuple[Resource, Any]]
) -> None:
    for resource, patch in table:
        if resource.plural not in ONLY_STORED:
            await patched(twins, place, kind, resource, patch)


async def test_patches_made_by_chance(twins: Twins, place: str) -> None:
    for kind, resource, patch in itertools.islice(patch_cases.generated(), 240):
        await patched(twins, place, TYPES[kind], resource, patch)


ODD_SPECS: list[Obj] = [
    {"parallelism": 3_000_000_000},
    {"parallelism": 2**32 + 1, "suspend": True},
    {"parallelism": 2.0},
    {"parallelism": 2**63},
    {"parallelism": 1.5},
    {"activeDeadlineSeconds": 2**63},
    {"template": {"metadata": {"creationTimestamp": "x"}, "spec": 1}},
    {"template": {"metadata": {"creationTimestamp": 1}}},
]


async def test_values_that_a_type_has_no_room_for(twins: Twins, place: str) -> None:
    path = f"/apis/batch/v1/namespaces/{place}/jobs"
    pod = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    await twins.ask("POST", path, {**job, "spec": {"template": {"spec": pod}}})
    for spec in ODD_SPECS:
        for kind in (MERGE, STRATEGIC, APPLY):
            body = {**job, "spec": spec} if kind == APPLY else {"spec": spec}
            query = {"dryRun": "All", "fieldManager": "m", "force": "true"}
            query = query if kind == APPLY else {"dryRun": "All"}
            title = f"{kind} {spec}"
            await twins.patch(f"{path}/j", body, kind, title=title, query=query, any_order=True)


@pytest.mark.parametrize("kind", [JSON_PATCH, MERGE, STRATEGIC, APPLY])
@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"null", b"[]", b"{}", b"1", b'"x"', b"[null]", b"{}{}", b"\xff", b" "),
        *(b'{"data":{"a":"1","a":"2"}}', b"a: b", b'{"a":1,}', b"[{}]", b"- a\n- b"),
        *(b'{"kind":"ConfigMap"}', b'{"apiVersion":"v2"}', b'{"metadata":{"name":"b"}}'),
        *(b'{"metadata":{"namespace":"b"}}', b'{"metadata":null}', b'{"metadata":[]}'),
        *(b'{"metadata":{"labels":{"a":1}}}', b'{"data":{"a":{"b":1}}}', b'{"data":[1]}'),
        *(b'{"metadata":{"uid":null,"creationTimestamp":null}}', b'{"kind":"Secret"}'),
        *(b'{"metadata":{"managedFields":[]}}', b'{"metadata":{"managedFields":[{}]}}'),
        *(b'{"metadata":{"resourceVersion":""}}', b'{"metadata":{"resourceVersion":"1"}}'),
        *(b'{"metadata":{"generation":5,"selfLink":"x"}}', b'{"kind":null}', b'{"kind":1}'),
    ],
    ids=repr,
)
async def test_bodies_of_patches(twins: Twins, place: str, kind: str, body: bytes) -> None:
    path = collection(CONFIG_MAPS, place)
    await twins.ask("POST", path, {"metadata": {"name": "a"}, "data": {"x": "y"}})
    query = {"fieldManager": "m"}
    await twins.patch(f"{path}/a", body, kind, query=query)
    await twins.get(f"{path}/a")


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "application/merge-patch+json; charset=utf-8",
        "application/Merge-Patch+JSON",
        "application/apply-patch+cbor",
        "application/apply-patch+json",
        "text/plain",
        "",
        "x",
    ],
)
async def test_types_of_patches(twins: Twins, place: str, kind: str) -> None:
    path = collection(CONFIG_MAPS, place)
    await twins.ask("POST", path, {"metadata": {"name": "a"}})
    await twins.patch(f"{path}/a", {"data": {"a": "b"}}, kind)
    await twins.patch(f"{path}/none", {"data": {"a": "b"}}, kind)


@pytest.mark.parametrize("kind", [JSON_PATCH, MERGE, STRATEGIC])
async def test_what_is_not_there_cannot_be_patched(twins: Twins, place: str, kind: str) -> None:
    bodies: tuple[Any, ...] = ({}, [], b"{")
    for body in bodies:
        await twins.patch(f"{collection(CONFIG_MAPS, place)}/none", body, kind)
        await twins.patch(f"{collection(CONFIG_MAPS, 'nowhere')}/none", body, kind)
    await twins.patch(
        f"{collection(CONFIG_MAPS, place)}/none", {}, kind, query={"force": "true"}
    )


async def test_patches_may_ask_for_a_version(twins: Twins, place: str) -> None:
    path = collection(CONFIG_MAPS, place)
    made = await twins.post(path, {"metadata": {"name": "a"}})
    version = made.each("metadata", "resourceVersion")
    await twins.patch(
        f"{path}/a", {"metadata": {"resourceVersion": version}, "data": {"a": "1"}}
    )
    await twins.patch(
        f"{path}/a", {"metadata": {"resourceVersion": version}, "data": {"a": "2"}}
    )
    check = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]
    await twins.patch(f"{path}/a", check, JSON_PATCH, adapt=lambda _: None)


# -- drawn by hypothesis ----------------------------------------------------------------------------

KEYS = st.sampled_from(["a", "b", "c", "x.y/z"])
LEAVES = st.one_of(st.none(), st.sampled_from(["1", "2", ""]), st.integers(0, 3), st.booleans())
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.one_of(st.dictionaries(KEYS, inner), st.lists(inner)), max_leaves=5
)
MEMBERS = st.dictionaries(KEYS, st.one_of(st.none(), st.text("ab-.", max_size=3)), max_size=3)


@st.composite
def patches_of_maps(draw: st.DrawFn) -> Obj:
    """Draw a patch that means well, or one that does not."""
    strange = draw(st.integers(0, 4)) == 0
    values: Any = ANYTHING if strange else MEMBERS
    patch: Obj = {"data": draw(values)}
    if draw(st.booleans()):
        patch["metadata"] = {draw(st.sampled_from(["labels", "annotations"])): draw(values)}
    if draw(st.booleans()):
        patch["immutable"] = draw(st.sampled_from([None, False, False, 1 if strange else None]))
    return patch


JOB_MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "parallelism": st.sampled_from([0, 1, 5, -1, None, "1"]),
    "completions": st.sampled_from([0, 1, 5, None]),
    "suspend": st.sampled_from([True, False, None]),
    "backoffLimit": st.sampled_from([0, 3, None, 2.0, 1.5]),
    "activeDeadlineSeconds": st.sampled_from([0, 5, None]),
    "ttlSecondsAfterFinished": st.sampled_from([0, 5, None]),
    "template": st.fixed_dictionaries(
        {
            "metadata": st.fixed_dictionaries({"labels": MEMBERS}),
            "spec": st.fixed_dictionaries(
                {"nodeSelector": MEMBERS, "schedulerName": st.sampled_from([None, "s"])}
            ),
        }
    ),
    "template.containers": st.fixed_dictionaries({}),
}

drawn = settings(
    max_examples=120,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@drawn
@given(patches_of_maps(), st.sampled_from([MERGE, STRATEGIC]))
async def test_drawn_patches_of_config_maps(
    twins: Twins, place: str, patch: Obj, kind: str
) -> None:
    await patched(twins, place, kind, CONFIG_MAPS, patch)


@drawn
@given(
    st.fixed_dictionaries({}, optional=JOB_MEMBERS).map(lambda spec: {"spec": spec}),
    st.sampled_from([MERGE, STRATEGIC]),
    st.booleans(),
)
async def test_drawn_patches_of_jobs(
    twins: Twins, place: str, patch: Obj, kind: str, suspended: bool
) -> None:
    name = f"j{next(NUMBERS)}"
    path = collection(JOBS, place)
    await twins.ask("POST", path, {**job({"suspend": suspended}), "metadata": {"name": name}})
    await twins.patch(f"{path}/{name}", patch, kind, title=str(patch), any_order=True)
    await twins.get(f"{path}/{name}")
