"""What a dispatcher says when it cannot work on a hub, before it begins."""

import pytest

from jobferry.clock import SystemClock
from jobferry.dispatch import hub_checks
from jobferry.errors import BadInput
from jobferry.kube.client import connect
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from tests.system.fleet import DISPATCHER, Fleet

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
