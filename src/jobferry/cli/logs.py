"""`jobferry logs`: what the pods of a Job print, on whichever worker they run.

The hub has no way into a worker's pods, so they are read with the reader's own rights: by the context of the
same kubeconfig that is named as the Worker, as `jobferry up` writes it.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from jobferry.cli import log_lines, options
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, NotThere, run
from jobferry.cli.job_facts import is_delegated
from jobferry.core import placement
from jobferry.core.marks import ATTEMPT, HUB_UID
from jobferry.core.placement import Placement
from jobferry.errors import BadInput
from jobferry.kube.access import Access
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.objects import Obj

_ABOUT = """Prints what the pods of a Job have printed, each line after the name of its pod if there are several.

It reads them by the context of your kubeconfig that has the name of the Worker, as `jobferry up` writes it."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the pods of a Job are."""

    client: Client
    namespace: str
    job: str
    """Its name there."""


def main(arguments: Sequence[str]) -> None:
    """Print logs."""
    parser = Parser("jobferry logs", "JOB [option ...]", _ABOUT)
    add = parser.add_argument
    completes(add("job", metavar="JOB", help="the name of a Job"), "jobs")
    add("-f", "--follow", action="store_true", help="go on until the Job has ended, or Ctrl-C")
    add("--tail", type=int, metavar="N", help="only the last lines of each pod")
    add("--timestamps", action="store_true", help="say of each line when it was printed")
    options.add_where(parser)
    given = parser.parse_args(arguments)
    if given.tail is not None and given.tail < 0:
        raise BadInput(f"--tail: expected a number of lines, found {given.tail}")
    wanted = log_lines.Wanted(tail=given.tail, timestamps=given.timestamps)

    async def show(hub: Hub) -> None:
        job = await hub.job(given.job)
        async with AsyncExitStack() as stack:
            source = await _source(hub, job, stack)
            if given.follow:
                await log_lines.follow(source.client, source.namespace, source.job, wanted)
            else:
                await log_lines.show(source.client, source.namespace, source.job, wanted)

    run(options.where(given), show)


async def _source(hub: Hub, job: Obj, stack: AsyncExitStack) -> Source:
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    if not is_delegated(job):
        return Source(hub.client, namespace, name)
    placed = placement.read(job)
    if placed is None:
        raise NotThere(
            f"Job {name} has no logs yet: it waits for a worker",
            hint=f"`jobferry why {name}` tells what for.",
        )
    worker = placed.shards[0].worker
    client = connect(_access(hub, worker, name), name=worker, clock=hub.client.clock)
    await stack.enter_async_context(client)
    await _check_cluster(client, placed)
    return Source(client, namespace, await _mirror(client, job, placed))


def _access(hub: Hub, worker: str, job: str) -> Access:
    config = hub.found.config
    if config is None or worker not in config.contexts:
        label = config.label if config else "this pod"
        raise BadInput(
            f"Job {job} runs on worker {worker}, and {label} has no context of that name",
            hint=f"Add a context {worker} that may read pods there, or use `kubectl logs` on that cluster.",
        )
    return config.access(worker, clock=hub.client.clock)


async def _check_cluster(client: Client, placed: Placement) -> None:
    """Raise `BadInput` if a context has the name of a worker, and is another cluster."""
    worker, expected = placed.shards[0].worker, placed.shards[0].cluster
    found = (await client.get(NAMESPACES, "kube-system"))["metadata"]["uid"]
    if found != expected:
        raise BadInput(
            f"context {worker} is not the cluster of worker {worker}",
            hint=f"The UID of kube-system there is {found}; the Job was placed on {expected}.",
        )


async def _mirror(client: Client, job: Obj, placed: Placement) -> str:
    """Find the mirror by what it is marked with: where the hub is its own worker, it has another name."""
    meta = job["metadata"]
    labels = f"{HUB_UID}={meta['uid']},{ATTEMPT}={placed.attempt}"
    scope = Scope(resource=JOBS, namespace=meta["namespace"], labels=labels)
    found = (await client.list(scope)).items
    if not found:
        raise NotThere(
            f"Job {meta['name']} has no mirror on {placed.shards[0].worker} any more, or none yet",
            hint=f"`jobferry describe {meta['name']}` tells what became of it.",
        )
    return str(found[0]["metadata"]["name"])
