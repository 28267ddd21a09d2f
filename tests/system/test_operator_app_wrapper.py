"""AppWrappers under the real operator with its webhooks, on a worker alone or on the hub alone: there can be one on a machine."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from jobferry.objects import Obj
from jobferry.testing.pods import EXIT_CODE, RUN_SECONDS
from tests.system.fleet import RESOURCES, WORKER
from tests.system.jobs import FOREVER
from tests.system.kinds import Trial
from tests.system.lab import Lab
from tests.system.operator_cases import WRAPPER
from tests.system.operator_programs import APP_WRAPPER_WITH_WEBHOOKS as OPERATOR
from tests.system.operators import delegating, emptied, running
from tests.system.processes import Processes

pytestmark = [
    pytest.mark.kube,
    pytest.mark.soak,
    pytest.mark.operator("appwrapper"),
    pytest.mark.timeout(90),
]

Submit = Callable[[], Awaitable[Trial]]

USER = "workload.codeflare.dev/user"
"""The label by which the webhook says who made an AppWrapper."""

on_worker = pytest.mark.parametrize("operated", ["east"], indirect=True, scope="module")
on_hub = pytest.mark.parametrize("operated", ["west"], indirect=True, scope="module")


@pytest.fixture(scope="module")
def operated(request: pytest.FixtureRequest, running_fleet: Processes) -> Iterator[None]:
    """The operator on one cluster."""
    with running(running_fleet.planes, OPERATOR, on=(request.param,)):
        yield


@pytest.fixture
async def of(lab: Lab, operated: None) -> AsyncIterator[Submit]:
    """A dispatcher, and what makes an AppWrapper for it whose pods run for ever."""
    async with delegating(lab, WRAPPER.kind, OPERATOR) as made_of:

        async def of() -> Trial:
            found = made_of(WRAPPER.spec({RUN_SECONDS: str(FOREVER), EXIT_CODE: "0"}))
            await found.submit()
            return found

        yield of


@asynccontextmanager
async def right_to_create_config_maps(lab: Lab) -> AsyncIterator[None]:
    """Give what is wrapped to the account that makes mirrors, on north, as docs/kinds.md says."""
    north, name = lab.world.workers["north"], "jobferry-wrapped"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}
    role = {"metadata": {"name": name}, "rules": [rule]}
    binding = {
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": name,
        },
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": WORKER}],
    }
    await north.create(RESOURCES["ClusterRole"], role)
    await north.create(RESOURCES["ClusterRoleBinding"], binding)
    try:
        yield
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            await north.delete(RESOURCES[kind], name)


@on_worker
async def test_a_worker_refuses_what_is_wrapped_if_we_may_not_create_it(
    lab: Lab, of: Submit
) -> None:
    found = await of()

    said = await lab.world.event(found.name, "Refused")

    assert "Worker north refused it" in said
    assert f"User {WORKER} is not authorized to create configmaps" in said
    assert await found.where(attempt=2) == "south"


@on_worker
async def test_it_runs_where_we_may(lab: Lab, of: Submit) -> None:
    async with right_to_create_config_maps(lab):
        found = await of()
        await found.until(WRAPPER.runs)
        mirror = await found.on("north")
        await found.edit({"metadata": {"labels": {"team": "red"}}})
        await found.on("north", has_label("team", "red"))

        await found.edit({"spec": {"suspend": True}})
        await found.until(lambda obj: found.adapter.stillness(obj).name == "QUIET")
        await found.edit({"spec": {"suspend": False}})
        await found.until(WRAPPER.runs)

        assert "jobferry-worker" in mirror["metadata"]["labels"][USER]
        told = await lab.world.reasons(found.name)
        assert not {"NotForwarded", "ChangedOnWorker", "StatusRefused"} & told
        await found.delete()
        await found.gone_from("north")
        await emptied(lab, "north")


@on_hub
async def test_who_made_it_stays_on_the_hub(lab: Lab, of: Submit) -> None:
    found = await of()
    mirror = await found.on("north")
    await found.edit({"spec": {"suspend": True}, "metadata": {"labels": {"team": "red"}}})
    await found.on("north", has_label("team", "red"))
    await found.play("north", {"phase": "Suspended"})

    shown = await found.until(lambda obj: found.adapter.stillness(obj).name == "QUIET")

    assert shown["metadata"]["labels"][USER]
    assert USER not in mirror["metadata"]["labels"]
    told = await lab.world.reasons(found.name)
    assert not {"NotForwarded", "ChangedOnWorker", "StatusRefused"} & told


def has_label(key: str, value: str) -> Callable[[Obj], bool]:
    """Hold if an object has a label."""
    return lambda obj: obj["metadata"].get("labels", {}).get(key) == value
