"""Lists the objects of a kind that a hub has, all, or those that are chosen by name or label."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from jobferry.cli import documents, options, render, tables
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.hub import Hub, run
from jobferry.cli.tables import Column, Row
from jobferry.errors import BadInput
from jobferry.objects import Obj
from jobferry.objects.resource import Resource


@dataclass(frozen=True, slots=True)
class Listing:
    """What is listed, and how it is shown; `none` is said where there is nothing."""

    resource: Resource
    columns: Sequence[Column]
    row: Callable[[Obj, datetime], Row]
    none: str

    def add_arguments(self, parser: Parser) -> None:
        """Let people say which ones, how they are to be shown, and of which hub."""
        names = parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
        completes(names, self.resource.plural)
        options.add_output(parser)
        options.add_selector(parser)
        options.add_where(parser, namespaced=False)

    def print(self, given: Namespace) -> None:
        """Show those that are asked for."""
        labels = options.selector(given)
        if given.names and labels:
            raise BadInput("names do not go with -l", hint="Leave out the names.")

        async def show(hub: Hub) -> None:
            found = await hub.chosen(self.resource, given.names, labels)
            if not found and given.output in ("table", "wide"):
                render.note(self.none)
                return
            rows = [self.row(each, hub.client.clock.now()) for each in found]

            def table(wide: bool) -> str:
                return tables.text(self.columns, rows, wide=wide)

            is_one = len(given.names) == 1
            render.text(
                documents.text(given.output, self.resource, found, table, is_one=is_one)
            )

        run(options.where(given), show)
