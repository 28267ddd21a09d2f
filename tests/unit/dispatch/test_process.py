import sys
from pathlib import Path

import pytest

from jobferry.dispatch import process
from jobferry.metrics import Registry


def told(registry: Registry) -> dict[str, float]:
    lines = registry.render().decode().splitlines()
    samples = (line.split() for line in lines if not line.startswith("#"))
    return {name: float(value) for name, value in samples}


def test_a_process_tells_what_it_costs() -> None:
    registry = Registry()
    process.measure(registry)

    found = told(registry)
    assert found["process_cpu_seconds_total"] > 0
    if sys.platform == "linux":
        assert found["process_resident_memory_bytes"] > 1_000_000
        assert 0 < found["process_open_fds"] <= found["process_max_fds"]


def test_where_the_system_tells_little_so_does_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(process, "ITSELF", tmp_path)
    registry = Registry()
    process.measure(registry)

    assert list(told(registry)) == ["process_cpu_seconds_total"]
