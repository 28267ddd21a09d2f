"""A scene as a terminal shows it. Nothing here is drawn by itself: whoever has a console prints it."""

from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from jobferry.cli.scene import Scene
from jobferry.cli.sights import JobSeen
from jobferry.clock import Seconds

WIDEST = 100
"""On wider terminals the eye would have to travel."""

_FIXED = 64
"""What the table of Jobs needs beside the bars."""

_MOODS = {"good": "green", "bad": "bold red"}


@dataclass(frozen=True, slots=True)
class Signs:
    """What is drawn with."""

    kept: str
    done: str
    open: str
    dot: str


PRETTY = Signs(kept="━", done="━", open="─", dot="●")
ASCII = Signs(kept="=", done="#", open=".", dot="*")


def screen(
    scene: Scene, now: Seconds, signs: Signs, *, width: int, height: int | None = None
) -> RenderableType:
    """Draw a scene; where a terminal is too low for it, what happened first is left out."""
    width = min(width, WIDEST)
    jobs = _jobs(scene, signs, width)
    above = 6 + len(scene.clusters) + jobs.row_count
    room = len(scene.turns) if height is None else max(1, height - above - 1)
    blank = Text("")
    parts = (_title(scene, now, width), blank, _clusters(scene, now, signs), blank, jobs, blank)
    return Group(*parts, _turns(scene, room))


def _title(scene: Scene, now: Seconds, width: int) -> Text:
    about = f"a hub and {len(scene.workers)} workers on this machine"
    time = f"{now:.1f} s"
    left = Text.assemble(("Jobferry", "bold"), "  ", (about, "dim"))
    left.append(time.rjust(max(0, width - left.cell_len)))
    return left


def _clusters(scene: Scene, now: Seconds, signs: Signs) -> Table:
    table = _table()
    table.add_column("CLUSTER", min_width=11)
    table.add_column("STATE", min_width=24)
    table.add_column("RUNS", no_wrap=True, overflow="crop")
    for name in scene.clusters:
        words, style = _standing(scene, name, now)
        runs = [job.name for job in scene.jobs.values() if job.place == name and not job.end]
        table.add_row(
            Text(name, "bold"), Text(f"{signs.dot} {words}", style), Text(", ".join(runs))
        )
    return table


def _standing(scene: Scene, name: str, now: Seconds) -> tuple[str, str]:
    cluster = scene.clusters[name]
    if cluster.missed_at is not None:
        return f"out of reach for {max(now - cluster.missed_at, 0):.1f} s", "bold red"
    if cluster.killed_at is not None:
        return "killed", "bold red"
    return ("ready", "green") if cluster.is_ready else ("starting", "dim")


def _jobs(scene: Scene, signs: Signs, width: int) -> Table:
    table = _table()
    table.add_column("JOB", min_width=11)
    table.add_column("RUNS ON", min_width=9)
    table.add_column("ATTEMPT", min_width=7)
    table.add_column("PROGRESS", no_wrap=True)
    table.add_column("STATE", no_wrap=True, overflow="crop")
    room = max(8, width - _FIXED)
    for job in scene.jobs.values():
        progress = _bar(job, signs, room).append(f" {job.done}/{job.total}")
        attempt = Text(str(job.attempt or "-"), "bold magenta" if job.attempt > 1 else "")
        row = Text(job.name, "bold"), Text(job.place or "-"), attempt, progress
        table.add_row(*row, _state(scene, job))
    return table


def _bar(job: JobSeen, signs: Signs, width: int) -> Text:
    """Draw how far a Job is; what earlier attempts have done has a colour of its own."""
    kept = width * min(job.kept, job.done) // job.total
    done = width * min(job.done, job.total) // job.total
    bar = Text().append(signs.kept * kept, "magenta")
    bar.append(signs.done * (done - kept), "green")
    return bar.append(signs.open * (width - done), "red" if job.end == "Failed" else "dim")


def _state(scene: Scene, job: JobSeen) -> Text:
    kept = f", {job.kept} kept" if job.kept else ""
    if job.end:
        return Text(f"{job.end}{kept}", "green" if job.end == "Complete" else "red")
    if (cluster := scene.clusters.get(job.place)) and cluster.killed_at is not None:
        return Text("its worker is off", "bold red")
    if job.active:
        return Text(f"{job.active} {'pod runs' if job.active == 1 else 'pods run'}{kept}")
    return Text("placed" if job.attempt else "waits", "dim")


def _turns(scene: Scene, room: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True, style="dim")
    table.add_column()
    for turn in scene.turns[-room:]:
        table.add_row(f"{turn.at:.1f} s", Text(turn.words, _MOODS.get(turn.mood, "")))
    return table


def _table() -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
