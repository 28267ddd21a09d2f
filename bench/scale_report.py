"""What the scale bench says: the cost of each Job at each size, and whether it grows with the size."""

from collections.abc import Mapping, Sequence

from bench import tables
from bench.command import Found, machine

Figures = Mapping[str, float]
"""What was measured at one size: the numbers of Jobs and workers, CPU in seconds, memory in MB."""

PER_JOB = {
    "place": "placed and mirrored",
    "finish": "finished",
    "remove": "removed",
    "reconnect": "worker lost and back",
    "start": "dispatcher started",
}
"""What is paid for each Job, in CPU."""

ENOUGH = 1_000
"""With fewer Jobs, what is paid once hides what each of them costs."""

LINEAR = 1.3
"""How far the cost may outgrow the size: memory that no longer fits caches, and what else runs."""


def shown(found: Found) -> str:
    """Show everything."""
    sizes, foreign = found["sizes"], found["foreign"]
    parts = [
        machine(found),
        table("Jobs", sizes["jobs"], "jobs"),
        growth(sizes["jobs"], "jobs"),
        table(f"with {foreign} Jobs of others on the hub", sizes["foreign"], "jobs"),
        table("workers", sizes["workers"], "workers"),
        growth(sizes["workers"], "workers"),
    ]
    return "\n\n".join(parts)


def table(title: str, sizes: Sequence[Figures], by: str) -> str:
    """Show what each size costs, in a column of its own."""
    rows = {f"CPU ms per Job, {what}": per_job(sizes, key) for key, what in PER_JOB.items()}
    rows["CPU ms per second, idle"] = [each["idle"] * 1e3 for each in sizes]
    rows["memory with all Jobs, MB"] = [each["memory"] for each in sizes]
    rows["memory at most, MB"] = [each["peak"] for each in sizes]
    lines = [[name, *map(tables.number, values)] for name, values in rows.items()]
    return tables.aligned([[title, *(f"{each[by]:.0f}" for each in sizes)], *lines])


def growth(sizes: Sequence[Figures], by: str) -> str:
    """Say how the cost grew from the last size but one to the last, beside how the size did."""
    if len(sizes) == 1 or sizes[-1]["jobs"] < ENOUGH:
        return "Too few Jobs to judge by."
    before, last = sizes[-2:]
    size = last[by] / before[by]
    lines = []
    for key, what in PER_JOB.items():
        cost = last[key] / before[key]
        verdict = "linear at most" if cost <= size * LINEAR else "MORE THAN LINEAR"
        lines.append(
            f"{what}: {cost:.1f} times the CPU for {size:.0f} times the {by}, {verdict}"
        )
    return "\n".join(lines)


def per_job(sizes: Sequence[Figures], key: str) -> list[float]:
    """Return the CPU that something took for each Job, in ms."""
    return [each[key] / each["jobs"] * 1e3 for each in sizes]
