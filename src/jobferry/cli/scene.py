"""What a demo has shown so far: put together from sights, told in words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jobferry.cli import sights
from jobferry.cli.sights import JobSeen
from jobferry.clock import Seconds
from jobferry.local.layout import HUB


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that a person should know of, in words."""

    at: Seconds
    words: str
    mood: str = ""
    """Good, bad, or neither."""

    is_detail: bool = False
    """Whether it is known by what is told of the Job."""


@dataclass(slots=True)
class Cluster:
    """One of the clusters."""

    is_ready: bool = False
    killed_at: Seconds | None = None
    missed_at: Seconds | None = None
    """Since when the hub has missed it."""


@dataclass(slots=True)
class Scene:
    """The clusters, the Jobs as the hub shows them, and how it came to that."""

    workers: Sequence[str]
    lost_after: Seconds
    """How long the dispatcher of this demo waits for a lost worker."""

    clusters: dict[str, Cluster] = field(default_factory=dict)
    jobs: dict[str, JobSeen] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    ready_at: Seconds | None = None
    created_at: Seconds | None = None
    mirrored_at: Seconds | None = None
    """When the first Job was seen on a worker."""

    moves: dict[str, JobSeen] = field(default_factory=dict)
    """The last move of each Job that was moved."""

    created: int = 0
    ended_at: Seconds | None = None
    _told: set[tuple[str, str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.clusters = {name: Cluster() for name in (HUB, *self.workers)}

    @property
    def has_its_workers(self) -> bool:
        """Whether the hub reaches all of them."""
        return all(self.clusters[name].is_ready for name in self.workers)

    @property
    def all_ended(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.ended_at is not None

    def see(self, sight: sights.Any) -> Iterator[str]:
        """Take note of a sight; yield it in words, where they say anything new."""
        before = len(self.turns)
        words = ""
        match sight:
            case sights.Ready():
                self._ready(sight)
            case sights.Creating():
                self._create(sight)
            case sights.WorkerSeen():
                self._see_worker(sight)
            case sights.Killed():
                self._kill(sight)
            case sights.JobSeen():
                words = self._see_job(sight)
            case sights.JobGone():
                words = self._new(sight.cluster, sight.name, "is gone")
        for turn in self.turns[before:]:
            if not turn.is_detail:
                yield f"{_time(turn.at)}  {turn.words}"
        if words:
            yield f"{_time(sight.at)}  {words}"

    def _turn(
        self, at: Seconds, words: str, mood: str = "", *, is_detail: bool = False
    ) -> None:
        self.turns.append(Turn(at, words, mood, is_detail))

    def _ready(self, sight: sights.Ready) -> None:
        self.ready_at = sight.at
        for cluster in self.clusters.values():
            cluster.is_ready = True
        self._turn(sight.at, f"A hub and {len(self.workers)} workers are ready.")

    def _create(self, sight: sights.Creating) -> None:
        self.created_at, self.created = sight.at, sight.total
        which = f"{sight.delegated} of {sight.total} new Jobs on the hub"
        self._turn(sight.at, f"{which} say managedBy: jobferry.io/dispatcher.")

    def _see_worker(self, sight: sights.WorkerSeen) -> None:
        cluster = self.clusters[sight.name]
        if cluster.is_ready == sight.is_ready:
            return
        cluster.is_ready = sight.is_ready
        if self.ready_at is None:
            return
        if sight.is_ready:
            cluster.killed_at = cluster.missed_at = None
            self._turn(sight.at, f"{sight.name} is back.", "good")
        else:
            cluster.missed_at = sight.at
            self._turn(
                sight.at,
                f"The hub misses {sight.name}: its work moves in {self.lost_after:g} s"
                " (workerLostAfter here).",
                "bad",
            )

    def _kill(self, sight: sights.Killed) -> None:
        self.clusters[sight.name].killed_at = sight.at
        self._turn(sight.at, f"kill -9 {sight.pid}: {sight.name} is off, pods and all.", "bad")

    def _see_job(self, sight: JobSeen) -> str:
        if sight.cluster != HUB:
            if self.mirrored_at is None:
                self.mirrored_at = sight.at
                words = f"{sight.name} is copied to {sight.cluster}, as the first."
                self._turn(sight.at, words, is_detail=True)
            return self._new(sight.cluster, sight.name, _on_worker(sight))
        before, self.jobs[sight.name] = self.jobs.get(sight.name), sight
        if len(self.jobs) == self.created and all(job.end for job in self.jobs.values()):
            self.ended_at = self.ended_at or sight.at
        if before and 0 < before.attempt < sight.attempt:
            self.moves[sight.name] = sight
            self._turn(sight.at, _move(sight), "good")
            return ""
        if sight.name in self.moves and sight.end and not (before and before.end):
            words = f"{sight.name} is {sight.end.lower()}: {sight.done} of {sight.total}."
            self._turn(sight.at, words, "good", is_detail=True)
        return self._new(HUB, sight.name, _on_hub(sight))

    def _new(self, cluster: str, name: str, words: str) -> str:
        if (cluster, name, words) in self._told:
            return ""
        self._told.add((cluster, name, words))
        return f"{cluster:<9} {name:<11} {words}"


def summary(scene: Scene, now: Seconds) -> list[str]:
    """Say what was to be seen."""
    away = sum(job.place != HUB for job in scene.jobs.values())
    many = f"{len(scene.jobs)} Jobs went to the hub; {away} of them"
    lines = [f"{many} ran on workers, where nothing is installed."]
    if scene.mirrored_at is not None and scene.created_at is not None:
        delay = scene.mirrored_at - scene.created_at
        lines.append(f"The first was on a worker {delay:.2f} s after it was created.")
    for name, move in scene.moves.items():
        killed = max((each.killed_at or 0.0) for each in scene.clusters.values())
        later = f"{name} lost its worker and ran on elsewhere {move.at - killed:.1f} s later"
        lines.append(f"{later}; {move.kept} of {move.total} runs kept.")
    started = (
        f", of which {scene.ready_at:.1f} s to start all clusters" if scene.ready_at else ""
    )
    return [*lines, f"All of it took {now:.1f} s{started}."]


def _time(at: Seconds) -> str:
    return f"{at:5.1f} s"


def _on_worker(sight: JobSeen) -> str:
    return _end(sight) if sight.end else "mirror runs" if sight.active else "mirror created"


def _on_hub(sight: JobSeen) -> str:
    where = f" on {sight.place}" if sight.attempt else ""
    if sight.end:
        return _end(sight)
    if sight.active:
        return f"runs{where}: {sight.active} active"
    return f"placed{where}" if where else "created"


def _end(sight: JobSeen) -> str:
    where = f" on {sight.place}" if sight.attempt and sight.cluster == HUB else ""
    return f"{sight.end}{where}: {sight.done} succeeded, {sight.failed} failed"


def _move(sight: JobSeen) -> str:
    kept = f"; {sight.kept} of {sight.total} runs are kept" if sight.kept else ""
    return f"{sight.name} moves to {sight.place} as attempt {sight.attempt}{kept}."
