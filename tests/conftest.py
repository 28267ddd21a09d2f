"""What every test can ask for; and which tests are left out where their needs are not met."""

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from secrets import token_hex

import hypothesis
import pytest

from jobferry.clock import SystemClock
from jobferry.kube import resources
from jobferry.kube.client import Client, connect
from jobferry.testing import assets
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane

new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    from uvloop import new_event_loop
except ImportError:  # it is not for every platform
    from asyncio import new_event_loop

# How long an example takes says more about the machine than about the code. CI tries the same examples every
# time; `make soak` always others.
hypothesis.settings.register_profile(
    "untimed", deadline=None, derandomize="JOBFERRY_SOAK" not in os.environ
)
hypothesis.settings.load_profile("untimed")

LEFT_OUT = pytest.StashKey[dict[str, int]]()
"""How many tests were left out, by what would bring them in."""


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run every async test on the loop that the product uses."""
    return {"loop": new_event_loop}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what cannot or should not run here, and keep count."""
    left_out: dict[str, int] = {}
    kept = []
    for item in items:
        if need := _unmet_need(item):
            left_out[need] = left_out.get(need, 0) + 1
        else:
            kept.append(item)
            _leave_fixtures_untimed(item)
            _end_when_overdue(item)
    config.stash[LEFT_OUT] = left_out
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say in one line what was left out."""
    if left_out := config.stash.get(LEFT_OUT, {}):
        parts = [f"{count} that {need}" for need, count in left_out.items()]
        terminalreporter.write_line("Tests left out: " + "; ".join(parts) + ".")


def _unmet_need(item: pytest.Item) -> str | None:
    if item.get_closest_marker("soak") and not os.environ.get("JOBFERRY_SOAK"):
        return "take long (`make soak` runs them)"
    if marker := item.get_closest_marker("kube"):
        for version in (assets.CURRENT, *marker.args):
            if assets.missing(version):
                return _without(version)
    return None


def _without(version: str) -> str:
    command = assets.command_for(version)
    need = f"need Kubernetes {version} (`{command}` gets it)"
    if os.environ.get("JOBFERRY_REQUIRE_KUBE") and version not in assets.SKEW:
        raise pytest.UsageError(
            f"JOBFERRY_REQUIRE_KUBE is set, but there are tests that {need}"
        )
    return need


def _leave_fixtures_untimed(item: pytest.Item) -> None:
    """Time the test alone: a control plane that is started for the first test has its own limit."""
    if item.get_closest_marker("kube") and not item.get_closest_marker("timeout"):
        item.add_marker(pytest.mark.timeout(func_only=True))


def _end_when_overdue(item: pytest.Item) -> None:
    """Cancel an async test at its limit: uvloop swallows what pytest-timeout raises from its signal."""
    function = getattr(item, "obj", None)
    if not isinstance(item, pytest.Function) or not asyncio.iscoroutinefunction(function):
        return
    marker = item.get_closest_marker("timeout")
    general = item.config.getoption("timeout") or item.config.getini("timeout")
    limit = float(marker.args[0] if marker and marker.args else general)
    # Long before pytest-timeout: its signal, in the middle of our own timer, would be the end of both.
    item.add_marker(pytest.mark.timeout(3 * limit, func_only=True), append=False)

    @functools.wraps(function)
    async def limited(*args: object, **kwargs: object) -> None:
        async with asyncio.timeout(limit or None):
            await function(*args, **kwargs)

    item.obj = limited


BOTH = (
    pytest.param(assets.CURRENT, marks=pytest.mark.kube, id="kubernetes"),
    pytest.param(assets.LOCALKUBE, id="localkube"),
)
"""The servers on which tests run that are marked `api`: a real one, and ours."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked `api` on a real API server and on localkube."""
    if "plane" in metafunc.fixturenames and metafunc.definition.get_closest_marker("api"):
        metafunc.parametrize("plane", BOTH, indirect=True, scope="session")


@pytest.fixture(scope="session")
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """An API server that all tests share, a real one unless they are marked `api`; no controller runs on it."""
    control_plane = ControlPlane(version=getattr(request, "param", assets.CURRENT)).start()
    yield control_plane
    control_plane.stop()


@pytest.fixture(scope="session")
def job_plane() -> Iterator[ControlPlane]:
    """A real control plane that all tests share, on which Jobs are run once there is a kubelet."""
    control_plane = ControlPlane(controllers=JOB_CONTROLLERS).start()
    yield control_plane
    control_plane.stop()


@pytest.fixture
async def cluster(plane: ControlPlane) -> AsyncIterator[Client]:
    """A client that may do everything on `plane`."""
    async with connect(plane.access(), name="plane", clock=SystemClock()) as client:
        yield client


@pytest.fixture
async def namespace(cluster: Client) -> AsyncIterator[str]:
    """A new namespace on `plane`."""
    name = f"test-{token_hex(5)}"
    await cluster.create(resources.NAMESPACES, {"metadata": {"name": name}})
    yield name
    await cluster.delete(resources.NAMESPACES, name)
