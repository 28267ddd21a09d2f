"""How much a workload matters within its queue: the value of the PriorityClass on the hub that it names.

Anybody may name any class in a workload of which no pod is ever made on the hub. So a Queue says which ones count;
and where there is no Queue none does, as the workloads of all namespaces share one line there.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from jobferry import log
from jobferry.core.view import Policy
from jobferry.errors import Error
from jobferry.kinds.adapter import Adapter
from jobferry.kube import optional
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Freshness, Informer
from jobferry.kube.items import Head, Item
from jobferry.kube.resources import PRIORITY_CLASSES
from jobferry.objects import Obj
from jobferry.runtime import supervise

HIGHEST = 1_000_000_000
"""What API servers let people give a class; those of the system have more."""

_log = log.get(__name__)


class ClassHead(Head, frozen=True, gc=False, rename="camel"):
    """A PriorityClass."""

    value: int = 0
    global_default: bool = False


class Classes(NamedTuple):
    """All that there are."""

    values: Mapping[str, int]
    default: str = ""
    """The one of those that name none; empty: there is no such class."""


class Priority(NamedTuple):
    """What goes first, and what a workload names that does not count."""

    value: int = 0
    note: str = ""


class Priorities:
    """Knows the PriorityClasses of the hub, if it may; `on_change` is told when any workload may have another priority."""

    def __init__(self, hub: Client, on_change: Callable[[], None]) -> None:
        self._clock = hub.clock
        self._on_change = on_change
        scope = Scope(resource=PRIORITY_CLASSES)
        self._objects = Informer(
            hub, scope, ClassHead, transform=lambda _: b"", heeds_refusal=True
        )
        self._objects.listen(self._note)
        self._objects.listen_to_link(self._note_link)
        self._known: Classes | None = None
        self.settled = asyncio.Event()
        """Set once it is known which classes there are, or that this is not to be known now."""

    async def run(self) -> None:
        """Follow the classes until cancelled."""
        async with supervise.tasks("priority classes", clock=self._clock) as tasks:
            follow = partial(optional.follow, self._objects, self._clock, _warn)
            tasks.start("informer", follow)
            await self._objects.synced.wait()
            self.settled.set()
            await tasks.ended()

    def of(self, kind: Adapter, hub: Obj, policy: Policy) -> Priority:
        """Return the priority of a workload in the queue that has this policy."""
        return value(kind.priority_class(hub), self._classes(), policy)

    def _classes(self) -> Classes | None:
        if self._known is None and self._objects.synced.is_set():
            self._known = read(self._objects)
        return self._known

    def _note(self, change: Change[ClassHead]) -> None:
        before, after = change
        if before is None or after is None or _meaning(before) != _meaning(after):
            self._known = None
            self._on_change()

    def _note_link(self, link: Freshness) -> None:
        if link.trouble is not None:
            self.settled.set()


def read(found: Iterable[Item[ClassHead]]) -> Classes:
    """Put together what the classes say; of several defaults the lowest counts, as for pods."""
    values, defaults = {}, []
    for item in found:
        values[item.key.name] = item.head.value
        if item.head.global_default:
            defaults.append((item.head.value, item.key.name))
    return Classes(values, min(defaults)[1] if defaults else "")


def value(named: str, classes: Classes | None, policy: Policy) -> Priority:
    """Return the priority of a workload that names this class, or none; `classes` is None if they cannot be read."""
    name = named or (classes.default if classes else "")
    if not name:
        return Priority()
    found = _value(name, classes, policy)
    if isinstance(found, int):
        return Priority(found)
    return Priority(note=f"its PriorityClass {named} counts as 0: {found}" if named else "")


def _value(name: str, classes: Classes | None, policy: Policy) -> int | str:
    """Return what a class is worth, or why nothing."""
    if not policy.queue:
        return "it is in no Queue"
    if policy.honours is not None and name not in policy.honours:
        return "its Queue does not honour it"
    if classes is None:
        return "PriorityClasses could not be read on the hub"
    found = classes.values.get(name)
    if found is None:
        return "the hub has none of that name"
    if policy.honours is None and found > HIGHEST:
        return "its Queue does not honour those of the system"
    return found


def _meaning(item: Item[ClassHead]) -> tuple[int, bool]:
    return item.head.value, item.head.global_default


def _warn(refusal: Error) -> None:
    _log.warning("PriorityClasses cannot be read: every priority counts as 0", error=refusal)
