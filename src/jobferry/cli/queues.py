"""`jobferry queues`: the Queues of a hub, and how many Jobs wait in each."""

from collections.abc import Sequence
from datetime import datetime

from jobferry.cli import documents, options, render, tables
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.cli.tables import Column
from jobferry.dispatch.queues import QUEUES
from jobferry.errors import BadInput
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
    names = parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    completes(names, "queues")
    options.add_output(parser)
    options.add_selector(parser)
    options.add_where(parser, namespaced=False)
    given = parser.parse_args(arguments)
    labels = options.selector(given)
    if given.names and labels:
        raise BadInput("names do not go with -l", hint="Leave out the names.")

    async def show(hub: Hub) -> None:
        found = await hub.chosen(QUEUES, given.names, labels)
        if not found and given.output in ("table", "wide"):
            render.note("No Queues: every Job may run on every Worker.")
            return
        now = hub.client.clock.now()

        def table(wide: bool) -> str:
            return tables.text(COLUMNS, [row(each, now) for each in found], wide=wide)

        is_one = len(given.names) == 1
        render.text(documents.text(given.output, QUEUES, found, table, is_one=is_one))

    run(options.where(given), show)


def row(queue: Obj, now: datetime) -> tables.Row:
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
