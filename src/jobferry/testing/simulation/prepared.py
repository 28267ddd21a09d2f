"""What is in the clusters of a simulation when it begins: made once in a process, then copied."""

from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from random import Random

import orjson

from jobferry.clock import Seconds, sleep
from jobferry.dispatch import manifests
from jobferry.kinds import referred
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import CRDS, NAMESPACES, SECRETS, SERVICE_ACCOUNTS
from jobferry.localkube.apiserver import ids
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.storage.journal import NOTHING, Contents
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.testing.simulation import job_sets, loop
from jobferry.testing.simulation.clocks import SimulatedClock
from jobferry.testing.simulation.clusters import SimulatedCluster

SETTLE: Seconds = 5.0
"""How long a new cluster is given to come to rest."""

SYSTEM = "jobferry-system"
DISPATCHER = f"system:serviceaccount:{SYSTEM}:jobferry-dispatcher"
WORKER = f"system:serviceaccount:{SYSTEM}:jobferry-worker"
"""Whom the manifests give just the rights they need."""

TENANTS = ("red", "blue")
"""The namespaces of users, on all clusters."""

_RBAC = "rbac.authorization.k8s.io"
_RESOURCES = {
    each.kind: each
    for each in (
        NAMESPACES,
        CRDS,
        SECRETS,
        SERVICE_ACCOUNTS,
        Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
        Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
        Resource(_RBAC, "v1", "roles", "Role"),
        Resource(_RBAC, "v1", "rolebindings", "RoleBinding"),
    )
}


def contents(name: str, *, with_job_sets: bool = False) -> Contents:
    """Return what the cluster of that name begins with; a worker is a copy of one, with an identity of its own."""
    hub, worker = _both(with_job_sets)
    return hub if name == "hub" else _with_identity(worker, name)


def warm() -> None:
    """Make all of it now: what is asked for later, within a loop, is only copied."""
    for with_job_sets in (False, True):
        _both(with_job_sets)


@lru_cache
def _both(with_job_sets: bool) -> tuple[Contents, Contents]:
    kinds = [job_sets.RESOURCE] if with_job_sets else []
    return loop.run(_make("hub", kinds)), loop.run(_make("worker", kinds))


async def _make(name: str, kinds: list[Resource]) -> Contents:
    clock = SimulatedClock()
    async with supervise.tasks("prepare", clock=clock) as tasks:
        cluster = SimulatedCluster(name, NOTHING, tasks=tasks, seed="prepared")
        await cluster.start()
        async with cluster.client() as client:
            for kind in ("crds", "hub") if name == "hub" else ("worker",):
                looked_for = referred.find("all") if kind == "worker" else ()
                listed = manifests.objects(kind, kinds=kinds, referred=looked_for)
                await _apply(client, listed)
            await _apply(client, [job_sets.DEFINITION] if kinds else [])
            await _apply(client, [_namespace(each) for each in TENANTS])
        await sleep(clock, SETTLE)
        found = await cluster.snapshot()
        await cluster.stop()
        return found


async def _apply(client: Client, objects: Iterable[Obj]) -> None:
    for obj in objects:
        with suppress(errors.AlreadyExists):
            await client.create(_RESOURCES[obj["kind"]], obj)


def _namespace(name: str) -> Obj:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _with_identity(contents: Contents, name: str) -> Contents:
    """Give a cluster another UID: that of its namespace kube-system."""
    uid = ids.uid(Random(name))  # noqa: S311 (the same each time)
    records = [
        record._replace(entry=_known_as(record.entry, uid))
        if record.entry.key.endswith("/namespaces/kube-system")
        else record
        for record in contents.records
    ]
    return contents._replace(records=records)


def _known_as(entry: Entry, uid: str) -> Entry:
    obj = entry.fresh()
    obj["metadata"]["uid"] = uid
    return Entry(entry.key, orjson.dumps(obj), entry.revision, entry.created)
