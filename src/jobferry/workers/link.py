"""The connection to one worker: keeps it up, and holds the copy of our mirrors there."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from jobferry import log
from jobferry.clock import sleep
from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.informer import Freshness, Informer
from jobferry.kube.items import Head
from jobferry.kube.observed import Observe
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff
from jobferry.runtime.inflight import Inflight
from jobferry.workers import source
from jobferry.workers.resource import Spec

BACKOFF = Backoff(first=0.5, cap=30.0)

_log = log.get(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How it stands with a worker."""

    is_up: bool = False
    reason: str = "Connecting"
    message: str = "Not connected yet."
    cluster: str = ""
    version: str = ""
    lost_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Connection:
    """What is there while, and after, a worker was reached."""

    client: Client
    mirrors: Informer[Head]


class Link:
    """Reaches one worker, again and again if need be, until cancelled."""

    def __init__(
        self,
        name: str,
        spec: Spec,
        *,
        hub: Client,
        selector: str,
        requests: int,
        rules: source.Rules,
        observe: Observe,
        on_mirror: Callable[[str, Change[Head]], None],
        on_state: Callable[[str], None],
    ) -> None:
        self.name = name
        self.spec = spec
        self.state = State()
        self.connection: Connection | None = None
        self.inflight = Inflight(requests)
        self._hub = hub
        self._clock = hub.clock
        self._selector = selector
        self._rules = rules
        self._observe = observe
        self._on_mirror = on_mirror
        self._on_state = on_state

    async def run(self) -> None:
        """Stay connected; credentials are read anew whenever they prove wrong."""
        failures = 0
        while True:
            try:
                access = await source.access(
                    self._hub, self.spec.kubeconfig, self._clock, self._rules
                )
                async with connect(
                    access, name=self.name, clock=self._clock, observe=self._observe
                ) as client:
                    await self._introduce(client)
                    failures = 0
                    await self._follow(client)
            except Error as error:
                failures += 1
                self._down(error)
            await sleep(self._clock, BACKOFF.delay(failures, self._hub.random.random()))

    async def _introduce(self, client: Client) -> None:
        """Find out which cluster this is; a name or an address is no identity."""
        kube_system = await client.get(NAMESPACES, "kube-system")
        version = await client.raw("/version")
        self.state = replace(
            self.state, cluster=kube_system["metadata"]["uid"], version=version["gitVersion"]
        )

    async def _follow(self, client: Client) -> None:
        """Keep the copy of our mirrors, until our credentials are refused."""
        mirrors = Informer(client, Scope(resource=JOBS, labels=self._selector), Head)
        mirrors.listen(lambda change: self._on_mirror(self.name, change))
        refused = asyncio.Event()

        def note(link: Freshness) -> None:
            if link.is_following and link.is_synced:
                self._up()
            elif link.trouble is not None:
                self._down(link.trouble)
                if isinstance(link.trouble, errors.Unauthorized | errors.Untrusted):
                    refused.set()

        async with supervise.tasks(f"worker {self.name}", clock=self._clock) as tasks:
            tasks.start("mirrors", mirrors.run)
            await mirrors.synced.wait()
            self.connection = Connection(client, mirrors)
            mirrors.listen_to_link(note)
            self._up()
            await refused.wait()

    def _up(self) -> None:
        self._set(
            replace(
                self.state,
                is_up=True,
                reason="Connected",
                message="Connected.",
                lost_since=None,
            )
        )

    def _down(self, error: Error) -> None:
        since = self.state.lost_since or self._clock.now()
        self._set(
            replace(
                self.state,
                is_up=False,
                reason=type(error).__name__,
                message=str(error),
                lost_since=since,
            )
        )

    def _set(self, state: State) -> None:
        if state == self.state:
            return
        changed = state.is_up != self.state.is_up or state.reason != self.state.reason
        self.state = state
        if changed:
            _log.info(
                "Worker link changed", worker=self.name, up=state.is_up, why=state.message
            )
        self._on_state(self.name)
