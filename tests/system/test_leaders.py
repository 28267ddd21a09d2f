"""Several dispatchers, each in a process of its own: one leads, whatever happens to it."""

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from jobferry.clock import SystemClock, sleep
from jobferry.core import times
from jobferry.kube.resources import LEASES
from jobferry.objects import Obj
from jobferry.settings import Settings
from jobferry.testing.guard import Guard
from tests.system.audit import WRITES
from tests.system.fleet import DISPATCHER, SYSTEM
from tests.system.jobs import FOREVER, complete, job, runs
from tests.system.lab import Lab
from tests.system.world import named, until_one

pytestmark = [pytest.mark.fleet("processes"), pytest.mark.timeout(60)]

CLOCK = SystemClock()
HUB = "west"
LEASE = Settings().lease_name
BRISK = ("--lease-duration=3", "--lease-deadline=2", "--lease-retry=0.5")


class Replica:
    """One dispatcher, as `jobferry run` runs it."""

    def __init__(self, folder: Path, kubeconfig: str, group: int, *flags: str) -> None:
        self._log = folder / "log"
        file = folder / "kubeconfig"
        file.touch(mode=0o600)
        file.write_text(kubeconfig)
        run = [sys.executable, "-m", "jobferry", "run", f"--kubeconfig={file}", *flags]
        with self._log.open("xb") as log:
            self.process = subprocess.Popen(
                run, stdout=log, stderr=subprocess.STDOUT, process_group=group
            )

    async def said(self, words: str) -> str:
        """Wait until it has logged something; return the line."""
        while True:
            found = re.search(f".*{words}.*", self._log.read_text())
            if found:
                return found[0]
            assert self.process.poll() is None, self._log.read_text()
            await sleep(CLOCK, 0.02)

    async def name(self) -> str:
        """Wait until it stands for election; return what it calls itself."""
        line = await self.said("Lease changed hands")
        return line.partition(" me=")[2].split()[0]


class Replicas:
    """Dispatchers that end with the test."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab = lab
        self._folder = folder
        self._guard = Guard(folder)
        self._all: list[Replica] = []

    def start(
        self, *flags: str, user: str = DISPATCHER, groups: tuple[str, ...] = ()
    ) -> Replica:
        """Start one more."""
        folder = self._folder / str(len(self._all))
        folder.mkdir()
        kubeconfig = self._lab.fleet.planes[HUB].kubeconfig(user, *groups)
        self._all.append(Replica(folder, kubeconfig, self._guard.group, *flags))
        return self._all[-1]

    def end(self) -> None:
        """End all that are left, in order: the next test is not to wait for their Lease."""
        for each in self._all:
            each.process.send_signal(signal.SIGCONT)
            each.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            for each in self._all:
                each.process.wait(timeout=10)
        self._guard.close()
        for each in self._all:
            each.process.wait()
        self._guard.wait()


@pytest.fixture
def replicas(lab: Lab, tmp_path: Path) -> Iterator[Replicas]:
    """Dispatchers on the lab's hub."""
    folder = tmp_path / "replicas"
    folder.mkdir(mode=0o700)
    replicas = Replicas(lab, folder)
    yield replicas
    replicas.end()


async def held_by(lab: Lab, *names: str) -> Obj:
    """Wait until one of these leads; return what the Lease says."""
    lease = named(LEASES, LEASE, SYSTEM)
    found = await until_one(
        lab.world.hub, lease, lambda obj: obj["spec"].get("holderIdentity") in names
    )
    return dict(found["spec"])


def writes(lab: Lab, user: str, since: datetime, until: datetime) -> list[str]:
    """Return what a user wanted to write to the hub, whether it succeeded or not."""
    return [
        f"{entry['verb']} {entry['requestURI']}: {entry['responseStatus']['code']}"
        for entry in lab.fleet.audited(HUB, user)
        if entry["verb"] in WRITES
        and since < times.instant(entry["requestReceivedTimestamp"]) < until
    ]


async def test_a_leader_that_is_told_to_end_hands_over_at_once(
    lab: Lab, replicas: Replicas
) -> None:
    await lab.add_workers()
    first = replicas.start()
    await held_by(lab, await first.name())
    others = [replicas.start(), replicas.start()]
    names = [await other.name() for other in others]
    await lab.world.run(job("a", seconds=FOREVER), runs(1))

    began = CLOCK.monotonic()
    first.process.send_signal(signal.SIGTERM)
    next_one = (await held_by(lab, *names))["holderIdentity"]
    last = names.index(next_one) ^ 1
    others[last ^ 1].process.send_signal(signal.SIGTERM)
    await held_by(lab, names[last])

    assert CLOCK.monotonic() - began < Settings().lease.duration
    assert await asyncio.to_thread(first.process.wait) == 0
    await lab.world.finish_pod(await lab.world.where("a"), "a")
    await lab.world.until("a", complete)
    assert sum((await lab.world.pods("a")).values()) == 1


async def test_a_leader_that_was_asleep_writes_nothing_when_it_wakes(
    lab: Lab, replicas: Replicas
) -> None:
    world = lab.world
    await lab.add_workers()
    sleeper = replicas.start(*BRISK, user="sleeper", groups=("system:masters",))
    await held_by(lab, await sleeper.name())
    other = replicas.start(*BRISK)
    name_of_other = await other.name()
    names = [f"job-{number}" for number in range(6)]
    for name in names:
        await world.submit(job(name, seconds=FOREVER))
    for name in names:
        await world.until(name, runs(1))

    sleeper.process.send_signal(signal.SIGSTOP)
    since = (await held_by(lab, name_of_other))["acquireTime"]
    # So that there is something to write, and nobody but the sleeper to write it.
    other.process.send_signal(signal.SIGSTOP)
    for name in names:
        await world.finish_pod(await world.where(name), name)
        await world.mirror(name, complete)
    sleeper.process.send_signal(signal.SIGCONT)
    lost_at = times.instant((await sleeper.said("Leadership lost")).split()[0])
    other.process.send_signal(signal.SIGCONT)
    for name in names:
        await world.until(name, complete)

    # A little later it may lead again, as it must wait for the Lease to end.
    until = lost_at + timedelta(seconds=1)
    assert writes(lab, "sleeper", times.instant(since), until) == []
    for name in names:
        assert sum((await world.pods(name)).values()) == 1


async def test_a_lease_that_somebody_deletes_is_there_again_soon(
    lab: Lab, replicas: Replicas
) -> None:
    world = lab.world
    await lab.add_workers()
    names = [await replicas.start(*BRISK).name() for _ in range(2)]
    await held_by(lab, *names)
    await world.run(job("a", seconds=FOREVER), runs(1))

    await world.hub.delete(LEASES, LEASE, SYSTEM)

    await held_by(lab, *names)
    await world.run(job("b"), complete)
    await world.finish_pod(await world.where("a"), "a")
    await world.until("a", complete)
    for name in ("a", "b"):
        assert sum((await world.pods(name)).values()) == 1
