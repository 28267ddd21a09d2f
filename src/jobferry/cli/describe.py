"""`jobferry describe`: the life of a Job over all its attempts."""

from collections.abc import Mapping, Sequence
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
    timeline,
)
from jobferry.cli.arguments import Parser, completes, program
from jobferry.cli.hub import Hub, run
from jobferry.cli.job_facts import ALONE, STARTING, Around, Facts, facts, is_delegated
from jobferry.cli.timeline import Moment
from jobferry.core import placement
from jobferry.kinds.job.status import FAILED
from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj
from jobferry.objects.times import timestamp

_ABOUT = """Tells the life of a Job, over all attempts, from what the hub knows: its status, its conditions and its
events, which API servers keep for about an hour."""


def main(arguments: Sequence[str]) -> None:
    """Tell the life of a Job."""
    parser = Parser("jobferry describe", "JOB [option ...]", _ABOUT)
    completes(parser.add_argument("job", metavar="JOB", help="the name of a Job"), "jobs")
    options.add_output(parser, options.DATA_FORMATS)
    options.add_kind(parser)
    options.add_where(parser)
    given = parser.parse_args(arguments)

    async def show(hub: Hub) -> None:
        if given.kind:
            from jobferry.cli import other_kinds  # noqa: PLC0415 (Jobs alone are there sooner)

            await other_kinds.show_life(hub, given.job, given)
            return
        job = await hub.job(given.job)
        events = await job_events.read(hub.client, job)
        life = timeline.life(job, events)
        around = Around(
            absent=await absences.read(hub) or {},
            events={job["metadata"]["uid"]: events},
            queues=await queue_names.read(hub),
        )
        now = hub.client.clock.now()
        tell(summary(job, now, around), life, given.output)
        if given.output == "table" and is_delegated(job):
            await silence.warn(hub)

    run(options.where(given), show)


def summary(job: Obj, now: datetime, around: Around = ALONE) -> dict[str, str]:
    """Return what is to be said before the life."""
    seen = facts(job, now, around)
    attempt = f" (attempt {seen.attempt})" if seen.attempt else ""
    placed = placement.read(job)
    lines = {
        "Name": seen.name,
        "Namespace": seen.namespace,
        "Queue": seen.queue,
        "Status": _status(seen),
        "Worker": f"{seen.worker or 'none yet'}{attempt}",
        "Cluster": ", ".join(shard.cluster for shard in placed.shards) if placed else "",
        "Progress": seen.progress,
        "Earned": "; ".join(timeline.earned(job)),
        "Age": seen.age,
        "Ran for": seen.lasted,
    }
    if not is_delegated(job):
        lines["Delegated"] = "no"
    return {name: value for name, value in lines.items() if value}


def _status(seen: Facts) -> str:
    said = seen.state + (f": {seen.message}" if seen.message else "")
    if seen.state not in (STARTING, FAILED):
        return said
    return f"{said} (`{program()} logs {seen.name}` tells more)"


def tell(summary: Mapping[str, str], life: Sequence[Moment], form: str) -> None:
    """Print what there is to say of a workload, and its life."""
    is_table = form == "table"
    render.text(text(summary, life) if is_table else documents.data(form, data(summary, life)))


def text(summary: Mapping[str, str], life: Sequence[Moment]) -> str:
    """Return a life to be read."""
    head = [f"{name + ':':<11} {tables.one_line(value)}" for name, value in summary.items()]
    began = life[0].at
    rows = [
        f"  {timestamp(each.at)}  {_after(began, each.at):>7}  {_what(each)}" for each in life
    ]
    return "".join(f"{line}\n" for line in [*head, "Life:", *rows])


def data(summary: Mapping[str, str], life: Sequence[Moment]) -> Obj:
    """Return a life for programs."""
    return {
        **{name.lower().replace(" ", ""): value for name, value in summary.items()},
        "life": [
            {
                "at": timestamp(each.at),
                "what": each.what,
                "source": each.source,
                "often": each.often,
            }
            for each in life
        ],
    }


def _after(began: datetime, at: datetime) -> str:
    return "+" + durations.human(max(0, int((at - began).total_seconds())))


def _what(each: Moment) -> str:
    again = ""
    if each.until is not None:
        again = f" ({each.often} times, the last at {timestamp(each.until)})"
    return tables.one_line(each.what) + again
