"""`jobferry logs`: what the pods of a Job, or of a workload of another kind, print, on whichever worker they run.

The hub has no way into a worker's pods, so they are read with the reader's own rights: by the context of the
same kubeconfig that is named as the Worker, as `jobferry up` writes it.
"""

import os
from argparse import Namespace
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress

from jobferry import settings
from jobferry.cli import log_lines, options
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, NotThere, run
from jobferry.cli.job_facts import HUB, is_delegated
from jobferry.cli.log_lines import Source
from jobferry.cli.workload_facts import Workload
from jobferry.core.marks import ATTEMPT, HUB_UID
from jobferry.core.placement import Placement
from jobferry.errors import BadInput
from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kube import errors
from jobferry.kube.access import Access
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.objects import Obj
from jobferry.workers.removal import is_mirror

_ABOUT = """Prints what the pods of a Job have printed, each line after the name of its pod if there are several, and of
its container if the pod has several.

It reads them by the context of your kubeconfig that has the name of the Worker, as `jobferry up` writes it."""


def main(arguments: Sequence[str]) -> None:
    """Print logs."""
    parser = Parser("jobferry logs", "JOB [option ...]", _ABOUT)
    add = parser.add_argument
    completes(add("job", metavar="JOB", help="the name of a Job"), "jobs")
    add("-f", "--follow", action="store_true", help="go on until the Job has ended, or Ctrl-C")
    add("--tail", type=int, metavar="N", help="only the last lines of each container")
    add("--timestamps", action="store_true", help="say of each line when it was printed")
    options.add_kind(parser)
    options.add_where(parser)
    given = parser.parse_args(arguments)
    if given.tail is not None and given.tail < 0:
        raise BadInput(f"--tail: expected a number of lines, found {given.tail}")
    wanted = log_lines.Wanted(tail=given.tail, timestamps=given.timestamps)

    async def show(hub: Hub) -> None:
        seen = await _workload(hub, given)
        async with AsyncExitStack() as stack:
            source = await _source(hub, seen, stack)
            if given.follow:
                await log_lines.follow(source, wanted)
            else:
                await log_lines.show(source, wanted)

    run(options.where(given), show)


async def _workload(hub: Hub, given: Namespace) -> Workload:
    if given.kind is None:
        return Workload(DelegatedJob(Context(frozenset())), await hub.job(given.job))
    from jobferry.cli import other_kinds  # noqa: PLC0415 (Jobs alone are there sooner)

    its = other_kinds.kind(given.kind, settings.load(environ=os.environ))
    return await other_kinds.one(hub, its, given.job)


async def _source(hub: Hub, seen: Workload, stack: AsyncExitStack) -> Source:
    if not seen.kind.own_pods(seen.obj):
        raise BadInput(
            f"it is not known which pods belong to a {seen.kind.resource.kind}",
            hint="`podLabel` in customKinds says it: docs/kinds.md has an example.",
        )
    if _runs_on_hub(seen):
        return Source(hub.client, seen.kind, seen.obj)
    placed = seen.placed
    if placed is None:
        raise NotThere(
            f"{seen.title} has no logs yet: it waits for a worker",
            hint=f"`jobferry why {seen.argument}` tells what for.",
        )
    worker = placed.shards[0].worker
    client = connect(_access(hub, worker, seen), name=worker, clock=hub.client.clock)
    await stack.enter_async_context(client)
    await _check_cluster(client, seen, placed)
    return Source(client, seen.kind, await _mirror(client, seen, placed))


def _runs_on_hub(seen: Workload) -> bool:
    """Tell whether its pods are on the hub; raises `BadInput` if somebody else has them."""
    if seen.kind.resource == JOBS:
        return not is_delegated(seen.obj)
    if seen.placed is None and seen.worker != HUB:
        from jobferry.cli import undelegated  # noqa: PLC0415 (this is seldom so)

        undelegated.refuse(seen)
    return seen.worker == HUB


def _access(hub: Hub, worker: str, seen: Workload) -> Access:
    config = hub.found.config
    if config is None or worker not in config.contexts:
        label = config.label if config else "this pod"
        raise BadInput(
            f"{seen.title} runs on worker {worker}, and {label} has no context of that name",
            hint=f"Add a context {worker} that may read pods there, or use `kubectl logs` on that cluster.",
        )
    return config.access(worker, clock=hub.client.clock)


async def _check_cluster(client: Client, seen: Workload, placed: Placement) -> None:
    """Raise `BadInput` if a context has the name of a worker, and is another cluster."""
    worker, expected = placed.shards[0].worker, placed.shards[0].cluster
    found = (await client.get(NAMESPACES, "kube-system"))["metadata"]["uid"]
    if found != expected:
        raise BadInput(
            f"context {worker} is not the cluster of worker {worker}",
            hint=f"The UID of kube-system there is {found}; {seen.title} was placed on {expected}.",
        )


async def _mirror(client: Client, seen: Workload, placed: Placement) -> Obj:
    """Find the mirror by what it is marked with: where the hub is its own worker, it has another name."""
    meta, found = seen.obj["metadata"], list[Obj]()
    labels = f"{HUB_UID}={meta['uid']},{ATTEMPT}={placed.attempt}"
    scope = Scope(resource=seen.kind.resource, namespace=meta["namespace"], labels=labels)
    with suppress(errors.NotFound):  # it does not serve the kind any more
        found = [each for each in (await client.list(scope)).items if is_mirror(each)]
    if not found:
        raise NotThere(
            f"{seen.title} has no mirror on {placed.shards[0].worker} any more, or none yet",
            hint=f"`jobferry describe {seen.argument}` tells what became of it.",
        )
    return found[0]
