"""Whatever is asked of localkube, it answers, and stays as it was."""

import asyncio
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from tests.api import fuzz_requests, fuzz_server, fuzz_values
from tests.api.crash_writers import Way
from tests.api.fuzz_bombs import BOMBS
from tests.api.fuzz_patches import APPLY, JSON_PATCH, MERGE, STRATEGIC
from tests.api.fuzz_plane import at_rest, place_of, storm
from tests.api.fuzz_requests import JSON, PROTOBUF, YAML
from tests.api.fuzz_run import Run
from tests.api.fuzz_server import Ask, FuzzServer

SOAK = bool(os.environ.get("JOBFERRY_SOAK"))
SEED = 20261116
REQUESTS = 200_000 if SOAK else 2500
ATTACKS = 5000 if SOAK else 40
"""Of each attacker."""

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
    watches, tasks = fuzzed.watches, asyncio.all_tasks()
    await run.go_on(REQUESTS)
    check(fuzzed)
    assert fuzzed.watches == watches
    assert asyncio.all_tasks() <= tasks
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
    places = (
        ("/api/v1/namespaces/fuzz/configmaps", "v1/ConfigMap"),
        ("/apis/fuzz.example.com/v1/namespaces/fuzz/anythings", "fuzz.example.com/v1/Anything"),
    )
    for number, (path, about) in enumerate(places):
        version, _, name = about.rpartition("/")
        first = {"apiVersion": version, "kind": name, "metadata": {"name": "a"}}
        reply = await fuzzed.ask(Ask("POST", path, fuzz_values.dumps(first), typed))
        assert reply.code == 201
        for body in BOMBS if SOAK else BOMBS[number :: len(places)]:
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
        await storm(rng, place, way, ATTACKS // 3)  # what is needed once is there then
        before = await at_rest(plane)
        await storm(rng, place, way, ATTACKS)
        after = await at_rest(plane, before.files)
        await way.close()
        assert after.files <= before.files
        assert after.memory - before.memory < MOST_GROWTH
        log = (plane.folder / "kube-apiserver.log").read_text()
        wrong = sorted(set(re.findall("(?m)(?:Traceback|Exception|ERROR|WARNING).*$", log)))
        assert not wrong, "\n".join(wrong[:20])
