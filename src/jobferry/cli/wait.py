"""`jobferry wait`: waits until Jobs have ended, or have got as far as somebody wants."""

from collections.abc import Sequence

from jobferry.cli import options, render, silence, waiting
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.kube.resources import JOBS

_ABOUT = """Waits until all of the Jobs have ended. Exit code 0 if all are complete, 3 if one has failed, 4 if the time
was over before."""


def main(arguments: Sequence[str]) -> None:
    """Wait for Jobs."""
    parser = Parser("jobferry wait", "JOB ... [option ...]", _ABOUT)
    add = parser.add_argument
    completes(add("jobs", nargs="+", metavar="JOB", help="the name of a Job"), "jobs")
    add(
        "--for",
        dest="goal",
        choices=waiting.GOALS,
        default="ended",
        metavar="STATE",
        help=f"{', '.join(waiting.GOALS)}. Default: ended.",
    )
    add("--timeout", metavar="TIME", help="how long at most, such as 90s or 1h; else for ever")
    options.add_kind(parser)
    options.add_where(parser)
    given = parser.parse_args(arguments)
    limit = waiting.limit(given.timeout)

    async def wait(hub: Hub) -> None:
        if given.kind:
            from jobferry.cli import other_kinds  # noqa: PLC0415 (Jobs alone are there sooner)

            await other_kinds.wait(hub, given, limit)
            return
        found = await hub.chosen(JOBS, list(dict.fromkeys(given.jobs)), "")
        if any(not waiting.GOALS[given.goal].holds(job) for job in found):
            await silence.warn(hub)
        await waiting.wait(hub, found, waiting.GOALS[given.goal], limit, render.line)

    run(options.where(given), wait)
