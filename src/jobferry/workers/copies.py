"""The copies of our mirrors on one worker: a watch for each kind, or one for each namespace where we have rights."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import chain

from jobferry.core.key import WorkloadKey
from jobferry.errors import Error
from jobferry.kinds.adapter import Adapter
from jobferry.kube import errors, optional
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Freshness, Informer, Listener
from jobferry.kube.items import Item, Key
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.workers import mirrors, sight
from jobferry.workers.mirrors import MirrorHead

HIDING = (
    errors.BadRequest,
    errors.Forbidden,
    errors.Invalid,
    errors.NotFound,
    errors.ServerFailure,
    errors.TooManyRequests,
)
"""What a worker answers that may be about one kind alone, as where a webhook that converts its objects is broken.

Newer servers ask to come again later then, each time: they have no cache of that kind yet.
"""

Told = Callable[[WorkloadKey, Change[MirrorHead]], None]
"""Hears what became of the mirror of a workload."""


def scopes(resource: Resource, selector: str, only: Collection[str]) -> list[Scope]:
    """Return what to list and watch: some namespaces, or all."""
    return [
        Scope(resource=resource, namespace=each, labels=selector) for each in only or (None,)
    ]


class Copy:
    """Keeps the mirrors of one kind that `selector` selects, as an informer does; `only` in some namespaces, if there are any.

    A namespace whose owner takes our rights away is out of sight until they are back. That is no reason to
    lose sight of the others, unless it is so in all of them.
    """

    def __init__(
        self, client: Client, kind: Adapter, selector: str, only: Collection[str] = ()
    ) -> None:
        self.synced = asyncio.Event()
        """Set once the copy has been whole, but for what was out of sight."""

        self._clock = client.clock
        self._informers = {
            scope.namespace: Informer(
                client,
                scope,
                mirrors.reading(kind),
                keep=_is_ours,
                # A worker whose owner keeps a kind from us is not asked for it again and again.
                heeds_refusal=kind.resource != JOBS,
            )
            for scope in scopes(kind.resource, selector, only)
        }
        self._link_listeners: list[Callable[[Freshness], None]] = []
        for informer in self._informers.values():
            informer.listen_to_link(self._note_link)

    def __len__(self) -> int:
        return sum(map(len, self._informers.values()))

    def __iter__(self) -> Iterator[Item[MirrorHead]]:
        return chain.from_iterable(self._informers.values())

    def get(self, key: Key) -> Item[MirrorHead] | None:
        """Return the mirror of that name."""
        informer = self._of(key.namespace)
        return None if informer is None else informer.get(key)

    def listen(self, listener: Listener[MirrorHead]) -> None:
        """Call `listener` for every change from now on, and at once for what is there."""
        for informer in self._informers.values():
            informer.listen(listener)

    def listen_to_link(self, listener: Callable[[Freshness], None]) -> None:
        """Call `listener` whenever `freshness` or `unseen` may say something else than before."""
        self._link_listeners.append(listener)

    @property
    def watched(self) -> frozenset[str] | None:
        """The namespaces that are in sight; None: all."""
        if None in self._informers:
            return None
        return frozenset(filter(None, self._informers)) - self.unseen.keys()

    @property
    def unseen(self) -> dict[str, str]:
        """The namespaces that are out of sight, and why."""
        return {
            namespace: str(informer.freshness().trouble or "not listed yet")
            for namespace, informer in self._informers.items()
            if namespace and (_is_refused(informer) or not informer.synced.is_set())
        }

    def freshness(self) -> Freshness:
        """Say how far this copy can be trusted right now, but for what is out of sight."""
        return _joined([informer.freshness() for informer in self._in_sight()])

    def absorb(self, namespace: str, answer: Obj | bytes) -> None:
        """Take in the answer to a write of ours in a namespace, ahead of the watch."""
        informer = self._of(namespace)
        if informer is not None:
            informer.absorb(answer)

    def absorb_deletion(self, key: Key, answer: Obj) -> None:
        """Take in the answer to a delete of a mirror we knew."""
        informer = self._of(key.namespace)
        if informer is not None:
            informer.absorb_deletion(key, answer)

    def absorb_absence(self, key: Key, uid: str) -> None:
        """Take in that there is no mirror of that name and UID any more."""
        informer = self._of(key.namespace)
        if informer is not None:
            informer.absorb_absence(key, uid)

    async def run(self) -> None:
        """Follow until cancelled, whatever happens to the server."""
        async with supervise.tasks("mirrors", clock=self._clock) as tasks:
            for namespace, informer in self._informers.items():
                where = f"in {namespace}" if namespace else "everywhere"
                tasks.start(where, partial(optional.follow, informer, self._clock, _nobody))
                tasks.start(f"first copy {where}", partial(self._await_first, informer))
            await tasks.ended()

    async def _await_first(self, informer: Informer[MirrorHead]) -> None:
        await informer.synced.wait()
        self._note_link()

    def _note_link(self, _: object = None) -> None:
        if all(informer.synced.is_set() for informer in self._in_sight()):
            self.synced.set()
        for listener in self._link_listeners:
            listener(self.freshness())

    def _in_sight(self) -> list[Informer[MirrorHead]]:
        every = list(self._informers.values())
        return [each for each in every if not _is_refused(each)] or every

    def _of(self, namespace: str) -> Informer[MirrorHead] | None:
        return self._informers.get(None if None in self._informers else namespace)


def _is_refused(informer: Informer[MirrorHead]) -> bool:
    return isinstance(informer.freshness().trouble, errors.Forbidden)


def _nobody(refusal: Error) -> None:
    """Tell nobody of a refusal: whoever listens to the link knows."""


def _is_ours(head: MirrorHead) -> bool:
    return not head.is_made_by_others


class Copies:
    """The copies of all kinds that one worker serves; what is asked of one kind names it.

    A kind that we may not follow, or cannot, is out of sight. That is no reason to lose sight of the others, unless
    it is so with all of them.
    """

    def __init__(
        self,
        client: Client,
        kinds: Iterable[Adapter],
        selector: str,
        only: Collection[str] = (),
    ) -> None:
        self.synced = asyncio.Event()
        """Set once all that is in sight has been copied."""

        self._clock = client.clock
        self._copies = {kind.name: Copy(client, kind, selector, only) for kind in kinds}
        self._resources = {kind.name: kind.resource for kind in kinds}
        self._only = only
        self._link_listeners: list[Callable[[Freshness], None]] = []
        for copy in self._copies.values():
            copy.listen_to_link(self._note_link)
        if not self._copies:
            self.synced.set()  # there is nothing to wait for

    def __len__(self) -> int:
        return sum(map(len, self._copies.values()))

    def __iter__(self) -> Iterator[tuple[WorkloadKey, Item[MirrorHead]]]:
        for kind, copy in self._copies.items():
            for item in copy:
                yield WorkloadKey(kind, *item.head.workload), item

    def get(self, kind: str, key: Key) -> Item[MirrorHead] | None:
        """Return the mirror of that kind and name."""
        copy = self._copies.get(kind)
        return None if copy is None else copy.get(key)

    def of(self, kind: str) -> Copy | None:
        """Return the copy of a kind; None: the worker does not serve it."""
        return self._copies.get(kind)

    def listen(self, listener: Told) -> None:
        """Call `listener` for every change from now on, and at once for what is there."""
        for kind, copy in self._copies.items():
            copy.listen(partial(_tell, kind, listener))

    def listen_to_link(self, listener: Callable[[Freshness], None]) -> None:
        """Call `listener` whenever it may be another thing that is in sight, or how far that can be trusted."""
        self._link_listeners.append(listener)

    @property
    def resources(self) -> list[Resource]:
        """The kinds that are in sight, as the API serves them."""
        return [self._resources[kind] for kind in self.watched]

    @property
    def watched(self) -> dict[str, frozenset[str] | None]:
        """By kind that is in sight: the namespaces that are; None: all."""
        return {
            kind: copy.watched
            for kind, copy in self._copies.items()
            if copy.synced.is_set() and not self._is_hidden(kind)
        }

    @property
    def hidden(self) -> dict[str, str]:
        """The kinds that are out of sight, and why."""
        return {
            kind: sight.why_hidden(self._resources[kind], copy.freshness().trouble, self._only)
            for kind, copy in self._copies.items()
            if self._is_hidden(kind) or not copy.synced.is_set()
        }

    @property
    def are_kinds_missing(self) -> bool:
        """Whether the worker does not know any more what it served."""
        troubles = (copy.freshness().trouble for copy in self._copies.values())
        return any(isinstance(each, errors.NotFound) for each in troubles)

    @property
    def unseen(self) -> dict[str, str]:
        """The namespaces that are out of sight, for kinds that are not, and why."""
        return {
            namespace: why
            for copy in self._in_sight()
            for namespace, why in copy.unseen.items()
        }

    def freshness(self) -> Freshness:
        """Say how far this copy can be trusted right now, but for what is out of sight."""
        return _joined([copy.freshness() for copy in self._in_sight()])

    async def run(self) -> None:
        """Follow until cancelled, whatever happens to the server."""
        async with supervise.tasks("kinds", clock=self._clock) as tasks:
            for kind, copy in self._copies.items():
                tasks.start(kind, copy.run)
            await tasks.ended()

    def _note_link(self, _: object = None) -> None:
        if all(copy.synced.is_set() for copy in self._in_sight()):
            self.synced.set()
        for listener in self._link_listeners:
            listener(self.freshness())

    def _in_sight(self) -> list[Copy]:
        every = self._copies.items()
        return [copy for kind, copy in every if not self._is_hidden(kind)] or [
            copy for _, copy in every
        ]

    def _is_hidden(self, kind: str) -> bool:
        """Tell whether the worker refuses to tell of a kind; what is wrong with Jobs is wrong with the worker."""
        trouble = self._copies[kind].freshness().trouble
        is_job = self._resources[kind] == JOBS
        return isinstance(trouble, errors.Forbidden if is_job else HIDING)


def _tell(kind: str, listener: Told, change: Change[MirrorHead]) -> None:
    listener(WorkloadKey(kind, *change.item.head.workload), change)


def _joined(found: list[Freshness]) -> Freshness:
    """Return how far several copies can be trusted together."""
    return Freshness(
        is_synced=all(each.is_synced for each in found),
        is_following=all(each.is_following for each in found),
        age=min((each.age for each in found if each.age is not None), default=None),
        version=max((each.version for each in found), default=0),
        trouble=next((each.trouble for each in found if each.trouble), None),
    )
