"""Both servers beside each other: definitions that are named like something that is there already."""

import asyncio
import copy
from secrets import token_hex
from typing import Any

import pytest

from jobferry.objects import Obj
from tests.api.crd_definition_cases import crd, version
from tests.api.twins import Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "rbac.authorization.k8s.io"
BINDINGS = f"/apis/{RBAC}/v1/clusterrolebindings"
NAME = f"clusterrolebindings.{RBAC}"
TRIES = 100


def like_a_built_in(plural: str = "clusterrolebindings", **annotations: str) -> Obj:
    """Return a definition that has the name of a built-in kind, and a version more than that."""
    found = crd(
        group=RBAC,
        scope="Cluster",
        names={"plural": plural, "kind": "ClusterRoleBinding"},
        versions=[version(), version(name="v9")],
    )
    found["metadata"] = {"name": f"{plural}.{RBAC}"}
    if annotations:
        found["metadata"]["annotations"] = annotations
    return found


def in_order(body: Any) -> None:
    """Put conditions in order: each is set by a controller of its own, there."""
    body["status"]["conditions"].sort(key=lambda each: str(each["type"]))


async def settled(twins: Twins, path: str, condition: str) -> None:
    """Wait until both servers have said what they make of a definition."""
    for _ in range(TRIES):
        both = await twins.ask("GET", path)
        found = [each.get("status", {}) for each in (both.each().theirs, both.each().mine)]
        if all(condition in str(each.get("conditions")) for each in found):
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{path} never got {condition}")


async def gone(twins: Twins, path: str) -> None:
    for _ in range(TRIES):
        both = await twins.ask("GET", path)
        if (both.real.code, both.ours.code) == (404, 404):
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{path} is still there")


async def test_a_definition_never_replaces_what_is_built_in(twins: Twins) -> None:
    binding: Obj = {
        "metadata": {"name": f"b-{token_hex(4)}"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "view"},
    }
    mine = f"{BINDINGS}/{binding['metadata']['name']}"
    await twins.post(BINDINGS, binding)
    await twins.post(CRDS, like_a_built_in())
    await twins.post(CRDS, like_a_built_in(**{"api-approved.kubernetes.io": "no"}))
    why = {"api-approved.kubernetes.io": "unapproved, for a test"}
    both = await twins.ask("POST", CRDS, like_a_built_in(**why))
    assert (both.real.code, both.ours.code) == (201, 201)
    await settled(twins, f"{CRDS}/{NAME}", "KubernetesAPIApprovalPolicyConformant")
    await settled(twins, f"{CRDS}/{NAME}", "InitialNamesAccepted")
    await twins.get(f"{CRDS}/{NAME}", adapt=in_order)

    await twins.get(mine)
    for each in ("v1", "v9"):
        await twins.get(
            f"/apis/{RBAC}/{each}/clusterrolebindings/{binding['metadata']['name']}"
        )
        await twins.get(f"/apis/{RBAC}/{each}")
    await twins.patch(mine, {"metadata": {"labels": {"a": "b"}}})
    custom = {
        "apiVersion": f"{RBAC}/v9",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "c"},
    }
    await twins.post(f"/apis/{RBAC}/v9/clusterrolebindings", custom)

    both = await twins.ask("DELETE", f"{CRDS}/{NAME}")
    assert (both.real.code, both.ours.code) == (200, 200)
    other = copy.deepcopy(binding)
    other["metadata"]["name"] += "-2"
    await twins.post(BINDINGS, other)
    await gone(twins, f"{CRDS}/{NAME}")
    await twins.get(mine)
    await twins.same("DELETE", mine)
    await twins.same("DELETE", f"{mine}-2")


async def test_nothing_new_comes_into_a_group_that_is_built_in(twins: Twins) -> None:
    plural = f"things{token_hex(4)}"
    why = {"api-approved.kubernetes.io": "unapproved, for a test"}
    await twins.ask("POST", CRDS, like_a_built_in(plural, **why))
    await settled(twins, f"{CRDS}/{plural}.{RBAC}", "InitialNamesAccepted")
    for each in ("v1", "v9"):
        await twins.get(f"/apis/{RBAC}/{each}/{plural}")
    await twins.ask("DELETE", f"{CRDS}/{plural}.{RBAC}")
    await gone(twins, f"{CRDS}/{plural}.{RBAC}")
