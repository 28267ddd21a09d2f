"""Tables as kubectl prints them: columns of plain text, as wide as what is in them."""

from collections.abc import Sequence
from dataclasses import dataclass

GAP = "   "
NOTHING = "<none>"


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `wide` ones are left out unless somebody asks for all, `ticking` ones change as time passes."""

    title: str
    wide: bool = False
    ticking: bool = False


Row = Sequence[object]
"""A cell for each column, those that are left out too."""


def text(columns: Sequence[Column], rows: Sequence[Row], *, wide: bool = False) -> str:
    """Return a table, a line for each row below one of titles."""
    return "".join(f"{line}\n" for line in lines(columns, rows, wide=wide))


def lines(columns: Sequence[Column], rows: Sequence[Row], *, wide: bool = False) -> list[str]:
    """Return the lines of a table."""
    shown = [at for at, column in enumerate(columns) if wide or not column.wide]
    cells = [[columns[at].title for at in shown]]
    cells += [[cell(row[at]) for at in shown] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        GAP.join(each.ljust(width) for each, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]


def cell(value: object) -> str:
    """Return what stands in a cell: one line that is safe to print, whoever wrote it."""
    if value is None or value == "":
        return NOTHING
    return one_line(str(value))


def one_line(words: str) -> str:
    """Return text that others wrote without what would move the cursor."""
    return " ".join("".join(c if c.isprintable() else " " for c in words).split())
