"""One performance of the demo, from the first frame to the last word; nothing of it is left, however it ends."""

import asyncio
import shlex
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobferry.cli import terminal
from jobferry.cli.handful import LOST_AFTER, MOVED, WORKERS
from jobferry.cli.scene import Scene, summary
from jobferry.cli.terminal import Show, Way
from jobferry.cli.up import EXAMPLE
from jobferry.clock import Seconds, SystemClock
from jobferry.errors import Error

if TYPE_CHECKING:
    from jobferry.local.fleet import Fleet

_LOCAL = "each a small Kubernetes in a process of its own"
_REAL = "real etcd, kube-apiserver and kube-controller-manager"


@dataclass(slots=True)
class Ending:
    """How it came to its end."""

    was_seen: bool = False
    """Whether all of it was shown."""

    told_by: signal.Signals | None = None
    """What ended it, or the waiting after it."""

    def check(self) -> None:
        """Raise what the caller should know."""
        if self.told_by is signal.SIGINT:
            raise KeyboardInterrupt
        if not self.was_seen:
            raise Error("it was told to end before it was over")


async def until_told(*, is_real: bool, keep: bool) -> Ending:
    """Play it, until somebody has seen enough; whoever says so again changes nothing: it takes a second or two."""
    ending, loop, task = Ending(), asyncio.get_running_loop(), asyncio.current_task()

    def end(number: signal.Signals) -> None:
        if ending.told_by is None and task is not None:
            ending.told_by = number
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as for what runs under nohup
            loop.add_signal_handler(number, end, number)
    try:
        await _play(ending, is_real=is_real, keep=keep)
    except asyncio.CancelledError:
        if ending.told_by is None:
            raise
    return ending


async def _play(ending: Ending, *, is_real: bool, keep: bool) -> None:
    clock = SystemClock()
    began = clock.monotonic()
    scene, way = Scene(WORKERS, LOST_AFTER), terminal.best(clock, began)
    try:
        async with AsyncExitStack() as stack:
            way.tell(f"Starting a hub and two workers: {_REAL if is_real else _LOCAL} ...")
            async with way.shown(scene):
                from jobferry.cli import play, stages  # noqa: PLC0415 (by now there is something to see)

                entered = stages.real(clock) if is_real else stages.local(clock)
                stage = await stack.enter_async_context(entered)
                await play.play(stage, Show(scene, way), lambda: clock.monotonic() - began)
            if stage.fleet is not None:
                _say_log(way, scene, await play.log(stage, scene))
            _say_summary(way, scene, clock.monotonic() - began)
            ending.was_seen = True
            if keep and stage.fleet is not None:
                await _stay(way, stage.fleet, scene)
    finally:
        if ending.told_by is not None:
            way.say("All pods and clusters have ended.")


def _say_log(way: Way, scene: Scene, lines: Sequence[str]) -> None:
    way.say("")
    way.say(f"What {MOVED} printed on {scene.jobs[MOVED].place}:", "bold")
    for line in lines:
        way.say(f"  {line}")


def _say_summary(way: Way, scene: Scene, now: Seconds) -> None:
    way.say("")
    way.say("What you saw:", "bold")
    for line in summary(scene, now):
        way.say(f"  {line}")


async def _stay(way: Way, fleet: "Fleet", scene: Scene) -> None:
    """Leave the clusters up, also the one that was killed, until somebody ends it."""
    for name, cluster in scene.clusters.items():
        if cluster.killed_at is not None:
            way.say(f"\nStarting {name} again; the hub notices within half a minute.")
            await fleet.clusters[name].start()
    example = fleet.layout.folder / "hello.yaml"
    example.write_text(EXAMPLE)
    way.say(f"""
All clusters are up, until Ctrl-C. Try, in another terminal:
  export KUBECONFIG={shlex.quote(str(fleet.layout.kubeconfig))}
  kubectl get workers,jobs
  kubectl describe job {MOVED}     # its life, in events
  kubectl apply -f {shlex.quote(str(example))}""")
    await asyncio.Event().wait()
