"""What a demo may come to see."""

from jobferry.cli import sights
from jobferry.cli.scene import Scene
from jobferry.cli.sights import Creating, JobSeen, Killed, Ready, WorkerSeen


def after(*seen: sights.Any) -> tuple[Scene, list[str]]:
    """Return the scene after some sights, and all that was told."""
    scene = Scene(("east", "west"), 2.0)
    return scene, [words for sight in seen for words in scene.see(sight)]


def hub(at: float, name: str = "darts", place: str = "east", **more: object) -> JobSeen:
    given = {"attempt": 1, "total": 8, **more}
    return sights.JobSeen(at=at, cluster="hub", name=name, place=place, **given)  # type: ignore[arg-type]


MOVE = (
    Ready(at=1.0),
    Creating(at=1.0, delegated=1, total=1),
    hub(1.1, active=2),
    JobSeen(at=1.2, cluster="east", name="darts", place="east", active=2),
    hub(2.0, active=2, done=3),
    Killed(at=2.5, name="east", pid=7),
    WorkerSeen(at=2.6, name="east", is_ready=False),
    hub(4.6, place="west", attempt=2, kept=3, done=3),
    hub(6.0, place="west", attempt=2, kept=3, done=8, end="Complete"),
)
