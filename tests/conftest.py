"""What every test can ask for; and which tests are left out where their needs are not met."""

import asyncio
import functools
import gc
import logging
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from secrets import token_hex

import hypothesis
import pytest

from jobferry.clock import SystemClock
from jobferry.kube import resources
from jobferry.kube.client import Client, connect
from jobferry.testing import assets
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from tests import needs

new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    from uvloop import new_event_loop
except ImportError:  # it is not for every platform
    from asyncio import new_event_loop

# How long an example takes says more about the machine than about the code. `make test` tries the same few examples
# every time; `make soak` always others, and many.
hypothesis.settings.register_profile(
    "untimed",
    deadline=None,
    derandomize=not needs.SOAK,
    max_examples=500 if needs.SOAK else 50,
)
hypothesis.settings.load_profile("untimed")

TRAPS = pytest.StashKey[needs.Traps]()
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
        if need := needs.unmet(item):
            left_out[need] = left_out.get(need, 0) + 1
        else:
            kept.append(item)
            _leave_fixtures_untimed(item)
            _end_when_overdue(item)
    config.stash[LEFT_OUT] = left_out
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept


def pytest_collection_finish() -> None:
    """Look for garbage seldom: what was imported is none, and to see that took a fifth of the tests' time."""
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say in one line what was left out."""
    if left_out := config.stash.get(LEFT_OUT, {}):
        parts = [f"{count} that {need}" for need, count in left_out.items()]
        terminalreporter.write_line("Tests left out: " + "; ".join(parts) + ".")


def pytest_configure(config: pytest.Config) -> None:
    """Set traps for tests that use what they do not say they need."""
    config.stash[TRAPS] = needs.Traps()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the traps."""
    config.stash[TRAPS].remove()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Hide from a test what it does not say it needs."""
    with item.config.stash[TRAPS].around(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Fail a test whose fixtures need what it does not say."""
    try:
        yield
    finally:
        item.config.stash[TRAPS].check(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Fail a test that needs what it does not say."""
    try:
        yield
    finally:
        item.config.stash[TRAPS].check(item)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """Keep an eye on fixtures that start real programs."""
    traps = request.config.stash[TRAPS]
    before = traps.started
    value = yield
    traps.made(value, before)
    return value


def _leave_fixtures_untimed(item: pytest.Item) -> None:
    """Time the test alone: a control plane that is started for the first test has its own limit."""
    if needs.may_be_real(item) and not item.get_closest_marker("timeout"):
        item.add_marker(pytest.mark.timeout(func_only=True))


def _end_when_overdue(item: pytest.Item) -> None:
    """Cancel an async test at its limit: uvloop swallows what pytest-timeout raises from its signal."""
    function = getattr(item, "obj", None)
    if not isinstance(item, pytest.Function) or not asyncio.iscoroutinefunction(function):
        return
    marker = item.get_closest_marker("timeout")
    general = item.config.getoption("timeout") or item.config.getini("timeout")
    limit = float(marker.args[0] if marker and marker.args else general)
    if not limit:
        return
    # What cannot even be cancelled is the end of the whole run: that is better than none.
    last = pytest.mark.timeout(3 * limit, method="thread", func_only=True)
    item.add_marker(last, append=False)

    @functools.wraps(function)
    async def limited(*args: object, **kwargs: object) -> None:
        told = f"{item.nodeid} cannot be ended\n"
        telling = asyncio.get_running_loop().call_later(2 * limit, sys.stderr.write, told)
        try:
            async with asyncio.timeout(limit):
                await function(*args, **kwargs)
        finally:
            telling.cancel()

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


@pytest.fixture(autouse=True)
def log_as_before() -> Iterator[None]:
    """Undo what a command does to the log of its process: the next test looks into its own."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    root.setLevel(level)
    for handler in root.handlers[:]:
        if handler not in handlers:
            root.removeHandler(handler)


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
