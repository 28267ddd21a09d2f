"""What a preflight needs to know of the hub."""

from contextlib import suppress

from jobferry.cli import preflight
from jobferry.dispatch.queues import QUEUES
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.objects import Obj
from jobferry.workers.resource import WORKERS


async def read(hub: Client, *, but: str) -> preflight.Hub:
    """Read it; `but` is the Worker that is looked at."""
    uid = ""
    with suppress(errors.Forbidden):
        uid = str((await hub.get(NAMESPACES, "kube-system"))["metadata"]["uid"])
    workers = (await hub.list(Scope(resource=WORKERS))).items
    return preflight.Hub(
        uid=uid,
        workers=clusters(workers, but=but),
        namespaces=preflight.origins(
            (await hub.list(Scope(resource=JOBS))).items,
            (await hub.list(Scope(resource=QUEUES))).items,
        ),
    )


def clusters(workers: list[Obj], *, but: str) -> dict[str, str]:
    """Return the names of Workers by the UIDs of their clusters; those that may be shared are left out."""
    return {
        uid: each["metadata"]["name"]
        for each in workers
        if (uid := (each.get("status") or {}).get("clusterUID"))
        and each["metadata"]["name"] != but
        and not each["spec"].get("sharedCluster")
    }
