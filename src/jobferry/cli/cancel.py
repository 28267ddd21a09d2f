"""`jobferry cancel`: stops Jobs and deletes them."""

import os
from collections.abc import Collection, Sequence

from jobferry import settings
from jobferry.cli import absences, options, render, silence
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.cli.job_facts import is_delegated, manager
from jobferry.core import placement
from jobferry.errors import BadInput
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.settings import Settings

_ABOUT = """Stops Jobs: deletes them on the hub, and so their mirrors and pods on the workers. What they have done is
done; their status and logs are gone."""


def main(arguments: Sequence[str]) -> None:
    """Delete Jobs."""
    parser = Parser("jobferry cancel", "JOB ... [option ...]", _ABOUT)
    names = parser.add_argument("jobs", nargs="+", metavar="JOB", help="the name of a Job")
    completes(names, "jobs")
    options.add_kind(parser)
    options.add_where(parser)
    given = parser.parse_args(arguments)
    chosen = settings.load(environ=os.environ)

    async def cancel(hub: Hub) -> None:
        if given.kind:
            from jobferry.cli import cancel_others  # noqa: PLC0415 (Jobs alone are there sooner)

            await cancel_others.cancel(hub, given, chosen)
            return
        # All are looked at before the first is deleted: a wrong name leaves nothing half done.
        found = await hub.chosen(JOBS, list(dict.fromkeys(given.jobs)), "")
        for job in found:
            refuse_undelegated(job, chosen)
        is_silent = await silence.warn(hub)
        absent = await absences.read(hub) or {}
        for job in found:
            meta = job["metadata"]
            await hub.client.delete(
                JOBS, meta["name"], hub.namespace, propagation="Background", uid=meta["uid"]
            )
            render.line(sentence(job, absent, is_silent))

    run(options.where(given), cancel)


def refuse_undelegated(job: Obj, chosen: Settings) -> None:
    """Raise `BadInput` for a Job that is none of ours."""
    if not is_delegated(job) and manager(job) not in chosen.managed_by:
        name = job["metadata"]["name"]
        raise BadInput(
            f"Job {name} is not delegated: it does not run on a worker",
            hint=f"`kubectl delete job {name}` deletes it all the same.",
        )


def sentence(job: Obj, absent: Collection[str] = (), is_silent: bool = False) -> str:
    """Say what becomes of a Job that was cancelled, with workers out of reach, or without a dispatcher."""
    placed = placement.read(job)
    workers = [each.worker for each in placed.shards] if placed else []
    return outcome(job["metadata"]["name"], workers, absent, is_silent)


def outcome(
    name: str, workers: Sequence[str], absent: Collection[str] = (), is_silent: bool = False
) -> str:
    """Say what becomes of a workload of any kind that was cancelled on these workers."""
    if not workers:
        return f"{name} is cancelled: it was deleted before it was placed on a worker"
    missed = [each for each in workers if each in absent]
    waits = ["a dispatcher runs"] if is_silent else []
    waits += [f"{', '.join(missed)} can be reached"] if missed else []
    once, where = f" as soon as {' and '.join(waits)}" if waits else "", ",".join(workers)
    return (
        f"{name} is cancelled: it was deleted, and its mirror and pods on {where} go, too{once}"
    )
