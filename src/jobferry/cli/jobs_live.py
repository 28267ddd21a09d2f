"""The list of `jobferry jobs --watch`, kept up to date: redrawn on a terminal, else a line for each change."""

import asyncio
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from jobferry.cli import absences, documents, queue_names, refusals, render, tables
from jobferry.cli.hub import Hub
from jobferry.cli.job_facts import Around
from jobferry.cli.redraw import Screen, is_terminal
from jobferry.cli.tables import Column, Row
from jobferry.clock import Seconds, sleep, timeout
from jobferry.errors import Error, Transient
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.informer import Freshness, Informer
from jobferry.kube.items import Head, Item, Key
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.workers.resource import WORKERS

REDRAWN_EVERY: Seconds = 1.0
"""Ages are in seconds."""

LEAST_PAUSE: Seconds = 0.1
"""Nobody sees more than that of a burst."""

_ONE = "metadata.name={}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is watched, and how it is shown."""

    resource: Resource
    table: Callable[[Sequence[Obj], Around], tuple[list[Column], list[Row]]]
    places: Callable[[Obj], Collection[str]]
    """The workers that have a workload which has not ended."""

    none: str
    """What is said where there is nothing."""

    document: Callable[[Obj], Obj] = lambda obj: obj
    """A workload, as programs get it."""

    records: Informer[Head] | None = None
    """The Placements of workloads that do not carry theirs."""


async def watch(
    hub: Hub, subject: Subject, names: Sequence[str], labels: str, form: str
) -> None:
    """Show the workloads that are meant until cancelled."""
    resource, records = subject.resource, subject.records
    await hub.chosen(
        resource, list(names), labels
    )  # raises what an informer would only wait for
    fields = _ONE.format(names[0]) if len(names) == 1 else ""
    informer = Informer(hub.client, hub.scope(resource, labels=labels, fields=fields), Head)
    is_table = form in ("table", "wide")
    sight = _Sight(
        await absences.read(hub) if is_table else None,
        await queue_names.read(hub) if form == "wide" else {},
    )
    view: _Redrawn | _Lines
    if is_table and is_terminal(sys.stdout):
        view = _Redrawn(hub, subject, informer, sight, names, form == "wide")
    else:
        view = _Lines(hub, subject, informer, sight, names, form)
        informer.listen(view.hear)
        informer.listen_to_link(view.hear_link)
        if records is not None:
            records.listen(view.hear_record)
    refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def fail(error: Error) -> None:
        if not refused.done():
            refused.set_exception(error)

    refusals.heed(informer, fail)
    async with supervise.tasks("jobs", clock=hub.client.clock) as tasks:
        if records is not None:
            refusals.heed(records, fail)
            tasks.start("records", records.run)
            await records.synced.wait()  # else what is placed would be said to wait
        tasks.start("informer", informer.run)
        if sight.is_allowed:
            workers = Informer(hub.client, Scope(resource=WORKERS), Head)
            workers.listen(sight.hear)
            tasks.start("workers", workers.run)
        tasks.start("view", view.run)
        await refused


class _Sight:
    """Which workers are not heard of, as it changes; nobody is told who may not read Workers."""

    def __init__(self, absent: dict[str, str] | None, queues: dict[str, str]) -> None:
        self.absent = absent or {}
        self._queues = queues
        self.is_allowed = absent is not None
        self._listeners: list[Callable[[str], None]] = []

    @property
    def around(self) -> Around:
        """What is known besides the Jobs themselves."""
        return Around(absent=self.absent, queues=self._queues)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Be told the name of each worker that is not heard of any more, or again."""
        self._listeners.append(listener)

    def hear(self, change: Change[Head]) -> None:
        """Look at a Worker that has come, changed or gone."""
        name = change.item.key.name
        now = absences.absent([change.after.object()] if change.after else ()).get(name)
        if now == self.absent.get(name):
            return
        self.absent.pop(name, None)
        if now:
            self.absent[name] = now
        for listener in self._listeners:
            listener(name)


class _Lines:
    """A line for each change of what is shown, below those before."""

    def __init__(
        self,
        hub: Hub,
        subject: Subject,
        informer: Informer[Head],
        sight: _Sight,
        names: Sequence[str],
        form: str,
    ) -> None:
        self._hub = hub
        self._subject = subject
        self._informer = informer
        self._sight = sight
        self._names = names
        sight.listen(self._hear_worker)
        self._form = form
        self._widths: list[int] = []
        self._last: dict[Key, object] = {}
        """What was last shown of each workload."""

        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Wait until nobody reads on."""
        await self._broken

    def hear(self, change: Change[Head]) -> None:
        """Print a workload that has come or changed."""
        if change.after is not None:
            self._print(change.after)
        else:
            self._last.pop(change.item.key, None)

    def hear_record(self, change: Change[Head]) -> None:
        """Print a workload that was placed, or placed anew."""
        record = change.after.object() if change.after else {}
        named = ((record.get("spec") or {}).get("workload") or {}).get("name") or ""
        item = self._informer.get(Key(change.item.key.namespace, named))
        if item is not None and item.object()["metadata"]["uid"] == change.item.key.name:
            self._print(item)

    def _hear_worker(self, name: str) -> None:
        for item in sorted(self._informer, key=lambda item: item.key):
            if name in self._subject.places(item.object()):
                self._print(item)

    def _print(self, item: Item[Head]) -> None:
        if self._names and item.key.name not in self._names:
            return
        try:
            render.text(self._text(item))
        except OSError as error:
            if not self._broken.done():
                self._broken.set_exception(error)

    def hear_link(self, link: Freshness) -> None:
        """Say that the hub is out of reach."""
        if isinstance(link.trouble, Transient) and not link.is_following:
            render.note(f"{link.trouble}; trying again")

    def _text(self, item: Item[Head]) -> str:
        """Return what is to be said of a workload; nothing if nothing that is shown has changed."""
        if self._form in ("table", "wide"):
            return self._line(item)
        resource, told = self._subject.resource, self._subject.document(item.object())
        text = documents.text(self._form, resource, [told], lambda _: "", is_one=True)
        # A name is printed for every change, as kubectl does: scripts wait for it.
        return text if self._form == "name" or self._is_news(item.key, text) else ""

    def _line(self, item: Item[Head]) -> str:
        columns, rows = self._subject.table([item.object()], self._sight.around)
        is_first, cells = not self._widths, [tables.cell(each) for each in rows[0]]
        is_wide = self._form == "wide"
        shown = [at for at, column in enumerate(columns) if is_wide or not column.wide]
        if not self._is_news(item.key, [cells[at] for at in shown if not columns[at].ticking]):
            return ""
        if is_first:
            self._widths = [len(column.title) for column in columns]
        # Columns grow with what comes, and never shrink again.
        self._widths = [max(pair) for pair in zip(self._widths, map(len, cells), strict=True)]
        lines = [[column.title for column in columns], cells] if is_first else [cells]
        return "".join(
            tables.GAP.join(line[at].ljust(self._widths[at]) for at in shown).rstrip() + "\n"
            for line in lines
        )

    def _is_news(self, key: Key, shown: object) -> bool:
        is_same = self._last.get(key) == shown
        self._last[key] = shown
        return not is_same


class _Redrawn:
    """The whole list, drawn over the one before."""

    def __init__(
        self,
        hub: Hub,
        subject: Subject,
        informer: Informer[Head],
        sight: _Sight,
        names: Sequence[str],
        wide: bool,
    ) -> None:
        self._hub = hub
        self._subject = subject
        self._informer = informer
        self._sight = sight
        self._names = names
        self._wide = wide
        self._screen = Screen(sys.stdout)

    async def run(self) -> None:
        """Draw again whenever something has changed, and every second."""
        await self._informer.synced.wait()
        changed = asyncio.Event()
        self._informer.listen(lambda _: changed.set())
        self._informer.listen_to_link(lambda _: changed.set())
        self._sight.listen(lambda _: changed.set())
        if self._subject.records is not None:
            self._subject.records.listen(lambda _: changed.set())
        clock = self._hub.client.clock
        while True:
            changed.clear()
            self._screen.draw(self._lines())
            await sleep(clock, LEAST_PAUSE)
            with suppress(TimeoutError):
                async with timeout(clock, REDRAWN_EVERY - LEAST_PAUSE):
                    await changed.wait()

    def _lines(self) -> list[str]:
        found = [
            item.object()
            for item in sorted(self._informer, key=lambda item: item.key)
            if not self._names or item.key.name in self._names
        ]
        trouble = self._informer.freshness().trouble
        told = [f"{tables.one_line(str(trouble))}; trying again"] if trouble else []
        if not found:
            return [self._subject.none, *told]
        table = self._subject.table(found, self._sight.around)
        return [*tables.lines(*table, wide=self._wide), *told]
