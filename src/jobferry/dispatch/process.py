"""What the process itself costs, under the names by which Prometheus users look for it."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

from jobferry.metrics import Registry

ITSELF = Path("/proc/self")


def measure(registry: Registry) -> None:
    """Tell of CPU, memory and open files of this process, where the system does."""
    registry.tally(
        "process_cpu_seconds_total", "User and system time that the process has spent."
    ).read_from(lambda: {(): _cpu()})
    if not (ITSELF / "statm").exists():
        return
    for name, help, read in (
        ("process_resident_memory_bytes", "Resident memory of the process.", _memory),
        ("process_open_fds", "Files and connections that the process has open.", _files),
        ("process_max_fds", "How many it may have open.", _most_files),
    ):
        registry.gauge(name, help).read_from(_alone(read))


def _alone(read: Callable[[], float]) -> Callable[[], dict[tuple[str, ...], float]]:
    return lambda: {(): read()}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _memory() -> float:
    pages = int((ITSELF / "statm").read_text().split()[1])
    return pages * resource.getpagesize()


def _files() -> float:
    return len(os.listdir(ITSELF / "fd"))


def _most_files() -> float:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
