"""What people do: to their own Jobs, to Queues and Workers, and to what is not theirs."""

from dataclasses import replace
from typing import Any, Literal

import orjson

from jobferry.clock import Seconds
from jobferry.core import marks, placement
from jobferry.dispatch.queues import LABEL, QUEUES
from jobferry.kube.calls import PatchKind
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.testing.simulation import shapes, truth
from jobferry.testing.simulation.actions import Args, Dice, Table
from jobferry.testing.simulation.replicas import SETTINGS
from jobferry.testing.simulation.world import World, worker
from jobferry.workers.resource import WORKERS

USERS = Table()

HUGE = "1e1500"

Propagation = Literal["Background", "Foreground", "Orphan"]


def _shape(dice: Dice) -> dict[str, Any]:
    """Draw what a Job looks like."""
    completions = dice.one(1, 1, 2, 3, 4)
    shape: dict[str, Any] = {
        "runs": dice.one(0, 1, 3, 8, 15, 25),
        "stops": dice.one(0, 0, 1, 6),
        "completions": completions,
        "parallelism": dice.one(1, completions),
        "backoffLimit": dice.one(0, 1, 2),
    }
    match dice.one(
        "plain",
        "plain",
        "plain",
        "indexed",
        "failing",
        "late",
        "suspended",
        "short",
        "endless",
        "timely",
    ):
        case "indexed":
            shape["completionMode"] = "Indexed"
        case "failing":
            shape |= {"exits": 1, "completions": 1, "parallelism": 1, "runs": dice.one(0, 2)}
        case "late":
            shape |= {"runs": 40, "activeDeadlineSeconds": dice.one(5, 15)}
        case "endless":
            shape |= {"runs": shapes.ENDLESS, "completions": 1, "parallelism": 1}
        case "timely":
            shape["activeDeadlineSeconds"] = 600
        case "suspended":
            shape["suspend"] = True
        case "short":
            shape["ttlSecondsAfterFinished"] = dice.one(0, 5, 60)
    if dice.random.random() < 0.3:
        shape["requests"] = {"cpu": dice.one("100m", "1", "3", HUGE)}
    if dice.random.random() < 0.25:
        shape["labels"] = {LABEL: dice.one("q1", "q2", "missing")}
    return shape


@USERS.add("create", 0, lambda d: {**d.job(), "shape": _shape(d)})
async def _create(world: World, namespace: str, name: str, shape: dict[str, Any]) -> None:
    """Create a Job."""
    async with world.client("hub") as hub:
        await hub.create(JOBS, shapes.job(name, namespace, shape))


@USERS.add("hybrid", 0.5, lambda d: {**d.job(), "shape": {**_shape(d), "managedBy": None}})
async def _create_on_hub(
    world: World, namespace: str, name: str, shape: dict[str, Any]
) -> None:
    """Create a Job that is for the hub itself."""
    async with world.client("hub") as hub:
        await hub.create(JOBS, shapes.job(f"own-{name}", namespace, shape))


async def _edit(world: World, namespace: str, name: str, patch: Obj) -> None:
    async with world.client("hub") as hub:
        await hub.patch(JOBS, name, patch, namespace=namespace)


@USERS.add("suspend", 2, lambda d: {**d.job(), "is_on": d.one(True, False, False)})
async def _suspend(world: World, namespace: str, name: str, is_on: bool) -> None:
    """Suspend a Job, or resume it."""
    await _edit(world, namespace, name, {"spec": {"suspend": is_on}})


@USERS.add("scale", 1, lambda d: {**d.job(), "to": d.one(0, 1, 2, 5)})
async def _scale(world: World, namespace: str, name: str, to: int) -> None:
    """Change how many pods of a Job run at a time."""
    await _edit(world, namespace, name, {"spec": {"parallelism": to}})


def _label(dice: Dice) -> Args:
    labels = {"colour": dice.one("red", "blue"), LABEL: dice.one(None, "q1", "q2", "missing")}
    return {**dice.job(), "patch": {"metadata": {"labels": labels}}}


USERS.add("label", 1, _label)(_edit)


def _forged(dice: Dice) -> Args:
    record = {
        "format": 1,
        "uid": dice.one("", "00000000-0000-4000-8000-000000000000"),
        "attempt": dice.one(1, 7, -1),
        "shards": [{"worker": dice.worker(), "cluster": "none", "base": {"succeeded": 100}}],
    }
    text = dice.one(None, "", "{", orjson.dumps(record).decode(), "[" * 3000)
    return {**dice.job(), "patch": {"metadata": {"annotations": {placement.ANNOTATION: text}}}}


USERS.add("forge", 1.5, _forged)(_edit)


@USERS.add(
    "delete", 2, lambda d: {**d.job(), "how": d.one("Background", "Foreground", "Orphan")}
)
async def _delete(world: World, namespace: str, name: str, how: Propagation) -> None:
    """Delete a Job."""
    async with world.client("hub") as hub:
        await hub.delete(JOBS, name, namespace, propagation=how)


@USERS.add("recreate", 1.5, lambda d: {**d.job(), "shape": _shape(d)})
async def _recreate(world: World, namespace: str, name: str, shape: dict[str, Any]) -> None:
    """Delete a Job, and create another under its name at once."""
    async with world.client("hub") as hub:
        await hub.delete(JOBS, name, namespace, propagation="Background")
        await hub.create(JOBS, shapes.job(name, namespace, shape))


@USERS.add("finish", 0.6, lambda d: {**d.job(), "how": d.one("Failed", "FailureTarget")})
async def _finish(world: World, namespace: str, name: str, how: str) -> None:
    """Write the end of a Job into its status, as some controller might."""
    async with world.client("hub") as hub:
        job = await hub.get(JOBS, name, namespace)
        if truth.finish(job):
            return
        status = job.get("status") or {}
        ends = [
            {"type": kind, "status": "True", "reason": "Stopped", "message": "by hand"}
            for kind in ("FailureTarget", how)
        ]
        known = {each["type"]: each for each in [*status.get("conditions", ()), *ends]}
        now = world.clusters["hub"].clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "metadata": {"resourceVersion": job["metadata"]["resourceVersion"]},
            "status": {
                "conditions": [*known.values()],
                "startTime": status.get("startTime") or now,
                "active": 0,
                "ready": 0,
                "terminating": 0,
            },
        }
        await hub.patch(JOBS, name, body, namespace=namespace, subresource="status")


@USERS.add("lose-record", 0.6, lambda d: d.job())
async def _lose_record(world: World, namespace: str, name: str) -> None:
    """Take out of the status of a Job where it was placed, as a controller with too many rights might."""
    async with world.client("hub") as hub:
        job = await hub.get(JOBS, name, namespace)
        listed = (job.get("status") or {}).get("conditions") or []
        kept = [each for each in listed if each["type"] != placement.CONDITION]
        body = {
            "metadata": {"resourceVersion": job["metadata"]["resourceVersion"]},
            "status": {"conditions": kept},
        }
        await hub.patch(JOBS, name, body, namespace=namespace, subresource="status")


# On workers


async def _on_worker(world: World, on: str, namespace: str, name: str, patch: Obj) -> None:
    async with world.client(on) as client:
        world.tampered.add((namespace, name))
        await client.patch(JOBS, name, patch, namespace=namespace)


def _tampering(dice: Dice) -> Args:
    patch: Obj = dice.one(
        {"spec": {"suspend": True}},
        {"spec": {"suspend": False}},
        {"spec": {"parallelism": 1}},
        {"metadata": {"labels": {marks.HUB_UID: None}}},
        {"metadata": {"labels": {marks.ATTEMPT: "9"}}},
        {"metadata": {"annotations": {marks.MIRROR: "red/other"}}},
        {"metadata": {"annotations": {marks.FORWARDED: "{"}}},
        {"metadata": {"annotations": {marks.HUB_GENERATION: "x"}}},
        {"metadata": {"labels": {"colour": "green"}}},
    )
    return {"on": dice.worker(), **dice.job(), "patch": patch}


USERS.add("tamper", 2, _tampering)(_on_worker)


def _removal(dice: Dice) -> Args:
    how = dice.one("Background", "Foreground", "Orphan")
    return {"on": dice.worker(), **dice.job(), "how": how}


@USERS.add("remove-mirror", 1.5, _removal)
async def _remove_mirror(
    world: World, on: str, namespace: str, name: str, how: Propagation
) -> None:
    """Delete a mirror behind our back."""
    async with world.client(on) as client:
        world.tampered.add((namespace, name))
        await client.delete(JOBS, name, namespace, propagation=how)


@USERS.add("squat", 1, lambda d: {"on": d.worker(), **d.job(), "shape": _shape(d)})
async def _squat(
    world: World, on: str, namespace: str, name: str, shape: dict[str, Any]
) -> None:
    """Create a Job of one's own on a worker, under the name of a mirror."""
    own = {**shape, "managedBy": None, "labels": {"owner": "somebody"}}
    async with world.client(on) as client:
        await client.create(JOBS, shapes.job(name, namespace, own))


@USERS.add("usurp", 0.7, lambda d: {"on": d.worker(), **d.job(), "is_gone": d.one(True, False)})
async def _usurp(world: World, on: str, namespace: str, name: str, is_gone: bool) -> None:
    """Put a Job of one's own in the place of a mirror; at the same moment its Job may be deleted."""
    async with world.client(on) as client, world.client("hub") as hub:
        world.tampered.add((namespace, name))
        found = await client.get(JOBS, name, namespace)
        await client.delete(
            JOBS, name, namespace, propagation="Background", uid=found["metadata"]["uid"]
        )
        if is_gone:
            await hub.delete(JOBS, name, namespace, propagation="Background")
        await client.create(JOBS, shapes.job(name, namespace, {"managedBy": None}))


@USERS.add("copy-mirror", 0.7, lambda d: {"on": d.worker(), **d.job()})
async def _copy_mirror(world: World, on: str, namespace: str, name: str) -> None:
    """Copy a mirror on a worker under another name, marks and all."""
    async with world.client(on) as client:
        found = await client.get(JOBS, name, namespace)
        meta = {key: found["metadata"].get(key, {}) for key in ("labels", "annotations")}
        labels = {k: v for k, v in meta["labels"].items() if k.startswith(marks.PREFIX)}
        copy = shapes.job(f"copy-of-{name}", namespace, {"managedBy": None})
        copy["metadata"] |= {"labels": labels, "annotations": meta["annotations"]}
        await client.create(JOBS, copy)


# Queues, Workers, settings


def _queue(dice: Dice) -> Args:
    nonsense = {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}
    spec = dice.one(
        {},
        {"placement": dice.one("Spread", "Pack")},
        {"workers": {"selector": {"matchLabels": {"name": dice.worker()}}}},
        {"workers": nonsense},
        {"namespaces": [dice.one("red", "blue")]},
        {"onWorkerLost": {"action": "Wait"}},
        {"onWorkerLost": {"action": "Move", "afterSeconds": 16}},
        {"onNotStarted": {"action": "Move", "afterSeconds": 20}},
        {"finishedMirrors": {"keepSeconds": dice.one(0, 10)}},
    )
    return {"name": dice.one("q1", "q2"), "spec": spec}


@USERS.add("queue", 2, _queue)
async def _set_queue(world: World, name: str, spec: Obj) -> None:
    """Create a Queue, or write another spec into it."""
    body = {
        "apiVersion": "jobferry.io/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }
    async with world.client("hub") as hub:
        await hub.patch(
            QUEUES, name, body, kind=PatchKind.APPLY, field_manager="people", force=True
        )


@USERS.add("delete-queue", 1, lambda d: {"name": d.one("q1", "q2")})
async def _delete_queue(world: World, name: str) -> None:
    """Delete a Queue."""
    async with world.client("hub") as hub:
        await hub.delete(QUEUES, name)


def _worker_edit(dice: Dice) -> Args:
    spec = dice.one(
        {"maxMirrors": dice.one(0, 1, 3, None)},
        {"capacity": {"cpu": dice.one("1", "4", HUGE)}},
        {"capacity": None},
        {"namespaces": {"deny": [dice.one("red", "blue")]}},
        {"namespaces": None},
        {"sharedCluster": True},
    )
    return {"name": dice.worker(), "spec": spec}


async def _edit_worker(world: World, name: str, spec: Obj) -> None:
    async with world.client("hub") as hub:
        await hub.patch(WORKERS, name, {"spec": spec})


USERS.add("edit-worker", 2, _worker_edit)(_edit_worker)


def _drained(dice: Dice) -> Args:
    how = dice.one("NoNewWork", "MoveAway", "MoveAway", "None", "None")
    return {"name": dice.worker(), "spec": {"drain": how}}


USERS.add("drain", 3, _drained)(_edit_worker)


@USERS.add("delete-worker", 0.7, lambda d: {"name": d.worker()})
async def _delete_worker(world: World, name: str) -> None:
    """Delete a Worker."""
    async with world.client("hub") as hub:
        await hub.delete(WORKERS, name)


@USERS.add("create-worker", 0.7, lambda d: {"name": d.worker()})
async def _create_worker(world: World, name: str) -> None:
    """Create a Worker that was deleted."""
    async with world.client("hub") as hub:
        await hub.create(WORKERS, worker(name))


def _changes(dice: Dice) -> Args:
    changes = dice.one(
        {"requests_in_flight": 1},
        {"passes": 1},
        {"worker_lost_after": 16.0},
        {"placed_events": "all"},
        {"managed_by": ["jobferry.io/dispatcher", "example.com/other"]},
        {"managed_by": ["example.com/other"], "dispatcher": shapes.MANAGER},
    )
    return {"who": dice.dispatcher(), "changes": changes, "seconds": dice.seconds(0.5, 5)}


@USERS.add("settings", 1, _changes)
async def _settings(world: World, who: str, changes: dict[str, Any], seconds: Seconds) -> None:
    """Restart a dispatcher with other settings."""
    given: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in changes.items()
    }
    world.replicas[who].settings = replace(SETTINGS, **given)
    world.kill(who, seconds)
