"""The fixtures that pytest has once Jobferry is installed; nothing is loaded before a test asks for one.

    def test_my_controller(fleet, hub, worker):
        ...

Docs: docs/testing.md.
"""

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from jobferry.testing.kit import Cluster, Fleet

MARKER = "jobferry(workers=2, dispatchers=1, seed=0, settings=None): what the fixture `fleet` of a test is like"

LINES = 100
"""How many of the last lines of its timeline are shown where a test fails."""

_FLEET = pytest.StashKey["Fleet"]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def fleet(request: pytest.FixtureRequest) -> "Iterator[Fleet]":
    """A hub, workers and a dispatcher in this process, whose time passes only while the test waits."""
    from jobferry.testing.kit import Fleet  # noqa: PLC0415 (most tests of most people need none)

    marker = request.node.get_closest_marker("jobferry")
    with Fleet(**(marker.kwargs if marker else {})) as fleet:
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Show what happened in the fleet of a test that fails."""
    try:
        return (yield)
    except BaseException:
        if fleet := item.stash.get(_FLEET, None):
            lines = "\n".join(fleet.timeline()[-LINES:])
            item.add_report_section("call", "fleet", lines)
        raise
