"""Groups of processes, by which the kernel limits and ends all that a container has started.

Groups of version 2 are used for ending, wherever they can be made (`cgroup.kill`), and for limits, where the
controllers are theirs; else limits are set in groups of version 1. What the machine does not offer is not
enforced, and `unenforced` says so.
"""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from jobferry.objects import Obj, quantities

CONTROLLERS = ("cpu", "memory", "pids")
PERIOD = 100_000
"""Microseconds over which shares of a cpu are counted."""

PIDS = "jobferry.io/pids"
"""The annotation of a pod that says how many processes each of its containers may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a container may use; None: as much as there is."""

    cpu_millis: int | None = None
    memory: int | None = None
    pids: int | None = None

    def wanted(self) -> list[str]:
        """Return the controllers that are needed for them."""
        values = (self.cpu_millis, self.memory, self.pids)
        return [name for name, value in zip(CONTROLLERS, values, strict=True) if value]


UNLIMITED = Limits()


def limits_of(pod: Obj, container: Obj, pids: int | None) -> Limits:
    """Return what a container may use; `pids` is what the node grants."""
    limits = (container.get("resources") or {}).get("limits") or {}
    said = (pod["metadata"].get("annotations") or {}).get(PIDS)
    cpu, memory = limits.get("cpu"), limits.get("memory")
    return Limits(
        cpu_millis=None if cpu is None else quantities.parse(cpu).scaled(quantities.MILLI),
        memory=None if memory is None else quantities.parse(memory).scaled(),
        pids=int(said) if said and said.isdecimal() else pids,
    )


def settings(limits: Limits, *, version: int) -> Iterator[tuple[str, str, str]]:
    """Say what to write where: controller, file, text."""
    if limits.cpu_millis:
        # Less than a hundredth of a cpu the kernel does not grant.
        quota = max(1000, limits.cpu_millis * PERIOD // 1000)
        if version == 1:
            yield "cpu", "cpu.cfs_period_us", str(PERIOD)
            yield "cpu", "cpu.cfs_quota_us", str(quota)
        else:
            yield "cpu", "cpu.max", f"{quota} {PERIOD}"
    if limits.memory:
        yield (
            "memory",
            "memory.limit_in_bytes" if version == 1 else "memory.max",
            str(limits.memory),
        )
        if version == 2:
            yield "memory", "memory.oom.group", "1"
    if limits.pids:
        yield "pids", "pids.max", str(limits.pids + 1)  # the wrapper is one of them


@dataclass(frozen=True, slots=True)
class Group:
    """The groups of one run of a container."""

    folders: Mapping[str, Path]
    """By controller; the one of version 2 under the empty name."""
    version: int
    """That of the limits."""

    @property
    def entrances(self) -> list[str]:
        """The files to write one's number to."""
        return [str(folder / "cgroup.procs") for folder in dict.fromkeys(self.folders.values())]

    def kill(self) -> None:
        """End all processes in it."""
        for folder in self.folders.values():
            with suppress(OSError):
                (folder / "cgroup.kill").write_text("1")
                continue
            for pid in _members(folder):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def remove(self) -> bool:
        """Take the groups away; False if something is left in them."""
        for folder in dict.fromkeys(self.folders.values()):
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True

    def ran_out_of_memory(self) -> bool:
        """Tell whether the kernel killed something in it for want of memory."""
        folder = self.folders.get("memory")
        if folder is None:
            return False
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        with suppress(OSError):
            for line in (folder / name).read_text().splitlines():
                word, _, count = line.partition(" ")
                if word == "oom_kill":
                    return int(count) > 0
        return False


NO_GROUP = Group({}, 2)
"""That of what was never started."""


@dataclass(frozen=True, slots=True)
class Cgroups:
    """Where groups are made on this machine; found by `find`."""

    unified: Path | None = None
    """Of version 2, for ending."""
    controllers: Mapping[str, Path] = field(default_factory=dict)
    """Where limits are set."""
    version: int = 2

    def group(self, name: str) -> Group:
        """Return the group of that name, whether it is there or not."""
        folders = {} if self.unified is None else {"": self.unified / name}
        limited = {each: path / name for each, path in self.controllers.items()}
        return Group(
            folders | {each: path for each, path in limited.items() if path.exists()},
            self.version,
        )

    def make(self, name: str, limits: Limits) -> tuple[Group, list[str]]:
        """Make a group with its limits; also returns those that cannot be enforced."""
        folders: dict[str, Path] = {}
        if self.unified is not None:
            folders[""] = self.unified / name
        wanted = limits.wanted()
        folders |= {
            each: self.controllers[each] / name for each in wanted if each in self.controllers
        }
        try:
            for folder in folders.values():
                folder.mkdir(parents=True, exist_ok=True)
            for controller, file, text in settings(limits, version=self.version):
                if controller in folders:
                    (folders[controller] / file).write_text(text)
        except OSError:
            return self.group(name), wanted
        return Group(folders, self.version), [each for each in wanted if each not in folders]

    def remove(self) -> None:
        """Take away the groups in which nothing runs, and then their folders."""
        for folder in {self.unified, *self.controllers.values()}:
            if folder is not None:
                with suppress(OSError):
                    for group in folder.iterdir():
                        if group.is_dir():
                            with suppress(OSError):
                                group.rmdir()
                    folder.rmdir()


def find(name: str, mounts: str, own: str) -> Cgroups:
    """Find where groups can be made, from the text of /proc/self/mounts and /proc/self/cgroup."""
    places = dict(_places(mounts))
    owns = {key: path for _, key, path in (line.split(":", 2) for line in own.splitlines())}
    unified = _made(places.get("", ()), owns.get("", "/"), name)
    if unified is not None and _grants(unified):
        return Cgroups(unified, dict.fromkeys(CONTROLLERS, unified), 2)
    old = {
        each: made
        for each in CONTROLLERS
        for key, path in owns.items()
        if each in key.split(",")
        and (made := _made(places.get(each, ()), path, name)) is not None
    }
    return Cgroups(unified, old, 1 if old else 2)


def find_here(name: str) -> Cgroups:
    """Find where groups can be made on this machine."""
    try:
        mounts = Path("/proc/self/mounts").read_text()
        return find(name, mounts, Path("/proc/self/cgroup").read_text())
    except OSError:
        return Cgroups()


def _places(mounts: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in mounts.splitlines():
        _, path, kind, options, *_ = line.split()
        if kind == "cgroup2":
            yield "", (path,)
        elif kind == "cgroup":
            for option in options.split(","):
                if option in CONTROLLERS:
                    yield option, (path,)


def _made(places: tuple[str, ...], own: str, name: str) -> Path | None:
    for place in places:
        folder = Path(place + own) / name
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
            if os.access(folder / "cgroup.procs", os.W_OK):
                return folder
            folder.rmdir()
    return None


def _grants(folder: Path) -> bool:
    """Have the controllers of version 2 serve the groups in `folder`; False if they do not."""
    enable = " ".join(f"+{each}" for each in CONTROLLERS)
    for place in (folder.parent, folder):
        with suppress(OSError):
            (place / "cgroup.subtree_control").write_text(enable)
    with suppress(OSError):
        return set(CONTROLLERS) <= set((folder / "cgroup.subtree_control").read_text().split())
    return False


def _members(folder: Path) -> list[int]:
    with suppress(OSError):
        return [int(line) for line in (folder / "cgroup.procs").read_text().split()]
    return []
