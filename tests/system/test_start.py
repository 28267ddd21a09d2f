"""What a dispatcher says when it cannot work on a hub, before it begins."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobferry import app
from jobferry.clock import SystemClock
from jobferry.dispatch import hub_checks
from jobferry.errors import BadInput
from jobferry.kube.client import connect
from jobferry.runtime import supervise
from jobferry.settings import Settings
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from jobferry.workers.resource import WORKERS, finalizer
from tests.system.fleet import DISPATCHER, Fleet, Plane
from tests.system.jobs import MANAGER, complete, job
from tests.system.lab import Lab
from tests.system.world import named, until_none

pytestmark = pytest.mark.fleet


async def test_a_hub_with_all_it_takes_is_found_fit(fleet: Fleet) -> None:
    async with fleet.client("hub", DISPATCHER) as hub:
        await hub_checks.check(hub, "jobferry-system")


async def test_missing_rights_are_named(fleet: Fleet) -> None:
    async with fleet.client("hub", "nobody") as hub:
        with pytest.raises(
            BadInput, match=r"lack the rights to list jobs\.batch.*patch leases"
        ) as caught:
            await hub_checks.check(hub, "jobferry-system")

    assert "jobferry manifests hub" in (caught.value.hint or "")


@pytest.mark.fleet("processes")
async def test_a_worker_that_is_just_being_deleted_is_made_anew(
    lab: Lab, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It goes once a dispatcher runs that lets it go; without another one, nothing would be left."""
    hub = lab.world.hub
    config = tmp_path / "config"
    config.write_text(kubeconfig(hub=lab.fleet.planes["west"], north=lab.fleet.planes["east"]))
    guarded = {"name": "north", "finalizers": [finalizer(MANAGER)]}
    spec = {"kubeconfig": {"file": str(config), "context": "long-gone"}}
    old = await hub.create(WORKERS, {"metadata": guarded, "spec": spec})
    await hub.delete(WORKERS, "north")

    async with supervise.tasks("run", clock=lab.fleet.clock) as tasks:
        run = partial(app.dispatch_by_kubeconfig, Settings(), kubeconfig=config, context="hub")
        tasks.start("jobferry", partial(run, workers={"north": "north"}, install_crds=False))

        new = await lab.worker("north")
        await lab.world.run(job("a"), complete)

    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["spec"]["kubeconfig"]["context"] == "north"
    assert "Worker is being deleted; it is made anew once it is gone" in caplog.messages


def kubeconfig(**contexts: Plane) -> str:
    """Return a kubeconfig with these contexts."""
    merged: dict[str, Any] = {"apiVersion": "v1", "kind": "Config"}
    for name, plane in contexts.items():
        config = yaml.safe_load(plane.kubeconfig())
        for section, key in (("clusters", "cluster"), ("users", "user")):
            entry = {"name": name, key: config[section][0][key]}
            merged.setdefault(section, []).append(entry)
        chosen = {"name": name, "context": {"cluster": name, "user": name}}
        merged.setdefault("contexts", []).append(chosen)
    return yaml.safe_dump(merged)


async def test_a_dispatcher_without_any_worker_says_so(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    said = "There is no Worker: workloads wait until there is one"
    async with lab.dispatcher():
        await lab.world.submit(job("a"))
        await lab.world.event("a", "NoWorker")
        assert caplog.messages.count(said) == 1

        await lab.add_worker("north")
        await lab.world.until("a", complete)
        await lab.world.hub.delete(WORKERS, "north")
        await until_none(lab.world.hub, named(WORKERS, "north"))
        await lab.world.submit(job("b"))
        await lab.world.event("b", "NoWorker")

    assert caplog.messages.count(said) == 2


@pytest.mark.timeout(60)
@pytest.mark.kube(assets.OLDEST)
async def test_a_hub_that_is_too_old_or_lacks_our_kinds_is_told_so() -> None:
    async with (
        ControlPlane(version=assets.OLDEST) as old,
        connect(old.access(), name="old", clock=SystemClock()) as hub,
    ):
        with pytest.raises(BadInput, match=r"v1\.29\.15 does not know spec\.managedBy"):
            await hub_checks.check(hub, "default")
        with pytest.raises(BadInput, match="are not installed") as caught:
            await hub_checks.check_kinds(hub)

    assert "--install-crds" in (caught.value.hint or "")
