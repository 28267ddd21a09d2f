"""Two servers side by side, for tests that compare them."""

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from tests.api.admission_beside import FreshControlPlane
from tests.api.kubectl_pair import Kubectls
from tests.api.twins import Twins

Planes = tuple[ControlPlane, ControlPlane]


@pytest.fixture(scope="session")
def twin_planes() -> Iterator[Planes]:
    """A real API server and localkube, with all of admission that a fresh cluster has."""
    planes = (
        FreshControlPlane(api_server_flags=("--allow-privileged=true",)),
        FreshControlPlane(version=assets.LOCALKUBE),
    )
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(ControlPlane.start, planes))
        yield planes
    finally:
        for plane in planes:
            plane.stop()


@pytest.fixture
async def twins(twin_planes: Planes) -> AsyncIterator[Twins]:
    """Both servers, asked by somebody who may do everything; what differed fails the test at its end."""
    async with Twins(twin_planes) as both:
        yield both
        both.differing.check()


@pytest.fixture
async def place(twins: Twins) -> str:
    """A new namespace on both servers, fit for pods."""
    return await twins.namespace()


@pytest.fixture(scope="module")
def kubectls(twin_planes: Planes) -> Kubectls:
    """kubectl against both servers, in a namespace for the tests of one file."""
    return Kubectls(twin_planes).in_new_namespace()
