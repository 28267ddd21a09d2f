"""Both servers beside each other: the bodies that the rules of small kinds are tried with."""

from secrets import token_hex
from typing import Any

import pytest

from tests.api.admission_kind_cases import BODIES
from tests.api.small_kinds_bodies import CLAIM, CREATED, NAMED
from tests.api.small_kinds_changes import CLAIM_GROWTH, STATUS_UPDATED, UPDATED
from tests.api.twins import Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

CORE, EVENTS = "/api/v1", "/apis/events.k8s.io/v1"
PLACES = {
    "namespace": (CORE, "namespaces"),
    "node": (CORE, "nodes"),
    "config_map": (CORE, "configmaps"),
    "secret": (CORE, "secrets"),
    "event": (CORE, "events"),
    "new_event": (EVENTS, "events"),
    "lease": ("/apis/coordination.k8s.io/v1", "leases"),
    "claim": (CORE, "persistentvolumeclaims"),
}
CLUSTER = ("namespace", "node")
PROTECTED = "kubernetes.io/pvc-protection"


def path_of(case: str, place: str, *parts: str) -> str:
    root, plural = PLACES[case]
    scope = "" if case in CLUSTER else f"/namespaces/{place}"
    return "/".join((f"{root}{scope}/{plural}", *parts))


def without_controllers(body: Any) -> None:
    """Take out finalizers that localkube does not give out."""
    if not isinstance(body, dict):
        return
    if body.get("kind") == "PersistentVolumeClaim":
        # Nothing here would ever take this finalizer off.
        about = body["metadata"]
        kept = [each for each in about.pop("finalizers", ()) if each != PROTECTED]
        about |= {"finalizers": kept} if kept else {}


async def test_small_kinds_are_created_or_refused(twins: Twins) -> None:
    for case, body in [*CREATED, *NAMED]:
        path = path_of(case, "default")
        if body["metadata"]["name"] == "a":
            name = f"a{token_hex(4)}"
            body = {**body, "metadata": {**body["metadata"], "name": name}}  # noqa: PLW2901
        made = await twins.same(
            "POST", path, body, title=case, any_order=True, adapt=without_controllers
        )
        if made.code == 201:
            await twins.ask("DELETE", f"{path}/{made.object['metadata']['name']}")


@pytest.mark.parametrize("endpoint", ["", "status"])
async def test_small_kinds_are_changed_or_not(twins: Twins, endpoint: str) -> None:
    for case, before, change in STATUS_UPDATED if endpoint else UPDATED:
        name = f"t{token_hex(4)}"
        path = path_of(case, "default")
        await twins.same(
            "POST",
            path,
            {**before, "metadata": {"name": name}},
            title=f"{case} before",
            adapt=without_controllers,
        )
        here = "/".join(filter(None, (path, name, endpoint)))
        title = f"{case} {change}"
        await twins.patch(here, change, title=title, any_order=True, adapt=without_controllers)
        await twins.ask("DELETE", f"{path}/{name}")


async def test_claims_grow_or_not(twins: Twins, place: str) -> None:
    for change in CLAIM_GROWTH:
        name = f"t{token_hex(4)}"
        body = {"metadata": {"name": name}, "spec": CLAIM}
        await twins.post(path_of("claim", place), body, adapt=without_controllers)
        here = path_of("claim", place, name)
        title = str(change)
        await twins.patch(here, change, title=title, any_order=True, adapt=without_controllers)


@pytest.mark.parametrize("resource", BODIES)
async def test_kinds_that_admission_asks_for_are_created_or_refused(
    twins: Twins, place: str, resource: str
) -> None:
    root = f"{CORE}/namespaces/{place}"
    if resource == "priorityclasses":
        root = "/apis/scheduling.k8s.io/v1"
    for body in BODIES[resource]:
        name = f"t{token_hex(4)}"
        about = {"name": name, **body.get("metadata", {})}
        made = await twins.post(
            f"{root}/{resource}", {**body, "metadata": about}, any_order=True
        )
        if made.code == 201:
            await twins.same("DELETE", f"{root}/{resource}/{name}")
