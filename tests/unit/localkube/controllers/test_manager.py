"""Controllers run together, and none ends the others."""

import itertools
from functools import partial
from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.kube.cache import Change
from jobferry.kube.resources import CONFIG_MAPS, PODS, SECRETS
from jobferry.localkube.controllers.everything import Everything
from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.manager import Manager
from jobferry.objects import owners
from jobferry.runtime import supervise
from tests.unit.localkube.controllers.world import World, cluster


async def is_bound(world: World, name: str) -> bool:
    found = await world.find(PODS, name)
    assert found
    return "nodeName" in found["spec"]


async def test_a_controller_that_fails_is_started_again(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        runs: list[float] = []

        async def break_down() -> None:
            runs.append(world.clock.monotonic())
            raise RuntimeError("broken")

        async with supervise.tasks("test", clock=world.clock) as tasks:
            tasks.start("broken", partial(world.controllers.restarted, "broken", break_down))
            await world.pass_time(1000)
            await world.add_node("n")
            await world.add_pod("p")

        assert await is_bound(world, "p")
        pauses = [later - before for before, later in itertools.pairwise(runs)]
        assert 0.5 < pauses[0] <= 1
        assert 45 < pauses[-1] <= 60


async def test_a_listener_that_fails_does_not_end_the_others(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_node("n")

        def fail(change: Change[Pod]) -> None:
            if change.item.key.name == "poison":
                raise RuntimeError("broken")

        world.controllers.informers.pods.listen(fail)
        await world.add_pod("poison")
        await world.add_pod("p")
        await world.pass_time(10)

        assert await is_bound(world, "poison")
        assert await is_bound(world, "p")


async def test_nothing_is_lost_while_everything_is_looked_at_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with cluster(tmp_path) as world:
        everything = world.controllers.everything
        top = await world.client.create(
            CONFIG_MAPS, {"metadata": {"name": "top", "namespace": "default"}}
        )
        reference = owners.owner_reference(top, controller=False)
        meta = {"name": "child", "namespace": "default", "ownerReferences": [reference]}
        await world.client.create(SECRETS, {"metadata": meta})
        await world.settle()
        _break(everything, monkeypatch)
        for _ in range(1000):
            await world.pass_time(1)
            if everything.of(CONFIG_MAPS) is None:
                break
        assert not everything.is_whole

        await world.client.delete(CONFIG_MAPS, "top", "default", propagation="Orphan")
        await world.pass_time(10)

        assert everything.is_whole
        assert await world.find(CONFIG_MAPS, "top") is None
        child = await world.find(SECRETS, "child")
        assert child
        assert "ownerReferences" not in child["metadata"]


def _break(everything: Everything, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what follows everything fail when the next watch of ConfigMaps ends."""

    async def fail(_: int) -> None:
        raise RuntimeError("broken")

    informer = everything.of(CONFIG_MAPS)
    assert informer
    monkeypatch.setattr(informer, "_pause", fail)


async def test_a_controller_that_does_not_exist_cannot_be_left_out(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=frozenset({"scheduler"})) as world:
        assert "scheduler" not in world.controllers.services
        with pytest.raises(
            BadInput, match="no controller 'nonsense'; there are scheduler, job"
        ):
            Manager(world.client, root_ca="", without={"nonsense"})
