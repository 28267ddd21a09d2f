"""Namespaces that a hub has and its workers lack: all Jobs there are refused."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from secrets import token_hex

from jobferry.kube.resources import NAMESPACES
from tests.system import audit
from tests.system.fleet import WORKER
from tests.system.jobs import job
from tests.system.lab import Lab
from tests.system.world import World


@asynccontextmanager
async def missing_there(lab: Lab) -> AsyncIterator[World]:
    """A namespace that the hub has, and no worker."""
    home = replace(lab.world, namespace=f"missing-{token_hex(4)}")
    await home.hub.create(NAMESPACES, {"metadata": {"name": home.namespace}})
    try:
        yield home
        await home.clear()
    finally:
        await home.hub.delete(NAMESPACES, home.namespace)


async def submit_in_vain(home: World, first: str, others: Sequence[str]) -> None:
    """Submit a Job that is refused for its namespace, then others, which need not ask any more."""
    await home.submit(job(first))
    await home.event(first, "Refused")
    for name in others:
        await home.submit(job(name))
    for name in others:
        assert "is missing" in await home.event(name, "NoWorker")


def creates(lab: Lab, worker: str, namespace: str) -> int:
    """Count how often a worker was asked to create a Job in a namespace."""
    return sum(
        entry["verb"] == "create"
        and audit.is_write(entry, "jobs")
        and entry["objectRef"].get("namespace") == namespace
        for entry in lab.fleet.audited(lab.clusters[worker], WORKER)
    )
