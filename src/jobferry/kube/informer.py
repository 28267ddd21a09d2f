"""A faithful copy of one collection in memory, kept by a watch.

Reads are from memory and never older than what we wrote ourselves: the answer to a write is handed to
`absorb`. How old they may be otherwise, `freshness` says.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Generic

import msgspec
import orjson

from jobferry import log
from jobferry.clock import Seconds, timeout
from jobferry.errors import Error
from jobferry.kube import calls, errors, items, watch
from jobferry.kube.cache import Cache, Change, Index
from jobferry.kube.calls import Scope, Start
from jobferry.kube.client import Client
from jobferry.kube.items import Collecting, H, Item, Json, Key, Reading, Seen
from jobferry.kube.watch import Event, Watching
from jobferry.objects import Obj, labels
from jobferry.runtime.backoff import Backoff

Listener = Callable[[Change[H]], None]

WATCHING = Watching()
BACKOFF = Backoff(first=0.05, cap=10.0)
"""A restarted API server is back in seconds; one that is away for long costs a request every ten."""

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Freshness:
    """How far a copy can be trusted."""

    is_synced: bool
    """Whether it has ever been whole."""

    is_following: bool
    """Whether a watch is open now."""

    age: Seconds | None
    """How long ago the server last said anything; None: never."""

    version: int
    """The resourceVersion that the copy has got to; 0: none."""

    trouble: Error | None
    """Why there is no watch, if there is none."""


class Informer(Generic[H]):
    """Keeps the objects in `scope`.

    `head` is what is decoded of each, `keep` says by it which are kept at all, `transform` what is kept of
    the JSON of those. One that `heeds_refusal` ends once it is told that it may not follow: see `optional`.
    """

    def __init__(
        self,
        client: Client,
        scope: Scope,
        head: Reading[H],
        *,
        keep: Callable[[H], bool] | None = None,
        transform: Callable[[bytes], bytes] | None = None,
        indexes: Mapping[str, Index[H]] | None = None,
        watching: Watching = WATCHING,
        heeds_refusal: bool = False,
    ) -> None:
        self.synced = asyncio.Event()
        self.skipped = 0
        """How often an object came that makes no sense."""

        self._client = client
        self._scope = scope
        self._read = items.reader(head)
        self._keep = keep
        self._transform = transform
        self._watching = watching
        self._heeds_refusal = heeds_refusal
        self._selector = labels.parse(scope.labels)
        self._cache: Cache[H] = Cache(indexes)
        self._listeners: list[Listener[H]] = []
        self._link_listeners: list[Callable[[Freshness], None]] = []
        self._version = 0
        self._since: str | None = None
        self._heard: Seconds | None = None
        self._is_following = False
        self._was_cut_off = False
        self._trouble: Error | None = None
        self._asks_for_initial_events = watching.initial_events
        self._log = _log.bind(cluster=client.name, resource=str(scope.resource))

    # Reading

    def __len__(self) -> int:
        return len(self._cache)

    def __iter__(self) -> Iterator[Item[H]]:
        return iter(self._cache)

    def get(self, key: Key) -> Item[H] | None:
        """Return the object of that name."""
        return self._cache.get(key)

    def by(self, index: str, value: Hashable) -> list[Item[H]]:
        """Return the objects that the index of that name has under `value`."""
        return self._cache.by(index, value)

    def count(self, index: str, value: Hashable) -> int:
        """Return how many objects the index of that name has under `value`."""
        return self._cache.count(index, value)

    def listen(self, listener: Listener[H]) -> None:
        """Call `listener` for every change from now on, and at once for what is there."""
        self._listeners.append(listener)
        for item in list(self._cache):
            self._call(listener, Change(None, item))

    def listen_to_link(self, listener: Callable[[Freshness], None]) -> None:
        """Call `listener` whenever a watch has begun, ended, or could not begin."""
        self._link_listeners.append(listener)

    def freshness(self) -> Freshness:
        """Say how far this copy can be trusted right now."""
        age = None if self._heard is None else self._client.clock.monotonic() - self._heard
        return Freshness(
            self.synced.is_set(), self._is_following, age, self._version, self._trouble
        )

    # Our own writes

    def absorb(self, answer: Obj | bytes) -> None:
        """Take in the answer to a write of ours, ahead of the watch; best as it came, not decoded."""
        body = answer if isinstance(answer, bytes) else orjson.dumps(answer)
        try:
            head = self._read(body)
        except msgspec.DecodeError as error:
            what = f"{self._client.name}: an answer about {self._scope.resource}"
            raise errors.ServerFailure(f"{what} is no object: {error}") from error
        if head.metadata.deletion_timestamp and items.is_let_go(orjson.loads(body)["metadata"]):
            self._tell(self._cache.remove_gone(items.key(head), head.metadata.uid))
            return
        version = int(head.metadata.resource_version)
        if version <= self._version:
            return  # the watch has been there already, and may know of a delete since
        if self._selector.matches(head.metadata.labels) and self._is_wanted(head):
            self._tell(self._cache.put(self._item(head, body)))
        else:
            self._tell(self._cache.remove(items.key(head), version))

    def absorb_deletion(self, key: Key, answer: Obj) -> None:
        """Take in the answer to a delete of an object we knew: it is on its way out, or gone."""
        if answer.get("kind") != "Status":
            # Of an object that vanished at this very moment the answer says nothing; the watch will.
            if "resourceVersion" in answer["metadata"]:
                self.absorb(answer)
        elif uid := (answer.get("details") or {}).get("uid"):
            self.absorb_absence(key, uid)

    def absorb_absence(self, key: Key, uid: str) -> None:
        """Take in that an object we knew, by its UID, is gone: the server said so when it was asked for it."""
        self._tell(self._cache.remove_gone(key, uid))

    # Following

    async def run(self) -> None:
        """Follow the collection until cancelled, whatever happens to the server."""
        failures = 0
        try:
            while True:
                reached, resumes = self._version, self._since is not None
                await self._pass()
                # Who was told to begin anew does so at once, whatever went wrong before that.
                starts_anew = resumes and self._since is None
                failures = 0 if starts_anew or self._version != reached else failures + 1
                if await self._pause(failures):
                    failures = 0
        finally:
            self._is_following = False

    async def _pass(self) -> None:
        """Follow as long as one watch lasts; note why it ended."""
        try:
            await self._follow()
        except (errors.Expired, watch.Silent) as error:
            # The server has forgotten where we were, or has nothing to say about it, as one that was
            # restored from a backup. A list tells all but the states in between.
            self._since = None
            self._note_link(False, error)
        except Error as error:
            self._was_cut_off |= isinstance(error, errors.Unreachable)
            self._note_link(False, error)
            if self._heeds_refusal and isinstance(error, errors.Forbidden):
                raise
        except msgspec.DecodeError as error:
            what = f"{self._client.name}: watching {self._scope.resource}"
            self._note_link(False, errors.ServerFailure(f"{what}: no object: {error}"))
        else:
            self._note_link(False, self._trouble)

    async def _pause(self, failures: int) -> bool:
        """Wait longer the longer nothing was heard; not at all after a watch that told something.

        Say whether a server that had been silent was heard again meanwhile.
        """
        delay = BACKOFF.delay(failures, self._client.random.random()) if failures else 0.0
        if self._trouble is not None:
            delay = max(delay, getattr(self._trouble, "retry_after", None) or 0.0)
            self._log.warning("Watch ended", error=self._trouble, again_in=round(delay, 3))
        if not delay:
            return False
        with suppress(TimeoutError):
            async with timeout(self._client.clock, delay):
                await self._client.hearing.returned()
                return True
        return False

    async def _follow(self) -> None:
        """Follow as long as one watch lasts, from where we are or from the beginning."""
        if self._since is None and not self._asks_for_initial_events:
            await self._list()
        collecting = None if self._since is not None else Collecting[H]()
        try:
            await self._watch(collecting)
        except (errors.BadRequest, errors.Invalid):
            if collecting is None:
                raise
            # A server without WatchList says so at once: it is listed from now on.
            self._asks_for_initial_events = False
            await self._list()
        except watch.Silent:
            # Or it may have let us wait for the end of events that it never meant to send.
            self._asks_for_initial_events &= collecting is None or collecting.is_over
            raise

    async def _watch(self, collecting: Collecting[H] | None) -> None:
        since = self._since if self._since is not None else Start.INITIAL_EVENTS
        batches = watch.batches(self._client, self._scope, since, self._watching)
        async with aclosing(batches):
            async for batch in batches:
                self._heard = self._client.clock.monotonic()
                if collecting is None and self._was_cut_off:
                    await self._compare_histories()
                self._note_link(True, None)
                for event in batch:
                    if collecting is None or collecting.is_over:
                        self._apply(event)
                    else:
                        self._collect(event, collecting)

    async def _compare_histories(self) -> None:
        """Raise `Expired` if history went back while we were cut off: the cluster was restored from a backup.

        Once its versions are beyond where we were, nothing would tell that they are others.
        """
        answer = await self._client.send(calls.list_(self._scope, limit=1))
        self._was_cut_off = False
        if (version := items.page(answer.body).version) < self._version:
            raise errors.Expired(f"history went back from {self._version} to {version}")

    def _collect(self, event: Event, collecting: Collecting[H]) -> None:
        """Gather the initial events; what is cached stays until all of them are here."""
        if event.type == "BOOKMARK":
            mark = items.bookmark(event.object)
            collecting.is_over = mark.ends_initial_events
            if collecting.is_over:
                found, collecting.found = collecting.found, {}
                self._replace(list(found.values()), mark.version)
            return
        seen = self._see(event.object)
        collecting.found.pop(seen.key, None)
        if event.type != "DELETED" and seen.item is not None:
            collecting.found[seen.key] = seen.item

    def _apply(self, event: Event) -> None:
        """Take in one change."""
        if event.type == "BOOKMARK":
            self._reach(items.bookmark(event.object).version)
            return
        seen = self._see(event.object)
        self._reach(seen.version)
        if event.type == "DELETED":
            self._cache.forget_gone(seen.uid)
        if event.type != "DELETED" and seen.item is not None:
            self._tell(self._cache.put(seen.item))
        else:
            self._tell(self._cache.remove(seen.key, seen.version))

    async def _list(self) -> None:
        """Read all there is, page by page."""
        found: list[Item[H]] = []
        limit, resume = calls.PAGE, ""
        while True:
            call = calls.list_(self._scope, limit=limit, resume=resume)
            try:
                answer = await self._client.send(call)
            except errors.Expired:
                if not resume:
                    raise
                found, limit, resume = [], 0, ""  # all in one go cannot expire half-way
                continue
            part = items.page(answer.body)
            for raw in part.items:
                seen = self._see(raw)
                if seen.item is not None:
                    found.append(seen.item)
            resume = part.resume
            if not resume:
                break
        self._heard = self._client.clock.monotonic()
        self._replace(found, part.version)

    def _replace(self, found: list[Item[H]], version: int) -> None:
        # History that went back is another history: the cluster was restored from a backup.
        changes = self._cache.clear() if version < self._version else []
        self._reach(version)
        self._tell(changes + self._cache.replace(found, version))
        self.synced.set()

    def _note_link(self, is_following: bool, trouble: Error | None) -> None:
        if (is_following, trouble) != (self._is_following, self._trouble):
            self._is_following, self._trouble = is_following, trouble
            for listener in self._link_listeners:
                try:
                    listener(self.freshness())
                except Exception as error:  # noqa: BLE001 (as for objects)
                    self._log.failure("A listener to the link failed", error)

    def _reach(self, version: int) -> None:
        self._version = version
        self._since = str(version)

    def _see(self, raw: Json) -> Seen[H]:
        """Read an object, and keep of it what is wanted; raises `msgspec.DecodeError` for what has no name.

        One that makes no sense, to us or to whoever chose what is kept, keeps us from no other; what was known of
        it stays.
        """
        try:
            head = self._read(raw)
            version = int(head.metadata.resource_version)
            item = self._item(head, raw) if self._is_wanted(head) else None
        except Exception as error:  # noqa: BLE001 (objects are written by anybody)
            seen = self._recall(raw)
            self.skipped += 1
            told = f"{type(error).__name__}: {error}"
            self._log.warning("Object skipped", error=told, key=seen.key, skipped=self.skipped)
            return seen
        return Seen(items.key(head), head.metadata.uid, version, item)

    def _recall(self, raw: Json) -> Seen[H]:
        """Read no more of an object than who it is; the rest is what was known."""
        head = items.identity(raw)
        key, uid = items.key(head), head.metadata.uid
        try:
            version = int(head.metadata.resource_version)
        except ValueError as error:
            raise msgspec.ValidationError(f"{key}: its resourceVersion is no number") from error
        known = self._cache.get(key)
        return Seen(key, uid, version, known if known and known.uid == uid else None)

    def _item(self, head: H, raw: Json) -> Item[H]:
        body = items.body(head, raw)
        return Item(head, body if self._transform is None else self._transform(body))

    def _is_wanted(self, head: H) -> bool:
        return self._keep is None or self._keep(head)

    def _tell(self, changes: list[Change[H]]) -> None:
        for change in changes:
            for listener in self._listeners:
                self._call(listener, change)

    def _call(self, listener: Listener[H], change: Change[H]) -> None:
        """Tell one listener; one that fails on some object keeps neither the others nor the copy from it."""
        try:
            listener(change)
        except Exception as error:  # noqa: BLE001 (objects are written by anybody)
            self._log.failure("A listener failed", error, key=str(change.item.key))
