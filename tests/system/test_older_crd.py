"""A hub whose CRD of a kind knows less than that of a worker."""

from collections.abc import AsyncIterator

import pytest

from jobferry.clock import sleep
from jobferry.kube.calls import PatchKind
from jobferry.kube.resources import CRDS
from jobferry.objects import Obj
from tests.system.fleet import DISPATCHER
from tests.system.jobs import is_there
from tests.system.kinds import SIMULATION, Trial, done_now, staged, trial
from tests.system.lab import Lab

pytestmark = pytest.mark.fleet


@pytest.fixture
async def stage(lab: Lab) -> AsyncIterator[Lab]:
    """A lab with Simulations, all of the same version."""
    async with staged(lab, SIMULATION):
        yield lab


OLDER = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "conditions": {
            "type": "array",
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
}
"""The status of a Simulation as it was before it had steps."""


async def test_a_hub_whose_crd_is_older_is_told_once_what_it_does_not_keep(stage: Lab) -> None:
    world, name = stage.world, str(trial(stage, SIMULATION).adapter.resource)
    where = "/spec/versions/0/schema/openAPIV3Schema/properties/status"
    change = [{"op": "replace", "path": where, "value": OLDER}]
    await world.hub.patch(CRDS, name, change, kind=PatchKind.JSON)
    found = trial(stage, SIMULATION)
    await found.submit()
    worker = await found.where()
    await found.on(worker)

    while not await drops_steps(found):
        await sleep(world.hub.clock, 0.1)  # a CRD is in force a moment after it was changed
    await found.play(worker, {"phase": "Busy", "steps": 3, "conditions": []})
    assert "steps" in await world.event(found.name, "StatusNotKept")
    writes = len(status_writes(stage))
    await found.edit({"metadata": {"labels": {"team": "a"}}})
    await found.on(worker, lambda obj: obj["metadata"]["labels"].get("team") == "a")

    assert (await found.until(is_there))["status"]["phase"] == "Busy"
    assert len(status_writes(stage)) <= writes + 1  # what it says to the changed object
    await found.play(worker, done_now(stage))
    await found.until(found.ended())


async def drops_steps(found: Trial) -> bool:
    """Tell whether the hub has taken notice that it knows no steps."""
    hub, namespace = found.lab.world.hub, found.lab.world.namespace
    tried = await hub.patch(
        found.adapter.resource,
        found.name,
        {"status": {"steps": 1}},
        namespace=namespace,
        subresource="status",
        dry_run=True,
    )
    return "steps" not in (tried.get("status") or {})


def status_writes(lab: Lab) -> list[Obj]:
    """Return what the dispatcher has written to the status of Simulations."""
    return [
        each
        for each in lab.fleet.audited("hub", DISPATCHER)
        if each["verb"] == "patch"
        and each["objectRef"].get("resource") == "simulations"
        and each["objectRef"].get("namespace") == lab.world.namespace
    ]
