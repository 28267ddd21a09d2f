"""Every kind on API servers with its real CRD, and with a small one: its mirror is taken, its life is shown."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from secrets import token_hex

import pytest

from jobferry.clock import SystemClock
from jobferry.core.marks import Standing
from jobferry.kinds.forwarding import Edits
from jobferry.kube import errors, resources
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import CRDS
from jobferry.objects import Obj, conditions
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from jobferry.testing.wait import until
from tests import needs
from tests.workloads import crds
from tests.workloads.examples import ADAPTERS, CUSTOM, EXAMPLES, NAMES, NOW, golden, marks_of
from tests.workloads.lives import ENDS, LIVES
from tests.workloads.schemas import Additions, schema_of

pytestmark = pytest.mark.timeout(60)

DRAWN = 200 if needs.SOAK else 16
"""How many workloads of each kind are drawn."""

SERVERS = [
    pytest.param((assets.CURRENT, "real"), marks=pytest.mark.kube, id="kubernetes-real"),
    pytest.param((assets.CURRENT, "small"), marks=pytest.mark.kube, id="kubernetes-small"),
    pytest.param((assets.LOCALKUBE, "real"), marks=pytest.mark.kube, id="localkube-real"),
    pytest.param((assets.LOCALKUBE, "small"), id="localkube-small"),
]
"""Where they are tried: the CRDs that projects ship are there only where `make kube` got them."""


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """An API server that has the CRDs of all kinds."""
    version, which = request.param
    flags = ("--allow-privileged=true",) if version != assets.LOCALKUBE else ()
    plane = ControlPlane(version=version, api_server_flags=flags).start()
    try:
        asyncio.run(define(plane, crds.real() if which == "real" else crds.smallest()))
        yield plane
    finally:
        plane.stop()


async def define(plane: ControlPlane, definitions: list[Obj]) -> None:
    """Install CRDs, and wait until all are served."""
    async with connect(plane.access(), name="plane", clock=SystemClock()) as client:
        await asyncio.gather(*(client.create(CRDS, each) for each in definitions))
        for each in definitions:
            await until(client, CRDS, each["metadata"]["name"], None, is_established)


def is_established(crd: Obj) -> bool:
    return conditions.is_true(crd.get("status", {}).get("conditions"), "Established")


@pytest.fixture
async def client(server: ControlPlane) -> AsyncIterator[Client]:
    """Somebody who may do everything."""
    async with connect(server.access(), name="plane", clock=SystemClock()) as connected:
        yield connected


@pytest.fixture
async def place(client: Client) -> str:
    """A new namespace, fit for pods."""
    name = f"team-{token_hex(5)}"
    await client.create(resources.NAMESPACES, {"metadata": {"name": name}})
    account = {"metadata": {"name": "default", "namespace": name}}
    await client.create(resources.SERVICE_ACCOUNTS, account)
    return name


async def made(client: Client, name: str, place: str) -> tuple[Obj, Obj]:
    """Create the example of a kind on the hub, and its mirror, beside it."""
    adapter = ADAPTERS[name]
    hub = await client.create(
        adapter.resource, EXAMPLES[name], namespace=place, field_validation="Strict"
    )
    sent = adapter.mirror(hub, marks_of(hub, name=f"{hub['metadata']['name']}-mirror"), "")
    mirror = await client.create(adapter.resource, sent, field_validation="Strict")
    assert adapter.dropped_fields(sent, mirror) == []
    return hub, mirror


@pytest.mark.parametrize("name", NAMES)
async def test_the_mirror_of_an_example_is_taken_as_it_is_and_is_ours(
    client: Client, place: str, name: str
) -> None:
    adapter = ADAPTERS[name]
    hub, mirror = await made(client, name, place)

    mine = marks_of(hub, name=mirror["metadata"]["name"])
    assert mine.judge(mirror).standing is Standing.CURRENT
    assert adapter.managed_by(mirror) in ("", adapter.own_controller)
    assert adapter.edits(hub, mirror, "") == Edits(None)
    assert not adapter.is_suspended(hub)
    assert not adapter.is_suspended(mirror)


@pytest.mark.parametrize("name", [name for name in CUSTOM if "example" not in name])
async def test_a_golden_mirror_is_taken_as_it_is(client: Client, place: str, name: str) -> None:
    adapter, hub = ADAPTERS[name], golden(name).hub
    hub["metadata"]["namespace"] = place
    sent = adapter.mirror(hub, marks_of(hub), "")

    answer = await client.create(adapter.resource, sent, field_validation="Strict")

    assert adapter.dropped_fields(sent, answer) == []


@pytest.mark.parametrize("name", NAMES)
async def test_the_whole_life_of_a_mirror_is_shown_on_the_hub(
    client: Client, place: str, name: str
) -> None:
    adapter = ADAPTERS[name]
    hub, mirror = await made(client, name, place)
    spec, generation = hub["spec"], hub["metadata"].get("generation")

    for status in LIVES[name]:
        mirror = await write_status(client, name, mirror, {"status": status})
        for _ in range(3):
            report = adapter.report(hub, mirror, "", NOW)
            if report is None:
                break
            hub = await write_status(client, name, hub, report.patch)
            assert adapter.finish(hub) == report.end
        assert adapter.report(hub, mirror, "", NOW) is None
        assert (hub["spec"], hub["metadata"].get("generation")) == (spec, generation)

    assert adapter.finish(hub) == ENDS[name]


async def write_status(client: Client, name: str, obj: Obj, patch: Obj) -> Obj:
    """Write a status as a dispatcher or an operator does."""
    metadata = obj["metadata"]
    return await client.patch(
        ADAPTERS[name].resource,
        metadata["name"],
        patch,
        namespace=metadata["namespace"],
        subresource="status",
    )


@pytest.mark.parametrize("name", NAMES)
async def test_the_hub_takes_what_we_say_ourselves(
    client: Client, place: str, name: str
) -> None:
    adapter = ADAPTERS[name]
    hub, _ = await made(client, name, place)

    report = adapter.fail(hub, "NoWorker", "No worker took it within 60 s", NOW)

    assert report is not None
    hub = await write_status(client, name, hub, report.patch)
    assert adapter.finish(hub) == "Failed"
    assert adapter.fail(hub, "NoWorker", "No worker took it within 60 s", NOW) is None


@pytest.mark.parametrize(
    "name", [name for name in NAMES if ADAPTERS[name].stop(EXAMPLES[name])]
)
async def test_what_is_suspended_on_the_hub_stops_on_its_worker_and_goes_on(
    client: Client, place: str, name: str
) -> None:
    adapter = ADAPTERS[name]
    hub, mirror = await made(client, name, place)
    stop = adapter.stop(hub)
    assert stop is not None

    hub = await client.patch(adapter.resource, hub["metadata"]["name"], stop, namespace=place)
    assert adapter.is_suspended(hub)
    mirror = await forward(client, name, hub, mirror)
    assert adapter.is_suspended(mirror)
    waiting = adapter.waiting(hub, NOW)
    if waiting is not None:
        hub = await write_status(client, name, hub, waiting.patch)
        assert adapter.waiting(hub, NOW) is None

    on = adapter.resume(EXAMPLES[name], mirror, "", NOW)
    hub = await client.patch(adapter.resource, hub["metadata"]["name"], on, namespace=place)
    mirror = await forward(client, name, hub, mirror)
    assert not adapter.is_suspended(mirror)
    waiting = adapter.waiting(hub, NOW)
    if waiting is not None:
        hub = await write_status(client, name, hub, waiting.patch)
    assert adapter.waiting(hub, NOW) is None


async def forward(client: Client, name: str, hub: Obj, mirror: Obj) -> Obj:
    """Forward the edits of a hub object; after that there are none."""
    adapter = ADAPTERS[name]
    edits = adapter.edits(hub, mirror, "")
    assert edits.patch is not None
    assert (edits.refusals, edits.drift) == ((), ())
    found = await client.patch(
        adapter.resource,
        mirror["metadata"]["name"],
        edits.patch,
        namespace=mirror["metadata"]["namespace"],
    )
    assert adapter.edits(hub, found, "") == Edits(None)
    return found


@pytest.mark.parametrize("name", NAMES)
async def test_labels_that_change_on_the_hub_are_forwarded(
    client: Client, place: str, name: str
) -> None:
    hub, mirror = await made(client, name, place)
    change = {"metadata": {"labels": {"team": "b"}, "annotations": {"note": "z" * 99}}}

    hub = await client.patch(
        ADAPTERS[name].resource, hub["metadata"]["name"], change, namespace=place
    )
    mirror = await forward(client, name, hub, mirror)

    assert mirror["metadata"]["labels"]["team"] == "b"
    assert mirror["metadata"]["annotations"]["note"] == "z" * 99


async def test_replicas_of_a_ray_cluster_are_forwarded_group_by_group(
    client: Client, place: str
) -> None:
    name = "RayCluster.ray.io"
    hub, mirror = await made(client, name, place)
    groups = [{**each, "replicas": 3} for each in hub["spec"]["workerGroupSpecs"]]

    hub = await client.patch(
        ADAPTERS[name].resource,
        hub["metadata"]["name"],
        {"spec": {"workerGroupSpecs": groups}},
        namespace=place,
    )
    mirror = await forward(client, name, hub, mirror)

    assert [each["replicas"] for each in mirror["spec"]["workerGroupSpecs"]] == [3]


async def test_a_moved_workload_begins_anew_on_the_hub(client: Client, place: str) -> None:
    for name in NAMES:
        adapter = ADAPTERS[name]
        hub, mirror = await made(client, name, place)
        mirror = await write_status(client, name, mirror, {"status": LIVES[name][-2]})
        while report := adapter.report(hub, mirror, "", NOW):
            hub = await write_status(client, name, hub, report.patch)
        base = adapter.carried(hub, mirror, "", NOW)
        assert not adapter.has_run_since(hub, base)
        again = replace(marks_of(hub, name=f"{hub['metadata']['name']}-again"), attempt=2)
        sent = adapter.mirror(hub, again, base)
        second = await client.create(adapter.resource, sent, field_validation="Strict")
        second = await write_status(client, name, second, {"status": LIVES[name][1]})

        while report := adapter.report(hub, second, base, NOW):
            hub = await write_status(client, name, hub, report.patch)

        assert adapter.has_run_since(hub, base) == (LIVES[name][1] != LIVES[name][-2])


@pytest.mark.parametrize("name", [name for name in CUSTOM if "example" not in name])
async def test_whatever_the_hub_takes_of_a_kind_its_mirror_is_taken_too(
    client: Client, place: str, name: str
) -> None:
    adapter = ADAPTERS[name]
    crd = await client.get(CRDS, str(adapter.resource))
    schema = schema_of(crd, adapter.resource.version)
    taken = 0
    for seed in range(DRAWN):
        spec = Additions(seed).added(EXAMPLES[name]["spec"], schema, number=1 + seed % 5)
        body = {**EXAMPLES[name], "metadata": {"name": f"drawn{seed}"}, "spec": spec}
        try:
            hub = await client.create(adapter.resource, body, namespace=place)
        except errors.Invalid:
            continue
        taken += 1
        sent = adapter.mirror(hub, marks_of(hub, name=f"drawn{seed}-mirror"), "")
        mirror = await client.create(adapter.resource, sent, field_validation="Strict")
        assert adapter.dropped_fields(sent, mirror) == []
        assert adapter.edits(hub, mirror, "") == Edits(None)
        assert adapter.edits(
            hub, {**mirror, "metadata": mirror["metadata"] | {"generation": 2}}, ""
        ) == Edits(None)

    assert taken >= DRAWN / 4
