"""Limits by cgroups: what is written where, and what is found on a machine."""

from pathlib import Path

import pytest

from jobferry.localkube.runner import cgroups
from jobferry.localkube.runner.cgroups import Cgroups, Limits


def test_limits_are_read_from_a_container() -> None:
    container = {"resources": {"limits": {"cpu": "250m", "memory": "64Mi"}}}
    pod = {"metadata": {"annotations": {cgroups.PIDS: "20"}}}

    assert cgroups.limits_of(pod, container, 100) == Limits(
        cpu_millis=250, memory=64 * 2**20, pids=20
    )
    assert cgroups.limits_of({"metadata": {}}, {}, 100) == Limits(pids=100)


@pytest.mark.parametrize(
    ("version", "written"),
    [
        (
            1,
            [
                ("cpu", "cpu.cfs_period_us", "100000"),
                ("cpu", "cpu.cfs_quota_us", "25000"),
                ("memory", "memory.limit_in_bytes", "1000"),
                ("pids", "pids.max", "21"),
            ],
        ),
        (
            2,
            [
                ("cpu", "cpu.max", "25000 100000"),
                ("memory", "memory.max", "1000"),
                ("memory", "memory.oom.group", "1"),
                ("pids", "pids.max", "21"),
            ],
        ),
    ],
)
def test_what_is_written_where(version: int, written: list[tuple[str, str, str]]) -> None:
    limits = Limits(cpu_millis=250, memory=1000, pids=20)

    assert list(cgroups.settings(limits, version=version)) == written


def test_a_machine_without_controllers_enforces_nothing(tmp_path: Path) -> None:
    group, unenforced = Cgroups(tmp_path).make("g", Limits(memory=1, pids=1))

    assert unenforced == ["memory", "pids"]
    assert group.entrances == [str(tmp_path / "g" / "cgroup.procs")]


def test_nothing_is_found_where_there_is_nothing() -> None:
    assert cgroups.find("x", "proc /proc proc rw 0 0\n", "0::/\n") == Cgroups()
