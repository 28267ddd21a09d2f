"""Lines on a terminal that are drawn again and again in the same place."""

import os
import shutil
from collections.abc import Sequence
from typing import TextIO

from jobferry.cli import render

_UP = "\x1b[{}A"
_CLEAR_BELOW = "\x1b[J"


def is_terminal(stream: TextIO) -> bool:
    """Tell whether a stream leads to a terminal on which the cursor can be moved."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


class Screen:
    """Draws over what it has drawn before."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn = 0

    def draw(self, lines: Sequence[str]) -> None:
        """Draw lines in the place of those before; what does not fit is left out, and said to be."""
        size = shutil.get_terminal_size()
        shown = fit(lines, size.columns, size.lines)
        up = _UP.format(self._drawn) if self._drawn else ""
        self._drawn = len(shown)
        render.text(f"{up}\r{_CLEAR_BELOW}" + "".join(f"{line}\n" for line in shown))


def fit(lines: Sequence[str], columns: int, rows: int) -> list[str]:
    """Return what fits on a screen, whose last row stays free for the cursor."""
    room = max(rows - 1, 2)
    shown = list(lines)
    if len(shown) > room:
        left_out = len(shown) - room + 1
        shown = [*shown[: room - 1], f"and {left_out} more"]
    return [line[:columns] for line in shown]
