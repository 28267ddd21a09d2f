"""`jobferry queues`: the Queues of a hub, and how many Jobs wait in each."""

from collections.abc import Sequence
from datetime import datetime

from jobferry.cli.arguments import Parser
from jobferry.cli.listing import Listing
from jobferry.cli.tables import Column, Row
from jobferry.dispatch.queues import QUEUES
from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj

_ABOUT = """Lists the Queues of a hub: whose Jobs go to which Workers, and what if. A Job that is in none may run on
every Worker. docs/queues.md says what each field means."""

COLUMNS = (
    Column("NAME"),
    Column("NAMESPACES"),
    Column("WORKERS"),
    Column("PLACEMENT"),
    Column("ONWORKERLOST"),
    Column("AGE"),
    Column("ONNOTSTARTED", wide=True),
    Column("GIVEUPAFTER", wide=True),
)


def main(arguments: Sequence[str]) -> None:
    """List Queues."""
    parser = Parser("jobferry queues", "[NAME ...] [option ...]", _ABOUT)
    listing = Listing(
        QUEUES, COLUMNS, row, none="No Queues: every Job may run on every Worker."
    )
    listing.add_arguments(parser)
    listing.print(parser.parse_args(arguments))


def row(queue: Obj, now: datetime) -> Row:
    """Return the row that shows a Queue."""
    spec = queue.get("spec") or {}
    gives_up = spec.get("giveUpAfterSeconds")
    return [
        queue["metadata"]["name"],
        ",".join(spec.get("namespaces") or ()),
        _workers(spec.get("workers") or {}),
        spec.get("placement") or "Spread",
        _action(spec.get("onWorkerLost"), "Move"),
        durations.since(queue["metadata"].get("creationTimestamp"), now),
        _action(spec.get("onNotStarted"), "Report"),
        durations.human(gives_up) if gives_up else "never",
    ]


def _workers(selection: Obj) -> str:
    """Say in few words which workers a Queue uses."""
    selector = selection.get("selector") or {}
    labels = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    rules = [
        " ".join([each["key"], each["operator"], "|".join(each.get("values") or ())]).strip()
        for each in selector.get("matchExpressions") or ()
    ]
    order = selection.get("order") or ()
    parts = [",".join([*labels, *rules]), f"order {','.join(order)}" if order else ""]
    return "; ".join(filter(None, parts)) or "all"


def _action(rule: Obj | None, default: str) -> str:
    said = rule or {}
    after = said.get("afterSeconds")
    return (said.get("action") or default) + (f" after {after}s" if after else "")
