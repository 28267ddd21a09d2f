"""The Node that a runner is for: made, kept alive, and what the machine has."""

import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from jobferry import __version__, log
from jobferry.clock import Seconds, sleep
from jobferry.errors import Error
from jobferry.kube import errors, resources
from jobferry.kube.calls import PatchKind
from jobferry.kube.client import Client
from jobferry.localkube.runner.statuses import HOST
from jobferry.objects import Obj, conditions
from jobferry.objects.times import micro_timestamp, timestamp

LEASE_NAMESPACE = "kube-node-lease"
RENEW: Seconds = 10.0
PODS = "1000"

_log = log.get(__name__)

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def capacity() -> dict[str, str]:
    """Return what this machine has."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    disk = os.statvfs("/")
    return {
        "cpu": str(os.cpu_count() or 1),
        "memory": f"{memory // 1024}Ki",
        "ephemeral-storage": f"{disk.f_frsize * disk.f_blocks // 1024}Ki",
        "pods": PODS,
    }


def labels(name: str) -> dict[str, str]:
    """Return the labels that every node has."""
    arch = _MACHINES.get(platform.machine(), platform.machine())
    return {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": arch,
    }


def status(name: str, room: Mapping[str, str], now: datetime) -> Obj:
    """Return the status of a node that is ready for pods."""
    return {
        "capacity": dict(room),
        "allocatable": dict(room),
        "conditions": _conditions(timestamp(now)),
        "addresses": [
            {"type": "InternalIP", "address": HOST},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": {
            "architecture": labels(name)["kubernetes.io/arch"],
            "bootID": "",
            "containerRuntimeVersion": f"jobferry://{__version__}",
            "kernelVersion": platform.release(),
            "kubeProxyVersion": "",
            "kubeletVersion": "v1.35.8",
            "machineID": "",
            "operatingSystem": "linux",
            "osImage": platform.system(),
            "systemUUID": "",
        },
    }


async def register(client: Client, name: str, room: Mapping[str, str]) -> None:
    """Make the Node, or say that it is there again."""
    now = client.clock.now()
    body = {
        "metadata": {"name": name, "labels": labels(name)},
        "status": status(name, room, now),
    }
    with suppress(errors.AlreadyExists):
        await client.create(resources.NODES, body)
    # A new node bears a taint until somebody has seen that it is ready.
    await client.patch(
        resources.NODES, name, {"metadata": {"labels": labels(name)}, "spec": {"taints": None}}
    )
    await _say_ready(client, name, room)


async def keep_alive(
    client: Client, name: str, room: Mapping[str, str], every: Seconds = RENEW
) -> None:
    """Renew the Lease by which a cluster knows that a node is alive, until cancelled.

    Who was silent for a while, because the machine slept, is taken for lost, and says then that it is there again.
    """
    while True:
        try:
            await _renew_lease(client, name)
            if not _is_ready(await client.get(resources.NODES, name)):
                await _say_ready(client, name, room)
        except Error as error:  # whatever it is: the node runs on, and the next try may do
            _log.failure("The lease of a node could not be renewed", error, node=name)
        await sleep(client.clock, every)


async def _renew_lease(client: Client, name: str) -> None:
    meta = {"name": name, "namespace": LEASE_NAMESPACE}
    renewed = micro_timestamp(client.clock.now())
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": renewed}
    try:
        await client.patch(resources.LEASES, name, {"spec": spec}, namespace=LEASE_NAMESPACE)
    except errors.NotFound:
        with suppress(errors.AlreadyExists):
            await client.create(resources.LEASES, {"metadata": meta, "spec": spec})


async def _say_ready(client: Client, name: str, room: Mapping[str, str]) -> None:
    await client.patch(
        resources.NODES,
        name,
        {"status": status(name, room, client.clock.now())},
        kind=PatchKind.STRATEGIC,
        subresource="status",
    )


def _is_ready(node: Obj) -> bool:
    return conditions.is_true((node.get("status") or {}).get("conditions"), "Ready")


def _conditions(now: str) -> list[Obj]:
    said = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    return [
        {
            "type": kind,
            "status": holds,
            "reason": reason,
            "message": "",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        }
        for kind, holds, reason in said
    ]
