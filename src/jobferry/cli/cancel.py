"""`jobferry cancel`: stops Jobs and deletes them."""

import os
from collections.abc import Sequence

from jobferry import settings
from jobferry.cli import options, render
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.cli.job_facts import is_delegated, manager, worker
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
    options.add_where(parser)
    given = parser.parse_args(arguments)
    chosen = settings.load(environ=os.environ)

    async def cancel(hub: Hub) -> None:
        # All are looked at before the first is deleted: a wrong name leaves nothing half done.
        found = await hub.chosen(JOBS, list(dict.fromkeys(given.jobs)), "")
        for job in found:
            refuse_undelegated(job, chosen)
        for job in found:
            meta = job["metadata"]
            await hub.client.delete(
                JOBS, meta["name"], hub.namespace, propagation="Background", uid=meta["uid"]
            )
            render.text(f"{sentence(job)}\n")

    run(options.where(given), cancel)


def refuse_undelegated(job: Obj, chosen: Settings) -> None:
    """Raise `BadInput` for a Job that is none of ours."""
    if not is_delegated(job) and manager(job) not in chosen.managed_by:
        name = job["metadata"]["name"]
        raise BadInput(
            f"Job {name} is not delegated: it does not run on a worker",
            hint=f"`kubectl delete job {name}` deletes it all the same.",
        )


def sentence(job: Obj) -> str:
    """Say what becomes of a Job that was cancelled."""
    name, where = job["metadata"]["name"], worker(job)
    if where is None:
        return f"{name} is cancelled: it was deleted before it was placed on a worker"
    return f"{name} is cancelled: it was deleted, and its mirror and pods on {where} go, too"
