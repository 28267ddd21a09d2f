"""The copy of our mirrors on one worker: one watch for all of it, or one for each namespace where we have rights."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import chain

from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Freshness, Informer, Listener
from jobferry.kube.items import Item, Key
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.workers.mirrors import MirrorHead


def scopes(selector: str, only: Collection[str]) -> list[Scope]:
    """Return what to list and watch: some namespaces, or all."""
    return [Scope(resource=JOBS, namespace=each, labels=selector) for each in only or (None,)]


class Copy:
    """Keeps the mirrors that `selector` selects, as an informer does; `only` in some namespaces, if there are any.

    A namespace whose owner takes our rights away is out of sight until they are back. That is no reason to
    lose sight of the others, unless it is so in all of them.
    """

    def __init__(self, client: Client, selector: str, only: Collection[str] = ()) -> None:
        self.synced = asyncio.Event()
        """Set once the copy has been whole, but for what was out of sight."""

        self._clock = client.clock
        self._informers = {
            scope.namespace: Informer(client, scope, MirrorHead)
            for scope in scopes(selector, only)
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
        found = [informer.freshness() for informer in self._in_sight()]
        return Freshness(
            is_synced=all(each.is_synced for each in found),
            is_following=all(each.is_following for each in found),
            age=min((each.age for each in found if each.age is not None), default=None),
            version=max(each.version for each in found),
            trouble=next((each.trouble for each in found if each.trouble), None),
        )

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
                tasks.start(where, informer.run)
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
