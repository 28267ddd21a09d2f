"""Both servers beside each other: what is asked for after it was forgotten. Ends all watches: runs last."""

import asyncio
from typing import Any

import pytest

from jobferry.testing.control_plane import ControlPlane
from tests.api.twins import Twins


def without_versions(event: Any) -> None:
    start = event["object"]["message"].partition(":")[0]
    assert start == "too old resource version"
    event["object"]["message"] = start


pytestmark = [pytest.mark.kube, pytest.mark.timeout(90)]


async def test_what_was_compacted_is_gone(
    twin_planes: tuple[ControlPlane, ControlPlane],
) -> None:
    async with Twins(twin_planes) as twins:
        place = await twins.namespace()
        path = f"/api/v1/namespaces/{place}/configmaps"
        for name in "abc":
            await twins.ask("POST", path, {"metadata": {"name": name}})
        page = await twins.get(path, limit="1")
        await twins.ask("DELETE", f"{path}/b")
        version = page.each("metadata", "resourceVersion")
        resume = page.each("metadata", "continue")
    for plane in twin_planes:
        await asyncio.to_thread(plane.compact)
        await asyncio.to_thread(plane.restart)
    async with Twins(twin_planes) as twins:
        exact = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
        await twins.same("GET", path, query=exact)
        await twins.same("GET", path, query={"resourceVersion": version})
        watch = {"watch": "true", "timeoutSeconds": "1", "resourceVersion": version}
        await twins.same("GET", path, query=watch, adapt=without_versions)
        late = await twins.same("GET", path, query={"continue": resume, "limit": "1"})
        assert late.code == 410
        again = late.each("metadata", "continue")
        await twins.same("GET", path, query={"continue": again, "limit": "1"})
        await twins.get(path)
        twins.differing.check()
