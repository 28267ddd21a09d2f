"""Whatever is asked of localkube, it answers, and stays as it was."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from jobferry.clock import Seconds
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from tests.api import fuzz_requests, fuzz_server, fuzz_values
from tests.api.crash_writers import Way
from tests.api.fuzz_bombs import BOMBS
from tests.api.fuzz_patches import APPLY, JSON_PATCH, MERGE, STRATEGIC
from tests.api.fuzz_plane import ATTACKERS, at_rest, place_of, storm
from tests.api.fuzz_requests import JSON, PROTOBUF, YAML
from tests.api.fuzz_run import Run
from tests.api.fuzz_server import Ask, FuzzServer

SOAK = bool(os.environ.get("JOBFERRY_SOAK"))
SEED = 20261116
REQUESTS_FOR: Seconds = 420.0 if SOAK else 20.0
WIRE_FOR: Seconds = 180.0 if SOAK else 10.0
MOST_GROWTH = 48 << 20
"""How much more memory a server may have after the attacks: its buffers, and what Python does not give back."""

pytestmark = pytest.mark.timeout(1800 if SOAK else 240)

PLAIN_CRD = {
    "metadata": {"name": "anythings.fuzz.example.com"},
    "spec": {
        "group": "fuzz.example.com",
        "scope": "Namespaced",
        "names": {"plural": "anythings", "kind": "Anything"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


@pytest.fixture
async def fuzzed(tmp_path: Path) -> AsyncIterator[FuzzServer]:
    async with fuzz_server.running(tmp_path) as found:
        yield found


def check(fuzzed: FuzzServer) -> None:
    assert not fuzzed.wrong, "\n\n".join(fuzzed.wrong[:5])
    assert not fuzzed.complaints.found, "\n".join(fuzzed.complaints.found[:3])


async def test_no_request_breaks_the_server_or_what_is_stored(fuzzed: FuzzServer) -> None:
    run = Run(fuzzed, fuzz_requests.World(Random(SEED)))
    await run.prepare()
    watches, tasks = fuzzed.watches, len(asyncio.all_tasks())
    await run.go_on(REQUESTS_FOR)
    check(fuzzed)
    assert fuzzed.watches == watches
    assert len(asyncio.all_tasks()) == tasks
    assert run.checked > 100
    assert fuzzed.codes[201] > 50
    assert fuzzed.codes[422] > 50


async def test_no_body_breaks_the_server(fuzzed: FuzzServer) -> None:
    run = Run(fuzzed, fuzz_requests.World(Random(SEED)))
    await run.prepare()
    typed = (("Content-Type", JSON),)
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    reply = await fuzzed.ask(Ask("POST", crds, fuzz_values.dumps(PLAIN_CRD), typed))
    assert reply.code == 201
    for path, about in (
        ("/api/v1/namespaces/fuzz/configmaps", "v1/ConfigMap"),
        ("/apis/fuzz.example.com/v1/namespaces/fuzz/anythings", "fuzz.example.com/v1/Anything"),
    ):
        version, _, name = about.rpartition("/")
        first = {"apiVersion": version, "kind": name, "metadata": {"name": "a"}}
        reply = await fuzzed.ask(Ask("POST", path, fuzz_values.dumps(first), typed))
        assert reply.code == 201
        for body in BOMBS:
            for kind in (JSON, YAML, PROTOBUF):
                await fuzzed.ask(Ask("POST", path, body, (("Content-Type", kind),)))
                await fuzzed.ask(Ask("PUT", f"{path}/a", body, (("Content-Type", kind),)))
                await fuzzed.ask(Ask("DELETE", f"{path}/b", body, (("Content-Type", kind),)))
            for kind in (JSON_PATCH, MERGE, STRATEGIC, APPLY):
                target = f"{path}/a?fieldManager=a"
                await fuzzed.ask(Ask("PATCH", target, body, (("Content-Type", kind),)))
    await run.check()
    check(fuzzed)


async def test_nothing_that_arrives_at_the_socket_breaks_the_server_or_stays() -> None:
    async with ControlPlane(version=assets.LOCALKUBE) as plane:
        rng = Random(SEED)
        way, place = Way(plane), place_of(plane)
        await storm(rng, place, way, WIRE_FOR / 3)  # what is needed once is there then
        before = await at_rest(plane)
        sent = await storm(rng, place, way, WIRE_FOR)
        after = await at_rest(plane, before.files)
        await way.close()
        assert sent > 10 * ATTACKERS
        assert after.files <= before.files
        assert after.memory - before.memory < MOST_GROWTH
        log = (plane.folder / "kube-apiserver.log").read_text()
        wrong = sorted(set(re.findall("(?m)(?:Traceback|Exception|ERROR|WARNING).*$", log)))
        assert not wrong, "\n".join(wrong[:20])
