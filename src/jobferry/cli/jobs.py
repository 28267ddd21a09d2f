"""`jobferry jobs`: the Jobs of a hub, with where each runs and how far it is."""

from collections.abc import Sequence
from datetime import datetime

from jobferry.cli import (
    absences,
    documents,
    job_events,
    options,
    queue_names,
    render,
    silence,
    tables,
)
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.cli.job_facts import ALONE, Around, facts, state
from jobferry.cli.tables import Column
from jobferry.core import placement
from jobferry.errors import BadInput
from jobferry.kinds.job.status import end
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj

_ABOUT = """Lists the Jobs of a namespace: where each runs, which attempt that is, and how far it is.

WORKER is <hub> for Jobs without managedBy, which the hub runs itself, and <none> for those that wait for
a worker: `jobferry why JOB` tells what for."""

COLUMNS = (
    Column("NAME"),
    Column("STATUS"),
    Column("WORKER"),
    Column("ATTEMPT"),
    Column("PROGRESS"),
    Column("AGE", ticking=True),
    Column("QUEUE", wide=True),
    Column("DURATION", wide=True, ticking=True),
    Column("MESSAGE", wide=True),
)


def main(arguments: Sequence[str]) -> None:
    """List Jobs, once or until it is stopped."""
    parser = Parser("jobferry jobs", "[NAME ...] [option ...]", _ABOUT)
    names = parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    completes(names, "jobs")
    options.add_output(parser)
    options.add_selector(parser)
    options.add_everywhere(parser)
    options.add_kind(parser)
    parser.add_argument(
        "-w", "--watch", action="store_true", help="keep the list up to date until Ctrl-C"
    )
    options.add_where(parser)
    given = parser.parse_args(arguments)
    where, labels = options.where(given), options.selector(given)
    if given.names and (labels or where.everywhere):
        raise BadInput("names go with neither -l nor -A", hint="Leave out the names.")

    async def show(hub: Hub) -> None:
        if given.kind:
            from jobferry.cli import other_kinds  # noqa: PLC0415 (Jobs alone are there sooner)

            await other_kinds.show_list(hub, given, labels)
            return
        is_table = given.output in ("table", "wide")
        if given.watch:
            if is_table:
                await silence.warn(hub)
            from jobferry.cli import jobs_live  # noqa: PLC0415 (a list alone is there sooner)

            watched = jobs_live.Subject(
                resource=JOBS,
                table=lambda found, around: table(
                    found, hub.client.clock.now(), where.everywhere, around
                ),
                places=places,
                none=none_there(hub, labels),
            )
            await jobs_live.watch(hub, watched, given.names, labels, given.output)
            return
        found = await hub.chosen(JOBS, given.names, labels)
        if not found and is_table:
            render.note(none_there(hub, labels))
            return
        around = await _around(hub, found, given.output == "wide") if is_table else ALONE
        now = hub.client.clock.now()

        def shown(wide: bool) -> str:
            return tables.text(*table(found, now, where.everywhere, around), wide=wide)

        is_one = len(given.names) == 1
        render.text(documents.text(given.output, JOBS, found, shown, is_one=is_one))
        if is_table:
            await silence.warn(hub)

    run(where, show)


async def _around(hub: Hub, found: Sequence[Obj], is_wide: bool) -> Around:
    """Read what else matters to Jobs; events only where one of them may have something to tell."""
    states = {state(job) for job in found}
    asks = "Placed" in states or (is_wide and "Waiting" in states)
    within = None if hub.where.everywhere else hub.namespace
    return Around(
        absent=await absences.read(hub) or {},
        events=await job_events.read_all(hub.client, within) if asks else {},
        queues=await queue_names.read(hub) if is_wide else {},
    )


def table(
    jobs: Sequence[Obj], now: datetime, has_namespace: bool, around: Around = ALONE
) -> tuple[list[Column], list[tables.Row]]:
    """Return the columns and the rows that show some Jobs."""
    columns = ([Column("NAMESPACE")] if has_namespace else []) + [*COLUMNS]
    return columns, [row(job, now, has_namespace, around) for job in jobs]


def row(job: Obj, now: datetime, has_namespace: bool, around: Around = ALONE) -> tables.Row:
    """Return the row that shows a Job."""
    seen = facts(job, now, around)
    cells = [seen.name, seen.state, seen.worker, seen.attempt or "", seen.progress, seen.age]
    more = [seen.queue, seen.lasted, seen.message]
    return [*([seen.namespace] if has_namespace else []), *cells, *more]


def places(job: Obj) -> list[str]:
    """Name the workers that have a Job which has not ended."""
    placed = placement.read(job)
    has_ended = end(job.get("status") or {}) is not None
    return [] if placed is None or has_ended else [each.worker for each in placed.shards]


def none_there(hub: Hub, labels: str, kind: str = "Job") -> str:
    """Say that nothing was found."""
    where = "in any namespace" if hub.where.everywhere else f"in namespace {hub.namespace}"
    return f"No {kind}s {'with these labels ' if labels else ''}{where}."
