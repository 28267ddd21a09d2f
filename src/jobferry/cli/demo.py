"""`jobferry demo`: a hub, two workers, the dispatcher, and a handful of Jobs; one of them loses its worker."""

from collections.abc import Sequence

from jobferry import log
from jobferry.cli.arguments import Parser

_ABOUT = """Starts a hub and two workers on this machine, sends Jobs to the hub, shows where they run and what comes
back, and kills a worker. Takes a quarter of a minute; everything is gone at the end."""


def main(arguments: Sequence[str]) -> None:
    """Show it."""
    given = _parser().parse_args(arguments)
    import asyncio  # noqa: PLC0415 (a wrong argument is told before the rest is loaded)

    from jobferry.cli import performance  # noqa: PLC0415

    log.configure(level="ERROR")
    asyncio.run(performance.until_told(is_real=given.real, keep=given.keep)).check()


def _parser() -> Parser:
    parser = Parser("jobferry demo", "[--keep | --real]", _ABOUT)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--keep",
        action="store_true",
        help="leave the clusters up afterwards, until Ctrl-C, and say what to try",
    )
    which.add_argument(
        "--real",
        action="store_true",
        help="on real control planes, which `make kube` builds; their pods are only played, and no worker is killed",
    )
    return parser
