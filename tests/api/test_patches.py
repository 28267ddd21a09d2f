"""Our patches beside those of a real API server: the same result, or the same refusal.

A patch is sent to the server as it is, and what we make of it as a whole object, both as dry runs on the
same stored object: so the server's defaults and validation have their say in both, and must not differ.
"""

from typing import Any

import pytest

from jobferry.kube import errors
from jobferry.kube.calls import PatchKind
from jobferry.kube.client import Client
from jobferry.kube.resources import CONFIG_MAPS
from jobferry.objects import Obj, json_patch, merge_keys, merge_patch, strategic_patch
from jobferry.objects.patch_errors import BadPatch
from jobferry.objects.resource import Resource
from tests.api import patch_cases

pytestmark = pytest.mark.kube


def apply(kind: PatchKind, target: Obj, patch: Any) -> Obj:
    """Do what the server should do."""
    if kind is PatchKind.STRATEGIC:
        fields = merge_keys.fields_of(target["apiVersion"], target["kind"])
        return strategic_patch.apply(target, patch, fields)
    result: Obj = (
        json_patch.apply(target, patch)
        if kind is PatchKind.JSON
        else merge_patch.apply(target, merge_patch.checked(patch))
    )
    return result


async def stored(cluster: Client, namespace: str, resource: Resource) -> Obj:
    obj = patch_cases.OBJECTS[resource]
    metadata = {**obj.get("metadata", {}), "name": "it", "namespace": namespace}
    return await cluster.create(resource, {**obj, "metadata": metadata})


def outcome(obj: Obj) -> Obj:
    """Leave out what says how an object was written."""
    kept = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": kept}


async def patched(
    cluster: Client, obj: Obj, resource: Resource, kind: PatchKind, patch: Any
) -> Any:
    """Return what the server makes of a patch: an object, or why it refuses."""
    meta = obj["metadata"]
    try:
        answer = await cluster.patch(
            resource, meta["name"], patch, namespace=meta["namespace"], kind=kind, dry_run=True
        )
    except errors.ApiError as error:
        return error.code, error.causes
    return outcome(answer)


async def updated(cluster: Client, obj: Obj, resource: Resource) -> Any:
    """Return what the server makes of a whole object: an object, or why it refuses."""
    try:
        return outcome(await cluster.update(resource, obj, dry_run=True))
    except errors.ApiError as error:
        return error.code, error.causes


def cases(**tables: list[patch_cases.Case]) -> pytest.MarkDecorator:
    rows = [(PatchKind[name], *case) for name, table in tables.items() for case in table]
    return pytest.mark.parametrize(("kind", "resource", "patch"), rows)


@cases(
    JSON=patch_cases.JSON_PATCHES,
    MERGE=patch_cases.MERGE_PATCHES,
    STRATEGIC=patch_cases.STRATEGIC_PATCHES,
)
async def test_a_patch_does_what_the_server_does(
    cluster: Client, namespace: str, kind: PatchKind, resource: Resource, patch: Any
) -> None:
    obj = await stored(cluster, namespace, resource)

    theirs = await patched(cluster, obj, resource, kind, patch)
    ours = await updated(cluster, apply(kind, obj, patch), resource)

    assert ours == theirs


@cases(
    JSON=patch_cases.JSON_MISTAKES,
    MERGE=patch_cases.MERGE_MISTAKES,
    STRATEGIC=patch_cases.STRATEGIC_MISTAKES,
)
async def test_a_mistake_is_answered_as_the_server_answers(
    cluster: Client, namespace: str, kind: PatchKind, resource: Resource, patch: Any
) -> None:
    obj = await stored(cluster, namespace, resource)

    with pytest.raises(errors.ApiError) as theirs:
        await cluster.patch(resource, "it", patch, namespace=namespace, kind=kind, dry_run=True)
    with pytest.raises(BadPatch) as ours:
        apply(kind, obj, patch)

    assert ours.value.code == theirs.value.code
    assert str(theirs.value).endswith(f": {' '.join(ours.value.answer.split())}")


@pytest.mark.timeout(120)
async def test_generated_patches_do_what_the_server_does(
    cluster: Client, namespace: str
) -> None:
    objects = {
        resource: await stored(cluster, namespace, resource)
        for resource in (CONFIG_MAPS, patch_cases.POD_TEMPLATES)
    }

    for kind, resource, patch in patch_cases.generated():
        theirs = await patched(cluster, objects[resource], resource, kind, patch)
        try:
            ours = await updated(cluster, apply(kind, objects[resource], patch), resource)
        except BadPatch as refused:
            ours = refused.code, ()

        assert ours == theirs, (kind, patch)
