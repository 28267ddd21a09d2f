"""What the machine lets a runner do."""

from dataclasses import dataclass
from pathlib import Path

from jobferry.localkube.runner import cgroups, namespaces
from jobferry.localkube.runner.cgroups import Cgroups


@dataclass(frozen=True, slots=True)
class Machine:
    """What the machine lets us do."""

    groups: Cgroups
    mounts: bool
    """Whether containers can have mounts of their own."""
    boot: str
    """Which run of the machine this is."""


def look(folder: Path, *, private_mounts: bool) -> Machine:
    """Find out what the machine lets us do; the groups are named after the folder."""
    found = folder.stat()
    groups = cgroups.find_here(f"jobferry-{found.st_dev:x}-{found.st_ino:x}")
    return Machine(groups, private_mounts and namespaces.can_mount(), _boot())


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
