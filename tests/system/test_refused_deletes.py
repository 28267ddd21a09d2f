"""Workers that do not let us delete: what they keep holds up nothing else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from jobferry.kube import errors
from jobferry.kube.resources import JOBS
from tests.system.fleet import RESOURCES, add_worker
from tests.system.jobs import FOREVER, NORTH_FIRST, complete, job, runs
from tests.system.lab import Lab
from tests.system.world import named, until_none

pytestmark = pytest.mark.fleet

_RBAC = "rbac.authorization.k8s.io"
ROLES, BINDINGS = RESOURCES["ClusterRole"], RESOURCES["ClusterRoleBinding"]


@asynccontextmanager
async def keeping(lab: Lab) -> AsyncIterator[None]:
    """Let north be a worker where we may do all but delete, and south one like any other, during the block."""
    north, user = lab.world.workers["north"], f"no-delete-{lab.world.namespace}"
    await north.create(ROLES, _role(user))
    await north.create(BINDINGS, _binding(user))
    await add_worker(lab.world.hub, "north", lab.kubeconfig("north", user))
    await lab.add_worker("south")
    try:
        yield
    finally:
        await north.delete(BINDINGS, user)
        await north.delete(ROLES, user)
        # What was kept is not left to the dispatchers of other tests.
        with suppress(errors.NotFound):
            await north.delete(JOBS, "a", lab.world.namespace, propagation="Background")


def _role(name: str) -> dict[str, Any]:
    verbs = ["get", "list", "watch", "create", "patch"]
    return {
        "metadata": {"name": name},
        "rules": [
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": verbs},
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
        ],
    }


def _binding(user: str) -> dict[str, Any]:
    return {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": user},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": user}],
    }


async def test_a_job_that_moved_is_followed_though_its_old_mirror_may_not_be_deleted(
    lab: Lab,
) -> None:
    world = lab.world
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with keeping(lab), lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=2, completions=4, parallelism=1), runs(1))
        await lab.edit_worker("north", drain="MoveAway")

        await world.until("a", complete)

        assert "cannot delete resource" in await world.event("a", "MirrorKept")


async def test_what_runs_of_a_deleted_job_is_stopped_though_an_old_mirror_may_not_be_deleted(
    lab: Lab,
) -> None:
    world = lab.world
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with keeping(lab), lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        await lab.edit_worker("north", drain="MoveAway")
        await world.mirror("a", runs(1), attempt=2)

        await world.delete("a")

        await until_none(world.workers["south"], named(JOBS, "a", world.namespace))
