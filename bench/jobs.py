"""The Jobs that the client bench is about, and who writes them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator

import orjson

from jobferry.kube import resources
from jobferry.kube.client import Client
from jobferry.objects import Obj

NAMESPACE = "bench"

WRITERS = 16
"""Requests in flight while the Jobs are made and updated."""


def names(count: int) -> list[str]:
    """Return the names of the first `count` Jobs."""
    return [f"train-resnet-{number:05d}" for number in range(count)]


def job(name: str) -> Obj:
    """Return a Job as `kubectl apply` sends it: 4.5 KB once the API server has added its part."""
    manifest = _manifest(name)
    applied = orjson.dumps(manifest).decode() + "\n"
    manifest["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = (
        applied
    )
    return manifest


def status(serial: int) -> Obj:
    """Return a patch that changes a Job, unless it was given the same serial last."""
    return {"status": {"startTime": "2026-01-01T00:00:00Z", "active": serial, "ready": 0}}


async def create(client: Client, count: int) -> None:
    """Make the namespace and the Jobs in it."""
    await client.create(resources.NAMESPACES, {"metadata": {"name": NAMESPACE}})

    async def make(name: str) -> None:
        await client.create(resources.JOBS, job(name))

    await each(names(count), make, at_once=WRITERS)


async def update(client: Client, count: int, serial: int) -> None:
    """Change the status of every Job once."""
    body = status(serial)

    async def change(name: str) -> None:
        await client.patch(
            resources.JOBS, name, body, namespace=NAMESPACE, subresource="status"
        )

    await each(names(count), change, at_once=WRITERS)


async def each(
    those: Iterable[str], do: Callable[[str], Awaitable[object]], *, at_once: int
) -> None:
    """Do something to each name, so many at a time."""
    left = iter(those)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(at_once):
            tasks.create_task(_in_turn(left, do))


async def _in_turn(left: Iterator[str], do: Callable[[str], Awaitable[object]]) -> None:
    for name in left:
        await do(name)


def _manifest(name: str) -> Obj:
    labels = {"app.kubernetes.io/name": "resnet", "example.com/team": "perception"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": labels,
            "annotations": {"example.com/owner": "perception@example.com"},
        },
        "spec": {
            "managedBy": "jobferry.io/dispatcher",
            "parallelism": 4,
            "completions": 4,
            "completionMode": "Indexed",
            "backoffLimit": 3,
            "template": {"metadata": {"labels": labels}, "spec": _pod_spec(name)},
        },
    }


def _pod_spec(name: str) -> Obj:
    return {
        "restartPolicy": "Never",
        "containers": [
            {
                "name": "main",
                "image": "images.example.com/vision/resnet:2026.11",
                "command": ["python", "-m", "train", "--run", name, "--epochs", "90"],
                "env": [
                    {"name": "NCCL_DEBUG", "value": "WARN"},
                    {"name": "DATA", "value": "/data/imagenet"},
                ],
                "resources": {
                    "requests": {"cpu": "4", "memory": "16Gi"},
                    "limits": {"memory": "16Gi"},
                },
                "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
            }
        ],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}}],
    }
