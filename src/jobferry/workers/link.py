"""The connection to one worker: keeps it up, and holds the copy of our mirrors there."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from jobferry import log
from jobferry.clock import Seconds, sleep, timeout
from jobferry.core.key import WorkloadKey
from jobferry.errors import BadInput, Error
from jobferry.kinds.adapter import Adapter
from jobferry.kube import errors
from jobferry.kube.access import Access
from jobferry.kube.cache import Change
from jobferry.kube.client import Client, Reach, connect
from jobferry.kube.hearing import Hearing, Unheard
from jobferry.kube.heartbeat import LOST_AFTER, Heartbeat, Hooks
from jobferry.kube.informer import Freshness
from jobferry.kube.observed import Observe
from jobferry.objects.resource import Resource
from jobferry.objects.times import timestamp
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff
from jobferry.runtime.inflight import Inflight
from jobferry.workers import cluster, sight, source
from jobferry.workers.badge import Badge
from jobferry.workers.cluster import UNKNOWN, Cluster, Moved
from jobferry.workers.copies import Copies
from jobferry.workers.definitions import Lookout
from jobferry.workers.looking import Looking
from jobferry.workers.mirrors import MirrorHead
from jobferry.workers.resource import Spec

BACKOFF = Backoff(first=0.5, cap=10.0)

AFTER_CRASH: Seconds = 30.0
"""A link that crashed would most likely crash again at once."""

_log = log.get(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How it stands with a worker."""

    is_up: bool = False
    reason: str = "Connecting"
    message: str = "Not connected yet."
    cluster: Cluster = UNKNOWN
    """As it was when it was last reached."""

    silent_since: datetime | None = None
    """When it was last heard, if that is so long ago that it gets no new work, though it still counts as up."""

    lost_since: datetime | None = None
    """Since when we have missed it; None while it is up, and until the first try has failed."""

    watched: Mapping[str, frozenset[str] | None] | None = None
    """By kind that was in sight when it was last up: the namespaces that were, None: all. None: not known."""

    hidden: Mapping[str, str] = field(default_factory=dict)
    """By kind that it served then, but that was out of sight: why."""


@dataclass(frozen=True, slots=True)
class Connection:
    """What is there while, and after, a worker was reached."""

    client: Client
    mirrors: Copies


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What the links to all workers have in common."""

    hub: Client
    kinds: Sequence[Adapter]
    """Those that may run on workers."""

    selector: Callable[[str], str]
    """Selects our mirrors on the worker of that name."""

    requests: int
    rules: source.Rules
    reach: Reach
    observe: Observe
    on_mirror: Callable[[str, WorkloadKey, Change[MirrorHead]], None]
    on_state: Callable[[str], None]


class Link:
    """Reaches one worker, again and again if need be, until cancelled.

    `cluster` and `missed_since` are what was known before: of which cluster it is, and since when it had
    been out of reach.
    """

    def __init__(
        self,
        name: str,
        spec: Spec,
        common: Common,
        *,
        cluster: Cluster = UNKNOWN,
        missed_since: datetime | None = None,
    ) -> None:
        self.name = name
        self.spec = spec
        self.state = State(cluster=cluster)
        self.connection: Connection | None = None
        self.inflight = Inflight(common.requests)
        self._common = common
        self._clock = common.hub.clock
        self.hearing = Hearing(self._clock)
        self.looking = Looking(self._clock, partial(common.on_state, name))
        self._missed_since = missed_since
        self._is_refused = False
        self._news = asyncio.Event()
        self._renewals = 0
        """How often the kubeconfig was tried in vain since it was last good."""

    @property
    def mirrors(self) -> int:
        """How many mirrors it holds, as far as was ever seen."""
        return len(self.connection.mirrors) if self.connection else 0

    async def run(self) -> None:
        """Stay connected; a bug costs a pause, not the other workers."""
        while True:
            try:
                await self._stay_connected()
            except Exception as error:  # noqa: BLE001 (whatever it is, the other workers go on)
                _log.failure("Link crashed", error, worker=self.name)
                self._miss("Crashed", f"This is a bug of the dispatcher: {error!r}")
            await sleep(self._clock, AFTER_CRASH)

    def reread_kubeconfig(self) -> None:
        """Take note that the kubeconfig may be another one now."""
        self._news.set()

    def doubt_kubeconfig(self) -> None:
        """Take note that the kubeconfig may be wrong.

        Each watch that fails says so, again and again: what tries it anew does so at a pace of its own.
        """
        if not self._renewals:
            self._news.set()

    def forgive(self, slip: timedelta) -> None:
        """Take note that so much of the time in which it is missed was none in which we listened."""
        now = self._clock.now()
        if self._missed_since is not None:
            self._missed_since = min(now, self._missed_since + slip)
        if self.state.lost_since is not None:
            since = min(now, self.state.lost_since + slip)
            self._set(replace(self.state, lost_since=since))

    async def _stay_connected(self) -> None:
        """Connect; the kubeconfig is read anew whenever it proves wrong."""
        failures = 0
        while True:
            self._news.clear()
            self.hearing.is_shut = False
            try:
                access = await self._access()
                badge = Badge(access.credentials)
                badged = replace(access, credentials=badge)
                async with self._connect(badged, self.hearing) as client:
                    found = await self._introduced(client)
                    failures = 0
                    await self._follow(client, access, badge, found)
            except Error as error:
                failures += 1
                self._fail(error)
            await self._pause(failures)

    async def _access(self) -> Access:
        where, rules = self.spec.kubeconfig, self._common.rules
        return await source.access(self._common.hub, where, self._clock, rules)

    def _resources(self) -> list[Resource]:
        return [each.resource for each in self._common.kinds]

    def _connect(self, access: Access, hearing: Hearing | None = None) -> Client:
        return connect(
            access,
            name=self.name,
            clock=self._clock,
            observe=self._common.observe,
            reach=self._common.reach,
            random=self._common.hub.random,
            hearing=hearing,
        )

    async def _introduced(self, client: Client) -> Cluster:
        """Find out which cluster it is, or that it is as silent as one that we knew before."""
        try:
            async with timeout(self._clock, LOST_AFTER):
                return await cluster.introduce(client, self._resources())
        except TimeoutError as error:
            raise errors.Timeout(f"{self.name}: no answer within {LOST_AFTER:g} s") from error

    async def _pause(self, failures: int) -> None:
        """Wait before the next try, unless there is news before."""
        delay = BACKOFF.delay(failures, self._common.hub.random.random())
        with suppress(TimeoutError):
            async with timeout(self._clock, delay):
                await self._news.wait()

    async def _follow(
        self, client: Client, access: Access, badge: Badge, found: Cluster
    ) -> None:
        """Keep the copy of our mirrors, until our credentials are refused or lead elsewhere."""
        selector, only = self._common.selector(self.name), self.spec.namespaces.only
        kinds = [each for each in self._common.kinds if found.serves(each.resource)]
        new = Connection(client, Copies(client, kinds, selector, only))
        lookout = Lookout(client, self._resources(), found.kinds)

        def note(link: Freshness) -> None:
            if new.mirrors.are_kinds_missing:
                lookout.look()
            if link.trouble is not None:
                if not isinstance(link.trouble, Unheard):  # of silence we know already
                    self._fail(link.trouble)
                self.doubt_kubeconfig()
                if isinstance(link.trouble, errors.Unauthorized | errors.Untrusted):
                    badge.is_void.set()
            elif link.is_following:
                rise()

        def rise() -> None:
            is_following = new.mirrors.freshness().is_following
            if is_following and self.connection is new and not self._is_refused:
                self._rise(found)

        new.mirrors.listen_to_link(note)
        self._is_refused = False
        self.hearing.on_return = rise
        hooks = Hooks(
            on_suspect=self._doubt,
            on_lost=self._lose,
            on_answer=lambda error: self._note_answer(error, rise),
        )
        async with supervise.tasks(f"worker {self.name}", clock=self._clock) as tasks:
            tasks.start("mirrors", new.mirrors.run)
            tasks.start("first copy", partial(self._take_in, new, found))
            tasks.start("kubeconfig", partial(self._renew, access, badge, found))
            ask = partial(self._recognise, badge, found)
            tasks.start("heartbeat", Heartbeat(client, hooks, ask).run)
            if any("." in each.group for each in self._resources()):
                tasks.start("kinds", partial(self._await_other_kinds, lookout, badge))
            await badge.is_void.wait()

    async def _recognise(self, badge: Badge, known: Cluster, client: Client) -> None:
        """Ask for a sign of life; begin anew if another cluster gives it, which is to get nothing that was meant for this."""
        try:
            await cluster.recognise(client, known)
        except Moved:
            self.hearing.shut()
            badge.is_void.set()
            raise

    async def _await_other_kinds(self, lookout: Lookout, badge: Badge) -> None:
        """Begin anew once the worker serves other kinds than when it was connected."""
        await lookout.until_others()
        _log.info("Worker serves other kinds than before", worker=self.name)
        badge.is_void.set()

    async def _take_in(self, new: Connection, found: Cluster) -> None:
        """Put a connection in the place of the last one, once its copy is whole; tell what differs."""
        await new.mirrors.synced.wait()
        old, self.connection = self.connection, new
        tell = partial(self._common.on_mirror, self.name)
        new.mirrors.listen(tell)
        for key, item in old.mirrors if old else ():
            if new.mirrors.get(key.kind, item.key) is None:
                tell(key, Change(item, None))
        self._rise(found)

    async def _renew(self, access: Access, badge: Badge, known: Cluster) -> None:
        """Take new credentials into use without a break; what leads elsewhere is for a new connection."""
        self._renewals = 0
        while True:
            await (self._pause(self._renewals) if self._renewals else self._news.wait())
            self._news.clear()
            self._renewals += 1
            try:
                new = await self._access()
                await self._try(new, access, known)
            except Moved:
                badge.is_void.set()
            except Error as error:
                self._warn(f"Connected, but what the kubeconfig says now fails: {error}")
            else:
                badge.exchange(new.credentials)
                access, self._renewals = new, 0
                self._warn(None)

    async def _try(self, new: Access, old: Access, known: Cluster) -> None:
        """Raise what is wrong with a kubeconfig, or `Moved`: to another server, cluster or version."""
        async with self._connect(new) as client:
            found = await cluster.introduce(client, self._resources())
        if (new.server, new.headers, found) != (old.server, old.headers, known):
            raise Moved(f"{self.name}: the kubeconfig leads elsewhere")

    def _rise(self, found: Cluster) -> None:
        self._missed_since = None
        assert self.connection is not None  # noqa: S101 (only one that was taken in can be up)
        mirrors = self.connection.mirrors
        hidden = mirrors.hidden
        reason, message = "Connected", f"Connected.{_clock_note(self.hearing.skew)}"
        if unseen := mirrors.unseen:
            reason, message = "NamespacesUnseen", f"Connected, but not in: {_listed(unseen)}"
        elif hidden:
            reason, message = sight.UNSEEN, sight.told(hidden)
        self._set(
            State(
                is_up=True,
                reason=reason,
                message=message,
                cluster=found,
                watched=mirrors.watched,
                hidden=hidden,
            )
        )

    def _warn(self, message: str | None) -> None:
        """Say of a worker that is up what is wrong nevertheless."""
        if not self.state.is_up or self.state.silent_since is not None:
            return
        if message:
            self._set(replace(self.state, reason="RenewalFailed", message=message))
        else:
            self._rise(self.state.cluster)

    # Silence

    def _doubt(self) -> None:
        """Send nothing more to a worker that has fallen silent: whoever waits for it is held up in vain."""
        self.hearing.shut()
        if self.state.is_up:
            since = self.hearing.welcome()
            message = f"Not heard since {timestamp(since)}."
            self._set(replace(self.state, reason="Silent", message=message, silent_since=since))

    def _lose(self) -> None:
        """Give up a worker that stays silent; its watch is opened anew when it is heard again."""
        self.hearing.hang_up()
        if self.state.is_up:
            self._miss("Silent", f"Not heard since {timestamp(self.hearing.welcome())}.")

    def _note_answer(self, error: Error | None, rise: Callable[[], None]) -> None:
        """Take note of what came of a question: to be refused is another thing than silence."""
        if isinstance(error, errors.Timeout):
            return
        self._is_refused = isinstance(error, errors.Unauthorized | errors.Forbidden)
        if self._is_refused:
            self.hearing.miss()
        if error is None and not self.state.is_up:
            rise()
        elif error is not None and (self._is_refused or not self.state.is_up):
            self._fail(error)

    def _fail(self, error: Error) -> None:
        # What is wrong with a kubeconfig is found out in many places.
        reason = "BadKubeconfig" if type(error) is BadInput else type(error).__name__
        self._miss(reason, str(error))

    def _miss(self, reason: str, message: str) -> None:
        since = self.state.lost_since or self._missed_since or self.hearing.welcome()
        was = self.state
        known = State(cluster=was.cluster, watched=was.watched, hidden=was.hidden)
        self._set(replace(known, reason=reason, message=message, lost_since=since))

    def _set(self, state: State) -> None:
        if state == self.state:
            return
        changed = state.is_up != self.state.is_up or state.reason != self.state.reason
        self.state = state
        if changed:
            _log.info(
                "Worker link changed", worker=self.name, up=state.is_up, why=state.message
            )
        self._common.on_state(self.name)


def _clock_note(skew: timedelta) -> str:
    """Tell if its clock is wrong, or ours."""
    if not skew:
        return ""
    return f" Its clock is {abs(skew)} {'ahead' if skew > timedelta() else 'behind'}."


def _listed(unseen: Mapping[str, str]) -> str:
    """Name what is out of sight, and why."""
    return "; ".join(f"{name}: {why}" for name, why in unseen.items())
