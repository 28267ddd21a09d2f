"""`jobferry submit`: makes a Job that runs on a worker."""

import argparse
import asyncio
import os
from collections.abc import Sequence

from jobferry import settings
from jobferry.cli import arguments as reading
from jobferry.cli import documents, options, render, silence, submission, waiting
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, kind_missing, run
from jobferry.cli.submission import Submission
from jobferry.errors import BadInput
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.resources import JOBS
from jobferry.workers.resource import WORKERS

_ABOUT = """Makes a Job on the hub that runs on a worker, and prints its name.

  jobferry submit --name sweep --completions 10 --parallelism 3 --indexed -- python work.py

What the program needs besides (files, Secrets, volumes) must be in the image, or on the worker."""

IMAGE = "python:3"


def main(arguments: Sequence[str]) -> None:
    """Make a Job."""
    before, program = reading.words(arguments)
    given = parser().parse_args(before)
    where = options.where(given)
    job = submission.job(wanted(given, program))
    limit = waiting.limit(given.timeout)
    if given.timeout is not None and not given.wait:
        raise BadInput("--timeout goes with --wait")

    async def make(hub: Hub) -> None:
        await _refuse_no_hub(hub)
        made = await hub.client.create(
            JOBS, job, namespace=hub.namespace, field_validation="Strict"
        )
        name = made["metadata"]["name"]
        if given.output == "plain":
            render.line(name)
        else:
            render.text(documents.text(given.output, JOBS, [made], lambda _: "", is_one=True))
        try:
            await silence.warn(hub)
            if given.wait:
                await waiting.wait(hub, [made], waiting.ENDED, limit, render.note)
        except asyncio.CancelledError:  # by Ctrl-C
            again = f"`{reading.program()} wait {name}`"
            render.note(f"{name} goes on: {again} waits for it again.")
            raise

    run(where, make)


def parser() -> Parser:
    """Return what reads the arguments."""
    parser = Parser("jobferry submit", "[option ...] -- PROGRAM [ARGUMENT ...]", _ABOUT)
    add = parser.add_argument
    add("--name", metavar="NAME", help="by default made from the program's")
    add("--image", default=IMAGE, metavar="IMAGE", help=f"what it runs in. Default: {IMAGE}.")
    add(
        "--completions",
        type=_count,
        metavar="N",
        help="how many pods must succeed. Default: 1.",
    )
    add("--parallelism", type=_count, metavar="N", help="how many run at a time. Default: 1.")
    add("--indexed", action="store_true", help="give each pod a number, JOB_COMPLETION_INDEX")
    add("--backoff-limit", type=_whole, metavar="N", help="how many pods may fail. Default: 6.")
    completes(add("--queue", metavar="NAME", help="the Queue that it waits in"), "queues")
    add("--cpu", metavar="AMOUNT", help="what each pod needs, such as 500m or 2")
    add("--memory", metavar="AMOUNT", help="what each pod needs, such as 1Gi")
    add(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="set a variable, by default to what it is here; can be repeated",
    )
    add("--wait", action="store_true", help="until it has ended; exit code 3 if it failed")
    add("--timeout", metavar="TIME", help="how long to wait at most, such as 90s or 1h")
    options.add_output(parser, ("json", "yaml", "name"), default="plain")
    options.add_where(parser)
    return parser


def wanted(given: argparse.Namespace, program: Sequence[str]) -> Submission:
    """Return what a command line asks to be run; raises `BadInput`."""
    return Submission(
        program=program,
        manager=settings.load(environ=os.environ).managed_by[0],
        image=given.image,
        name=given.name,
        completions=given.completions,
        parallelism=given.parallelism,
        indexed=given.indexed,
        queue=given.queue,
        requests=submission.requests(cpu=given.cpu, memory=given.memory),
        variables=submission.variables(given.env, os.environ),
        backoff_limit=given.backoff_limit,
    )


async def _refuse_no_hub(hub: Hub) -> None:
    """Raise `BadInput` if nobody would ever run the Job, as far as we can tell."""
    try:
        await hub.client.list(Scope(resource=WORKERS), page=1)
    except errors.NotFound:
        raise kind_missing(WORKERS) from None
    except errors.Forbidden:
        pass  # who may make Jobs need not be allowed to see Workers


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, found {text!r}")
    return int(text)


def _count(text: str) -> int:
    if not _whole(text):
        raise argparse.ArgumentTypeError("expected 1 or more, found 0")
    return int(text)
