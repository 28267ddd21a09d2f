"""The events about a Job on the hub."""

from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import EVENTS
from jobferry.objects import Obj


async def read(hub: Client, job: Obj) -> list[Obj]:
    """Read them; none if we may not."""
    meta = job["metadata"]
    about = Scope(
        resource=EVENTS,
        namespace=meta["namespace"],
        fields=f"involvedObject.uid={meta['uid']}",
    )
    try:
        return (await hub.list(about)).items
    except errors.Forbidden:
        return []
