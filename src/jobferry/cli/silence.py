"""Whether a dispatcher runs, by its Lease: without one nothing that a Job is told happens."""

import os
from contextlib import suppress
from datetime import datetime, timedelta

from jobferry import settings
from jobferry.cli import render
from jobferry.cli.hub import Hub
from jobferry.core import times
from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.resources import LEASES
from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj
from jobferry.settings import Settings


async def warn(hub: Hub) -> bool:
    """Say if no dispatcher seems to run, beside what was asked for; return whether that is so."""
    said = ""
    with suppress(Error):  # what was asked for is done: it must not fail because of this
        chosen = settings.load(environ=os.environ)
        said = sentence(await read(hub, chosen), hub.client.clock.now())
    if said:
        render.note(said)
    return bool(said)


async def read(hub: Hub, chosen: Settings) -> Obj | None:
    """Read the Lease of the dispatcher; None if there is none, or we may not."""
    with suppress(errors.NotFound, errors.Forbidden):
        return await hub.client.get(LEASES, chosen.lease_name, chosen.lease.namespace)
    return None


def sentence(lease: Obj | None, now: datetime) -> str:
    """Say that no dispatcher seems to run; empty if one does, or that cannot be told."""
    spec: Obj = (lease or {}).get("spec") or {}
    renewed, lasts = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    if not renewed or not isinstance(lasts, int):
        return ""
    since = now - times.instant(str(renewed))
    if since < timedelta(seconds=lasts):
        return ""
    ago = durations.human(int(since.total_seconds()))
    return f"No dispatcher seems to run: its Lease was last renewed {ago} ago."
