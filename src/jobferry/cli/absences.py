"""Which Workers nothing is heard of: what the hub says about their Jobs is old."""

from collections.abc import Iterable

from jobferry.cli.hub import Hub
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.objects import Obj, conditions
from jobferry.workers.resource import WORKERS


async def read(hub: Hub) -> dict[str, str] | None:
    """Read which there are; None if we may not, or this is no hub."""
    try:
        return absent((await hub.client.list(Scope(resource=WORKERS))).items)
    except (errors.Forbidden, errors.NotFound):
        return None


def absent(workers: Iterable[Obj]) -> dict[str, str]:
    """Return those that are lost or silent."""
    return {
        each["metadata"]["name"]: f"{each['metadata']['name']} not heard since {since}"
        for each in workers
        if (since := _since(each))
    }


def _since(worker: Obj) -> str:
    listed = (worker.get("status") or {}).get("conditions")
    connected, ready = (conditions.find(listed, each) or {} for each in ("Connected", "Ready"))
    if connected.get("status") == "False":
        return str(connected.get("lastTransitionTime") or "")
    return str(ready.get("lastTransitionTime") or "") if ready.get("reason") == "Silent" else ""
