"""Figures in columns."""

from collections.abc import Sequence
from math import ceil
from statistics import median


def cell(values: Sequence[float]) -> str:
    """Show a median, and the lowest and highest if they differ from it."""
    middle, low, high = map(number, (median(values), min(values), max(values)))
    return middle if low == high else f"{middle} ({low}-{high})"


def number(value: float) -> str:
    """Show three digits, or as many as there are before the point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of all values do not exceed."""
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Show lines of cells as columns, the first to the left."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            each.rjust(width) if place else each.ljust(width)
            for place, (each, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
