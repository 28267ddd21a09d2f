"""What people do to their JobSets, and to what we keep of these."""

from typing import Any

from jobferry.core import placement_object
from jobferry.kube.resources import JOBS
from jobferry.testing.simulation import job_sets
from jobferry.testing.simulation.actions import Dice, Table
from jobferry.testing.simulation.job_sets import RESOURCE
from jobferry.testing.simulation.users import Propagation
from jobferry.testing.simulation.world import World

SETS = Table()


def _shape(dice: Dice) -> dict[str, Any]:
    """Draw what a JobSet looks like."""
    completions = dice.one(1, 1, 2)
    shape: dict[str, Any] = {
        "replicas": dice.one(1, 1, 2),
        "runs": dice.one(0, 3, 8, 15, 25),
        "completions": completions,
        "parallelism": dice.one(1, completions),
        "backoffLimit": 0,
    }
    match dice.one("plain", "plain", "plain", "plain", "failing", "suspended"):
        case "failing":
            shape |= {"exits": 1, "completions": 1, "parallelism": 1}
        case "suspended":
            shape["suspend"] = True
    return shape


@SETS.add("create-set", 0, lambda d: {**d.job(), "shape": _shape(d)})
async def _create(world: World, namespace: str, name: str, shape: dict[str, Any]) -> None:
    """Create a JobSet."""
    async with world.client("hub") as hub:
        await hub.create(RESOURCE, job_sets.job_set(name, namespace, shape))


@SETS.add("suspend-set", 2, lambda d: {**d.job(), "is_on": d.one(True, False, False)})
async def _suspend(world: World, namespace: str, name: str, is_on: bool) -> None:
    """Suspend a JobSet, or resume it."""
    async with world.client("hub") as hub:
        patch = {"spec": {"suspend": is_on}}
        await hub.patch(RESOURCE, name, patch, namespace=namespace)


@SETS.add(
    "delete-set", 1, lambda d: {**d.job(), "how": d.one("Background", "Foreground", "Orphan")}
)
async def _delete(world: World, namespace: str, name: str, how: Propagation) -> None:
    """Delete a JobSet."""
    async with world.client("hub") as hub:
        await hub.delete(RESOURCE, name, namespace, propagation=how)


@SETS.add("recreate-set", 1, lambda d: {**d.job(), "shape": _shape(d)})
async def _recreate(world: World, namespace: str, name: str, shape: dict[str, Any]) -> None:
    """Delete a JobSet, and create another under its name at once."""
    async with world.client("hub") as hub:
        await hub.delete(RESOURCE, name, namespace, propagation="Background")
        await hub.create(RESOURCE, job_sets.job_set(name, namespace, shape))


@SETS.add("remove-set-mirror", 1, lambda d: {"on": d.worker(), **d.job()})
async def _remove_mirror(world: World, on: str, namespace: str, name: str) -> None:
    """Delete the mirror of a JobSet behind our back."""
    async with world.client(on) as client:
        world.tampered.add((namespace, name))
        await client.delete(RESOURCE, name, namespace, propagation="Background")


@SETS.add("remove-part", 1, lambda d: {"on": d.worker(), **d.job()})
async def _remove_part(world: World, on: str, namespace: str, name: str) -> None:
    """Delete a Job that was made for the mirror of a JobSet: its operator makes another."""
    async with world.client(on) as client:
        world.tampered.add((namespace, name))
        await client.delete(JOBS, f"{name}-part-0", namespace, propagation="Background")


@SETS.add("lose-placement", 1, lambda d: d.job())
async def _lose_placement(world: World, namespace: str, name: str) -> None:
    """Delete the record of where a JobSet was placed, as somebody with too many rights might."""
    async with world.client("hub") as hub:
        found = await hub.get(RESOURCE, name, namespace)
        uid = found["metadata"]["uid"]
        await hub.delete(placement_object.RESOURCE, uid, namespace)
