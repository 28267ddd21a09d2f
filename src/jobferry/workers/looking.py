"""Looks whether a worker has what workloads refer to: at metadata alone, and each thing once in a while.

Nothing waits for it longer than `WITHIN`, and whoever may not look, or gets no answer, does without for a time.
"""

import asyncio
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from jobferry import log
from jobferry.clock import Clock, Seconds, timeout
from jobferry.errors import Error
from jobferry.kinds import referred
from jobferry.kinds.references import Reference
from jobferry.kube import calls, errors, optional, rights
from jobferry.kube.client import Client
from jobferry.objects.resource import Resource
from jobferry.runtime.expiring import Expiring
from jobferry.runtime.inflight import Inflight

WITHIN: Seconds = 2.0
"""How long a mirror waits for it at most."""

AT_ONCE = 4
"""Requests in flight, besides those that bring work to the worker."""

MOST_REFERENCES = 32
"""Of one workload: what it names beyond that is not looked for."""

FOUND_FOR: Seconds = 60.0
"""How long what was there is not looked for again."""

ABSENT_FOR: Seconds = 5.0
"""How long what was not there is not looked for again: somebody may be just about to make it."""

UNSURE_FOR: Seconds = 10.0
"""How long nothing of a kind is looked for of which the worker did not tell."""

MOST_REMEMBERED = 2048
MOST_CLOSED = 64

_NAME = re.compile(r"[A-Za-z0-9]([-._:A-Za-z0-9]{0,251}[A-Za-z0-9])?")
"""What may be the name of an object; anything else is the name of none."""

_log = log.get(__name__)


class Sight(Enum):
    """What came of a look."""

    THERE = "there"
    ABSENT = "absent"
    UNSERVED = "unserved"
    """The worker does not know the kind."""


class Missing(NamedTuple):
    """Something that a worker lacks."""

    reference: Reference
    is_kind: bool = False
    """Whether it lacks all of that kind."""

    def __str__(self) -> str:
        return f"{self.reference} (no such kind there)" if self.is_kind else f"{self.reference}"


class Place(NamedTuple):
    """Where something is that is looked for."""

    resource: Resource
    namespace: str
    """Empty: it is in none."""

    name: str


class Door(NamedTuple):
    """Where we may look or not."""

    resource: Resource
    namespace: str
    """Empty: in all of them, or of what has none."""


class Looking:
    """What was seen of one worker; `on_news` is told when it is another thing that we may not look at."""

    def __init__(self, clock: Clock, on_news: Callable[[], None]) -> None:
        self.closed: tuple[Door, ...] | None = None
        """Where we may not look, as far as that was wanted; None: nothing was looked for yet."""

        self._clock = clock
        self._on_news = on_news
        self._client: Client | None = None
        self._limit = Inflight(AT_ONCE)
        self._seen = Expiring[Place, Sight](clock.monotonic, most=MOST_REMEMBERED)
        self._open = Expiring[Door, bool](clock.monotonic, most=MOST_REMEMBERED)
        self._unsure = Expiring[Resource, bool](clock.monotonic, most=MOST_REMEMBERED)
        self._refused: dict[Door, None] = {}
        self._underway: dict[Place, asyncio.Event] = {}
        self._asking = asyncio.Lock()

    async def look(
        self,
        client: Client,
        namespace: str,
        references: Iterable[Reference],
        *,
        only: Collection[str] = (),
    ) -> list[Missing]:
        """Return what a worker certainly lacks of what a workload of a namespace refers to.

        `only` are the namespaces where we have rights there, if it is not in all.
        """
        self._begin(client)
        places = dict(_places(namespace, references))
        unknown = [each for each in dict.fromkeys(places.values()) if self._is_unknown(each)]
        if unknown:
            with suppress(TimeoutError):
                async with timeout(self._clock, WITHIN), asyncio.TaskGroup() as group:
                    for place in unknown:
                        group.create_task(self._see(client, place, only))
        return [
            Missing(reference, is_kind=sight is Sight.UNSERVED)
            for reference, place in places.items()
            if (sight := self._sight(place)) not in (None, Sight.THERE)
        ]

    def _begin(self, client: Client) -> None:
        """Forget what was seen over another connection: it may have led to another cluster."""
        if client is not self._client:
            self._client = client
            for known in (self._seen, self._open, self._unsure):
                known.clear()
            self._refused.clear()

    def _sight(self, place: Place) -> Sight | None:
        return self._seen.get(place) if _NAME.fullmatch(place.name) else Sight.ABSENT

    def _is_unknown(self, place: Place) -> bool:
        return self._sight(place) is None and not self._unsure.get(place.resource)

    async def _see(self, client: Client, place: Place, only: Collection[str]) -> None:
        """Look for one thing, or wait for whoever does."""
        if (underway := self._underway.get(place)) is not None:
            await underway.wait()
            return
        if not self._is_unknown(place):
            return  # somebody has looked since we were sent
        self._underway[place] = over = asyncio.Event()
        try:
            async with self._limit.slot(0):
                await self._ask(client, place, only)
        finally:
            over.set()
            del self._underway[place]

    async def _ask(self, client: Client, place: Place, only: Collection[str]) -> None:
        door = Door(place.resource, place.namespace if only else "")
        try:
            if await self._may_look(client, door):
                sight = await _sighted(client, place)
                within = FOUND_FOR if sight is Sight.THERE else ABSENT_FOR
                self._seen.put(place, sight, within=within)
        except errors.Forbidden:
            self._note(door, is_open=False)
        except Error as error:
            _log.debug("Not looked for", what=str(place.resource), error=error)
            self._unsure.put(place.resource, True, within=UNSURE_FOR)
        except asyncio.CancelledError:  # it took too long, as a rule
            self._unsure.put(place.resource, True, within=UNSURE_FOR)
            raise

    async def _may_look(self, client: Client, door: Door) -> bool:
        """Ask the worker whether we may look there: to try it would be a refusal in its audit log."""
        async with self._asking:
            is_open = self._open.get(door)
            if is_open is None:
                resource, namespace = door
                is_open = await rights.may(client, "get", resource, namespace=namespace)
                self._note(door, is_open=is_open)
        return is_open

    def _note(self, door: Door, *, is_open: bool) -> None:
        self._open.put(door, is_open, within=optional.ASK_AGAIN_AFTER)
        if is_open:
            self._refused.pop(door, None)
        elif len(self._refused) < MOST_CLOSED:
            self._refused[door] = None
        closed = tuple(sorted(self._refused, key=str))
        if closed != self.closed:
            self.closed = closed
            self._on_news()


def _places(
    namespace: str, references: Iterable[Reference]
) -> Iterable[tuple[Reference, Place]]:
    known = ((each, referred.resource(each)) for each in references)
    found = [(each, resource) for each, resource in known if resource is not None]
    for reference, resource in found[:MOST_REFERENCES]:
        within = namespace if resource.namespaced else ""
        yield reference, Place(resource, within, reference.name)


async def _sighted(client: Client, place: Place) -> Sight:
    """Ask for the metadata of an object, in the first of the versions that the worker serves."""
    resource = place.resource
    for version in (resource.version, *referred.OLDER.get(resource.group, ())):
        its = replace(resource, version=version)
        call = calls.get(its, place.name, place.namespace or None, is_metadata=True)
        try:
            await client.send(call)
        except errors.NotFound as error:
            if error.details.get("name"):
                return Sight.ABSENT
        else:
            return Sight.THERE
    return Sight.UNSERVED
