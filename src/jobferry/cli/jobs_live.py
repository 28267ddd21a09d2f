"""The list of `jobferry jobs --watch`, kept up to date: redrawn on a terminal, else a line for each change."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress

from jobferry.cli import documents, jobs, refusals, render, tables
from jobferry.cli.hub import Hub
from jobferry.cli.redraw import Screen, is_terminal
from jobferry.clock import Seconds, sleep, timeout
from jobferry.errors import Error, Transient
from jobferry.kube.cache import Change
from jobferry.kube.informer import Freshness, Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.runtime import supervise

REDRAWN_EVERY: Seconds = 1.0
"""Ages are in seconds."""

LEAST_PAUSE: Seconds = 0.1
"""Nobody sees more than that of a burst."""

_ONE = "metadata.name={}"


async def watch(hub: Hub, names: Sequence[str], labels: str, form: str) -> None:
    """Show the Jobs that are meant until cancelled."""
    await hub.chosen(JOBS, list(names), labels)  # raises what an informer would only wait for
    fields = _ONE.format(names[0]) if len(names) == 1 else ""
    informer = Informer(hub.client, hub.scope(JOBS, labels=labels, fields=fields), Head)
    is_table = form in ("table", "wide")
    view: _Redrawn | _Lines
    if is_table and is_terminal(sys.stdout):
        view = _Redrawn(hub, informer, names, form == "wide")
    else:
        view = _Lines(hub, names, form)
        informer.listen(view.hear)
        informer.listen_to_link(view.hear_link)
    refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def fail(error: Error) -> None:
        if not refused.done():
            refused.set_exception(error)

    refusals.heed(informer, fail)
    async with supervise.tasks("jobs", clock=hub.client.clock) as tasks:
        tasks.start("informer", informer.run)
        tasks.start("view", view.run)
        await refused


class _Lines:
    """A line for each change, below those before."""

    def __init__(self, hub: Hub, names: Sequence[str], form: str) -> None:
        self._hub = hub
        self._names = names
        self._form = form
        self._widths: list[int] = []
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Wait until nobody reads on."""
        await self._broken

    def hear(self, change: Change[Head]) -> None:
        """Print a Job that has come or changed."""
        if change.after is None or (self._names and change.item.key.name not in self._names):
            return
        try:
            render.text(self._text(change.after.object()))
        except OSError as error:
            if not self._broken.done():
                self._broken.set_exception(error)

    def hear_link(self, link: Freshness) -> None:
        """Say that the hub is out of reach."""
        if isinstance(link.trouble, Transient) and not link.is_following:
            render.note(f"{link.trouble}; trying again")

    def _text(self, job: Obj) -> str:
        if self._form not in ("table", "wide"):
            return documents.text(self._form, JOBS, [job], lambda _: "", is_one=True)
        wide, everywhere = self._form == "wide", self._hub.where.everywhere
        columns, rows = jobs.table([job], self._hub.client.clock.now(), everywhere)
        is_first, cells = not self._widths, [tables.cell(each) for each in rows[0]]
        if is_first:
            self._widths = [len(column.title) for column in columns]
        # Columns grow with what comes, and never shrink again.
        self._widths = [max(pair) for pair in zip(self._widths, map(len, cells), strict=True)]
        lines = [[column.title for column in columns], cells] if is_first else [cells]
        shown = [at for at, column in enumerate(columns) if wide or not column.wide]
        return "".join(
            tables.GAP.join(line[at].ljust(self._widths[at]) for at in shown).rstrip() + "\n"
            for line in lines
        )


class _Redrawn:
    """The whole list, drawn over the one before."""

    def __init__(
        self, hub: Hub, informer: Informer[Head], names: Sequence[str], wide: bool
    ) -> None:
        self._hub = hub
        self._informer = informer
        self._names = names
        self._wide = wide
        self._screen = Screen(sys.stdout)

    async def run(self) -> None:
        """Draw again whenever something has changed, and every second."""
        await self._informer.synced.wait()
        changed = asyncio.Event()
        self._informer.listen(lambda _: changed.set())
        self._informer.listen_to_link(lambda _: changed.set())
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
            return [jobs.none_there(self._hub, ""), *told]
        now, everywhere = self._hub.client.clock.now(), self._hub.where.everywhere
        return [*tables.lines(*jobs.table(found, now, everywhere), wide=self._wide), *told]
