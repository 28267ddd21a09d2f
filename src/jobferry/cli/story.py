"""Tells what happens to the Jobs of a cluster, in words."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from jobferry.core import placement
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS
from jobferry.local.layout import HUB
from jobferry.objects import Obj, conditions
from jobferry.runtime import supervise


class Story:
    """What became of some Jobs of one cluster; `ended` is set when all have."""

    def __init__(
        self, client: Client, names: Sequence[str], say: Callable[[str], None]
    ) -> None:
        self.ended = asyncio.Event()
        self.places: dict[str, str] = {}
        """Where each Job runs, by its name."""
        self._client = client
        self._say = say
        self._told: dict[str, set[str]] = {name: set() for name in names}
        self._unfinished = set(names)

    @asynccontextmanager
    async def told(self) -> AsyncIterator[None]:
        """Tell it during the block."""
        scope = Scope(resource=JOBS, namespace="default")
        informer = Informer(self._client, scope, Head)
        informer.listen(self._hear)
        async with supervise.tasks(
            f"story of {self._client.name}", clock=self._client.clock
        ) as tasks:
            tasks.start("informer", informer.run)
            await informer.synced.wait()
            yield

    def _hear(self, change: Change[Head]) -> None:
        name = change.item.key.name
        if name not in self._told:
            return
        words = "is gone" if change.after is None else self._words(name, change.after.object())
        if words.startswith(("Complete", "Failed")):
            self._unfinished.discard(name)
            if not self._unfinished:
                self.ended.set()
        if words not in self._told[name]:
            self._told[name].add(words)
            at = f"{self._client.clock.now():%H:%M:%S}"
            with suppress(
                BrokenPipeError
            ):  # nobody reads on (`| head`): whoever waits for us finds out
                self._say(f"  {at}  {self._client.name:<9} {name:<11} {words}")

    def _words(self, name: str, job: Obj) -> str:
        record = placement.read(job)
        where = f" on {record.shards[0].worker}" if record else ""
        self.places[name] = record.shards[0].worker if record else self._client.name
        status = job.get("status") or {}
        for end in ("Complete", "Failed"):
            if conditions.is_true(status.get("conditions"), end):
                counts = (
                    f"{status.get('succeeded', 0)} succeeded, {status.get('failed', 0)} failed"
                )
                return f"{end}{where}: {counts}"
        if self._client.name != HUB:
            return "mirror runs" if status.get("active") else "mirror created"
        if status.get("active"):
            return f"runs{where}: {status['active']} active"
        return f"placed{where}" if where else "created"
