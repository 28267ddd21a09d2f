"""The fixtures that pytest has once Jobferry is installed; nothing is loaded before a test asks for one.

    def test_my_controller(fleet, hub, worker):
        ...

Docs: docs/testing.md.
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from jobferry.testing.kit import Cluster, Fleet

TAKES = ("workers", "dispatchers", "seed", "settings")
MARKER = "jobferry(workers=2, dispatchers=1, seed=0, settings=Settings()): what the fixture `fleet` of a test is like"

LINES = 100
"""How many of the last lines of its timeline are shown where a test fails."""

WIDTH = 300
"""How much is shown of a line; `fleet.timeline()` has them whole."""

_FLEET = pytest.StashKey["Fleet"]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def fleet(request: pytest.FixtureRequest) -> "Iterator[Fleet]":
    """A hub, workers and a dispatcher in this process, whose time passes only while the test waits."""
    from jobferry.testing.kit import Fleet  # noqa: PLC0415 (most tests of most people need none)

    with Fleet(**_options(request.node)) as fleet:
        request.node.stash[_FLEET] = fleet
        yield fleet


@pytest.fixture
def hub(fleet: "Fleet") -> "Cluster":
    """The hub of the fleet: where Jobs are submitted."""
    return fleet.hub


@pytest.fixture
def worker(fleet: "Fleet") -> "Cluster":
    """The first worker of the fleet."""
    return fleet.workers[0]


def _options(item: pytest.Item) -> Mapping[str, Any]:
    """Return what the marker of a test says of its fleet."""
    marker = item.get_closest_marker("jobferry")
    if marker is None:
        return {}
    if wrong := [
        *map(repr, marker.args),
        *(each for each in marker.kwargs if each not in TAKES),
    ]:
        takes = ", ".join(f"{each}=" for each in TAKES)
        pytest.fail(
            f"@pytest.mark.jobferry takes {takes}, not {', '.join(wrong)}", pytrace=False
        )
    return marker.kwargs


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Show what happened in the fleet of a test whose other fixtures fail."""
    with _showing(item, "setup"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Show what happened in the fleet of a test that fails."""
    with _showing(item, "call"):
        return (yield)


@contextmanager
def _showing(item: pytest.Item, when: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if fleet := item.stash.get(_FLEET, None):
            lines = (line[:WIDTH] for line in fleet.timeline()[-LINES:])
            item.add_report_section(when, "fleet", "\n".join(lines))
        raise
