"""One contender in a process of its own, so that CPU and memory are its own (started by bench.client)."""

import asyncio
import gc
import os
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Literal

import msgspec

from bench import contenders, jobs
from bench.command import new_event_loop
from bench.contenders import Contender

FILLED = b"filled\n"
"""What asks for the updates."""

Work = Literal["cache", "replay", "patch"]

Figures = dict[str, float]
"""What was measured, by the names in bench.report."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is to do."""

    work: Work
    contender: str
    kubeconfig: str
    count: int
    """Jobs to keep in a cache, or patches to send."""

    serial: int
    """What the updates will say, or the patches are to say."""

    at_once: int


async def cache(task: Task, contender: Contender) -> Figures:
    """List Jobs into a cache, then watch one update of each."""
    await contender.patch_status(jobs.names(1)[0], jobs.status(0))  # connects, loads decoders
    memory, cpu = _memory(), time.process_time()
    await contender.fill()
    list_cpu = time.process_time() - cpu
    list_memory = _memory() - memory

    sys.stdout.buffer.write(FILLED)
    sys.stdout.flush()
    cpu = time.process_time()
    await contender.follow(task.count)
    watch_cpu = time.process_time() - cpu
    watch_memory = _memory() - memory

    if contender.active() != [task.serial] * task.count:
        raise RuntimeError("the cache does not hold what was written last")
    return {
        "list_cpu_us": list_cpu / task.count * 1e6,
        "watch_cpu_us": watch_cpu / task.count * 1e6,
        "list_kept_kb": list_memory / task.count / 1e3,
        "watch_kept_kb": watch_memory / task.count / 1e3,
    }


async def replay(task: Task, contender: Contender) -> Figures:
    """Watch one update of each Job, all made before: as fast as the server sends them."""
    await contender.fill()
    await contender.pause()
    sys.stdout.buffer.write(FILLED)
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)  # the updates are there
    gc.collect()
    cpu = time.process_time()
    await contender.follow(task.count)
    return {"replay_cpu_us": (time.process_time() - cpu) / task.count * 1e6}


async def patch(task: Task, contender: Contender) -> Figures:
    """Send status patches, several in flight."""
    body = jobs.status(task.serial)

    async def send(name: str) -> None:
        await contender.patch_status(name, body)

    await jobs.each(jobs.names(task.at_once), send, at_once=task.at_once)  # connects
    gc.collect()
    cpu = time.process_time()
    await jobs.each(jobs.names(task.count), send, at_once=task.at_once)
    return {"patch_cpu_ms": (time.process_time() - cpu) / task.count * 1e3}


WORK: dict[str, Callable[[Task, Contender], Coroutine[Any, Any, Figures]]] = {
    "cache": cache,
    "replay": replay,
    "patch": patch,
}


async def run(task: Task) -> Figures:
    """Do a task and say what it took."""
    contender = await contenders.open_(task.contender, Path(task.kubeconfig))
    try:
        return await WORK[task.work](task, contender)
    finally:
        await contender.close()


def _memory() -> int:
    """Return the resident memory of this process once garbage is collected."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Do the task that the first argument tells; print what it took."""
    task = msgspec.json.decode(sys.argv[1], type=Task)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        print(msgspec.json.encode(runner.run(run(task))).decode())


if __name__ == "__main__":
    main()
