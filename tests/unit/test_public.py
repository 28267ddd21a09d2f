import subprocess
import sys

import pytest

import jobferry
from jobferry.errors import Error


def test_the_public_names_are_exactly_the_promised_ones() -> None:
    assert set(jobferry.__all__) == {"Error", "__version__"}
    assert set(dir(jobferry)) == set(jobferry.__all__)


def test_promised_names_are_found_where_they_live() -> None:
    assert jobferry.Error is Error
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = jobferry.Nonsense


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import sys, jobferry; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()

    heavy = {"asyncio", "msgspec", "orjson", "httptools", "yaml", "ssl", "logging"}
    assert not heavy & set(loaded)
