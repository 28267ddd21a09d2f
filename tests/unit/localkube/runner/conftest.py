"""What tests of the runner can ask for."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.localkube.runner.world import World, world


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[World]:
    """A cluster whose node does not run yet."""
    async with world(tmp_path) as made:
        yield made


@pytest.fixture
async def node(cluster: World) -> AsyncIterator[World]:
    """A cluster whose node runs pods."""
    async with cluster.runner():
        yield cluster
