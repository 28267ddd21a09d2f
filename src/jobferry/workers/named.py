"""Workers that an operator names on the command line: they are to be there, whatever was before."""

import asyncio
from contextlib import suppress
from itertools import count

from jobferry import log
from jobferry.clock import sleep
from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.calls import PatchKind, Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff
from jobferry.workers.resource import WORKERS

BACKOFF = Backoff(first=0.5, cap=30.0)

_log = log.get(__name__)


async def make(hub: Client, name: str, spec: Obj) -> bool:
    """See to it that there is such a Worker; False: one of that name is being deleted, and is left to go.

    What that one says is not changed: by it the cluster is found that it is to leave.
    """
    with suppress(errors.NotFound):
        if _is_going(await hub.get(WORKERS, name)):
            return False
    worker = {
        "apiVersion": WORKERS.api_version,
        "kind": WORKERS.kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    return not _is_going(
        await hub.patch(
            WORKERS,
            name,
            worker,
            kind=PatchKind.APPLY,
            field_manager="jobferry-run",
            force=True,
        )
    )


async def make_anew(hub: Client, name: str, spec: Obj) -> None:
    """Make a Worker once the one of that name that is being deleted is gone.

    A dispatcher must run meanwhile: it is the one that lets it go.
    """
    _log.warning("Worker is being deleted; it is made anew once it is gone", worker=name)
    for failures in count(1):
        try:
            await _until_gone(hub, name)
            if await make(hub, name, spec):
                break
        except Error as error:
            _log.failure("Worker was not made anew", error, worker=name)
            await sleep(hub.clock, BACKOFF.delay(failures, hub.random.random()))
    _log.info("Worker was made anew", worker=name)


def _is_going(worker: Obj) -> bool:
    return bool(worker["metadata"].get("deletionTimestamp"))


async def _until_gone(hub: Client, name: str) -> None:
    informer = Informer(hub, Scope(resource=WORKERS, fields=f"metadata.name={name}"), Head)
    gone = asyncio.Event()
    informer.listen(lambda change: gone.set() if change.after is None else None)
    async with supervise.tasks(f"until Worker {name} is gone", clock=hub.clock) as tasks:
        tasks.start("informer", informer.run)
        await informer.synced.wait()
        if len(informer):
            await gone.wait()
