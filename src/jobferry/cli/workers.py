"""`jobferry workers`: the Workers of a hub, and what can be done about them."""

from collections.abc import Sequence
from datetime import datetime
from importlib import import_module

from jobferry.cli import documents, options, render, tables
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.cli.tables import Column
from jobferry.errors import BadInput
from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj, conditions
from jobferry.workers.resource import WORKERS

SUBCOMMANDS = {
    "list": "list Workers; the same as no subcommand",
    "add": "make a Worker from a context of your kubeconfig",
    "remove": "take the work away from a Worker, and delete it",
    "drain": "give a Worker no new work",
    "undrain": "give it work again",
    "test": "try whether a Worker can be reached, and what it lets us do",
}
"""Each but the first is a module named worker_…, with a function `main`."""

_ABOUT = """Lists the Workers of a hub: the clusters that run its Jobs.

docs/workers.md says what each REASON means, and what to do about it."""

COLUMNS = (
    Column("NAME"),
    Column("READY"),
    Column("REASON"),
    Column("SINCE"),
    Column("VERSION"),
    Column("MIRRORS"),
    Column("ACTIVE"),
    Column("AGE"),
    Column("DRAIN", wide=True),
    Column("CLUSTER", wide=True),
    Column("MESSAGE", wide=True),
)


def main(arguments: Sequence[str]) -> None:
    """List Workers, or do what a subcommand says."""
    first, *rest = arguments or [""]
    if first in SUBCOMMANDS and first != "list":
        import_module(f"jobferry.cli.worker_{first}").main(rest)
    else:
        _list(rest if first == "list" else arguments)


def parser() -> Parser:
    """Return what reads the arguments of the list."""
    listing = "".join(f"  {name:<10}{summary}\n" for name, summary in SUBCOMMANDS.items())
    parser = Parser(
        "jobferry workers",
        "[SUBCOMMAND] [NAME ...] [option ...]",
        _ABOUT,
        epilog=f"subcommands:\n{listing}",
    )
    names = parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    completes(names, "workers")
    options.add_output(parser)
    options.add_selector(parser)
    options.add_where(parser, namespaced=False)
    return parser


def _list(arguments: Sequence[str]) -> None:
    given = parser().parse_args(arguments)
    labels = options.selector(given)
    if given.names and labels:
        raise BadInput("names do not go with -l", hint="Leave out the names.")

    async def show(hub: Hub) -> None:
        found = await hub.chosen(WORKERS, given.names, labels)
        if not found and given.output in ("table", "wide"):
            render.note(
                "No Workers. `jobferry workers add NAME --from-context CONTEXT` makes one."
            )
            return
        now = hub.client.clock.now()

        def table(wide: bool) -> str:
            return tables.text(COLUMNS, [row(each, now) for each in found], wide=wide)

        is_one = len(given.names) == 1
        render.text(documents.text(given.output, WORKERS, found, table, is_one=is_one))

    run(options.where(given), show)


def row(worker: Obj, now: datetime) -> tables.Row:
    """Return the row that shows a Worker."""
    meta, status = worker["metadata"], worker.get("status") or {}
    ready = conditions.find(status.get("conditions"), "Ready") or {}
    since = ready.get("lastTransitionTime")
    return [
        meta["name"],
        ready.get("status") or "Unknown",
        ready.get("reason") or "NeverSeen",
        durations.since(since, now) if since else "",
        status.get("serverVersion"),
        status.get("mirrors", ""),
        status.get("active", ""),
        durations.since(meta.get("creationTimestamp"), now),
        worker["spec"].get("drain") or "None",
        status.get("clusterUID"),
        ready.get("message") or "No dispatcher has looked at it yet.",
    ]
