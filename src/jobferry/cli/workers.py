"""`jobferry workers`: the Workers of a hub, and what can be done about them."""

from collections.abc import Sequence
from datetime import datetime
from importlib import import_module

from jobferry.cli.arguments import Parser
from jobferry.cli.listing import Listing
from jobferry.cli.tables import Column, Row
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
        given = parser().parse_args(rest if first == "list" else arguments)
        _listing().print(given)


def parser() -> Parser:
    """Return what reads the arguments of the list."""
    listing = "".join(f"  {name:<10}{summary}\n" for name, summary in SUBCOMMANDS.items())
    parser = Parser(
        "jobferry workers",
        "[SUBCOMMAND] [NAME ...] [option ...]",
        _ABOUT,
        epilog=f"subcommands:\n{listing}",
    )
    _listing().add_arguments(parser)
    return parser


def _listing() -> Listing:
    none = "No Workers. `jobferry workers add NAME --from-context CONTEXT` makes one."
    return Listing(WORKERS, COLUMNS, row, none=none)


def row(worker: Obj, now: datetime) -> Row:
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
        _message(status),
    ]


def _message(status: Obj) -> str:
    """Say how it stands with a Worker: one that takes work may not show us all of it."""
    connected, ready = (
        conditions.find(status.get("conditions"), each) or {} for each in ("Connected", "Ready")
    )
    said = [ready.get("message") or "No dispatcher has looked at it yet."]
    if connected.get("reason") not in (None, "Connected", ready.get("reason")):
        said.append(str(connected.get("message")))
    return " ".join(said)
