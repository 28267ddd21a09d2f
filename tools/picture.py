"""Draw docs/demo.svg: the screen of `jobferry demo` at its best moment, from a recording of a real one.

python tools/picture.py             draw it anew; CI sees that it is current
python tools/picture.py --record    run the demo, record it, and draw that
"""

import asyncio
import io
import re
import sys
from pathlib import Path

import msgspec
from rich.console import Console

from jobferry.cli import play, screen, sights, stages
from jobferry.cli.handful import LOST_AFTER, MOVED, WORKERS
from jobferry.cli.scene import Scene
from jobferry.cli.terminal import Lines, Show
from jobferry.clock import SystemClock

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "demo.svg"
RECORDING = Path(__file__).parent / "picture.jsonl"
WIDTH = 92

_PID = 4711
_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_SIGHT = msgspec.json.Decoder(sights.Any)


class Recorder(Show):
    """Writes down what is seen."""

    def __init__(self) -> None:
        super().__init__(Scene(WORKERS, LOST_AFTER), Lines())
        self.seen: list[sights.Any] = []

    def tell(self, sight: sights.Any) -> None:
        """Write it down, without what is another in each run and tells nothing."""
        super().tell(sight)
        sight = msgspec.structs.replace(sight, at=round(sight.at, 2))
        if isinstance(sight, sights.Killed):
            sight = msgspec.structs.replace(sight, pid=_PID)
        self.seen.append(sight)


async def record() -> list[sights.Any]:
    """Run the demo and return what there was to see."""
    clock, show = SystemClock(), Recorder()
    began = clock.monotonic()
    async with stages.local(clock) as stage:
        await play.play(stage, show, lambda: clock.monotonic() - began)
    return show.seen


def recorded() -> list[sights.Any]:
    """Read the recording."""
    return [_SIGHT.decode(line) for line in RECORDING.read_bytes().splitlines()]


def replay(seen: list[sights.Any]) -> Scene:
    """Return the scene of its best moment: the Job that lost its worker is well ahead on another."""
    scene = Scene(WORKERS, LOST_AFTER)
    for sight in seen:
        list(scene.see(sight))
        job = scene.jobs.get(MOVED)
        if job and job.attempt > 1 and job.done > job.kept + 1:
            break
    return scene


def picture(seen: list[sights.Any]) -> str:
    """Draw it."""
    scene = replay(seen)
    now = scene.jobs[MOVED].at + 0.3
    console = Console(
        file=io.StringIO(),
        record=True,
        width=WIDTH,
        force_terminal=True,
        color_system="truecolor",
    )
    console.print("$ jobferry demo", highlight=False)
    console.print(screen.screen(scene, now, screen.PRETTY, width=WIDTH))
    svg = console.export_svg(title="jobferry demo", unique_id="demo")
    # A picture that loads fonts from elsewhere tells others who looks at it.
    return _FONT.sub("", svg)


def main() -> None:
    """Do what the command line says."""
    if sys.argv[1:] == ["--record"]:
        lines = map(msgspec.json.encode, asyncio.run(record()))
        RECORDING.write_bytes(b"".join(line + b"\n" for line in lines))
    PICTURE.write_text(picture(recorded()))
    print(f"Wrote {PICTURE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
