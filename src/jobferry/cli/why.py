"""`jobferry why`: says of each worker whether a Job fits there, and of the Job where it is in line."""

import os
from collections.abc import Sequence
from dataclasses import asdict

from jobferry import settings
from jobferry.cli import documents, job_events, options, render, silence, tables
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.explanation import Explanation, explain, is_claimed
from jobferry.cli.hub import Hub, kind_missing, run
from jobferry.cli.job_facts import manager
from jobferry.cli.picture import Objects, Picture, read
from jobferry.cli.tables import Column
from jobferry.errors import BadInput
from jobferry.kube import errors
from jobferry.objects import Obj
from jobferry.settings import Settings
from jobferry.workers.resource import WORKERS

_ABOUT = """Tells why a Job waits, or why it is where it is: where it is in line among those that wait, and
of each Worker whether it could take the Job now, by the very rules of the dispatcher."""

COLUMNS = (Column("WORKER"), Column("FITS"), Column("REASON"))


def main(arguments: Sequence[str]) -> None:
    """Explain a Job."""
    parser = Parser("jobferry why", "JOB [option ...]", _ABOUT)
    completes(parser.add_argument("job", metavar="JOB", help="the name of a Job"), "jobs")
    options.add_output(parser, options.DATA_FORMATS)
    options.add_kind(parser)
    options.add_where(parser)
    given = parser.parse_args(arguments)
    chosen = settings.load(environ=os.environ)

    async def show(hub: Hub) -> None:
        if given.kind:
            from jobferry.cli import other_kinds  # noqa: PLC0415 (it needs this module)

            await other_kinds.show_why(hub, given.job, given, chosen)
            return
        job = await hub.job(given.job)
        refuse_undelegated(job, chosen)
        found = explain(
            job,
            Picture(
                hub.client,
                chosen,
                await _objects(hub, chosen),
                now := hub.client.clock.now(),
                but=job["metadata"]["uid"],
            ),
            await job_events.read(hub.client, job),
            await silence.read(hub, chosen),
            now,
        )
        is_table = given.output == "table"
        render.text(text(found) if is_table else documents.data(given.output, data(found)))

    run(options.where(given), show)


def refuse_undelegated(job: Obj, chosen: Settings) -> None:
    """Raise `BadInput` for a Job that is none of ours."""
    if is_claimed(job, chosen):
        return
    name, ours = manager(job), ", ".join(chosen.managed_by)
    if name:
        raise BadInput(
            f"Job {job['metadata']['name']} is not delegated to us: its managedBy is {name}",
            hint=f"Ours is {ours}; JOBFERRY_MANAGED_BY says otherwise, as for the dispatcher.",
        )
    raise BadInput(
        f"Job {job['metadata']['name']} is not delegated: the hub itself runs it",
        hint=f"A Job with spec.managedBy: {ours} goes to a worker; it cannot be added later.",
    )


def text(found: Explanation) -> str:
    """Return an explanation to be read."""
    rows = [
        (each.worker, _fits(each.fits, each.worker == found.choice), each.reason or "-")
        for each in found.opinions
    ]
    said = "".join(f"{sentence}\n" for sentence in found.says)
    return f"{said}\n{tables.text(COLUMNS, rows)}" if rows else said


def data(found: Explanation) -> Obj:
    """Return an explanation for programs."""
    turn = found.turn
    return {
        "says": list(found.says),
        "line": {"place": turn.place, "length": turn.length} if turn else None,
        "choice": found.choice,
        "workers": [asdict(each) for each in found.opinions],
    }


def _fits(fits: bool, is_choice: bool) -> str:
    if not fits:
        return "no"
    return "yes, first" if is_choice else "yes"


async def _objects(hub: Hub, chosen: Settings) -> Objects:
    try:
        return await read(hub.client, chosen)
    except errors.NotFound:
        raise kind_missing(WORKERS) from None
