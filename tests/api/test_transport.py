"""Connections to a real API server: TLS, proxies, large and endless answers."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import orjson
import pytest

from jobferry.clock import SystemClock
from jobferry.kube import calls, errors
from jobferry.kube.access import Access, Fixed, Identity
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import CONFIG_MAPS, NODES
from jobferry.kube.transport import HttpTransport
from jobferry.kube.wire import Request
from jobferry.testing.certificates import Authority
from jobferry.testing.control_plane import ControlPlane
from tests.unit.kube.peers import LOOPBACK, ConnectProxy, Script, Socks5Proxy, served

pytestmark = pytest.mark.api

VERSION = Request("GET", "/version")
WHO_AM_I = Request(
    "POST",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    (("Content-Type", "application/json"),),
    b'{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}',
)


@pytest.fixture
async def http(plane: ControlPlane) -> AsyncIterator[HttpTransport]:
    transport = HttpTransport(plane.access().server, SystemClock())
    yield transport
    await transport.close()


def client(access: Access) -> Client:
    return connect(access, name="plane", clock=SystemClock())


def known_as(plane: ControlPlane, name: str) -> Identity:
    pair = plane.certificate(name)
    return Identity(certificate=pair.certificate, key=pair.key)


async def name_of(http: HttpTransport, identity: Identity) -> str:
    answer = await http.send(replace(WHO_AM_I, identity=identity), within=10)
    name: str = orjson.loads(answer.body)["status"]["userInfo"]["username"]
    return name


def idle(http: HttpTransport) -> int:
    return len(http._lane.idle) if http._lane else 0


async def test_one_connection_serves_one_request_after_the_other(http: HttpTransport) -> None:
    for _ in range(20):
        assert (await http.send(VERSION, within=10)).code == 200

    assert idle(http) == 1


async def test_whoever_asks_is_known_by_the_certificate_of_that_request(
    http: HttpTransport, plane: ControlPlane
) -> None:
    ann, bob = known_as(plane, "ann"), known_as(plane, "bob")

    names = [await name_of(http, who) for who in (ann, bob, ann)]

    assert names == ["ann", "bob", "ann"]
    assert idle(http) == 1


async def test_a_certificate_of_another_authority_makes_nobody(plane: ControlPlane) -> None:
    pair = Authority(SystemClock().now()).client("admin", ["system:masters"])
    stranger = Fixed(Identity(certificate=pair.certificate, key=pair.key))

    # localkube ends such a connection in the TLS handshake: Python cannot let it pass.
    refused = (errors.Unauthorized, errors.Unreachable)
    async with client(replace(plane.access(), credentials=stranger)) as nobody:
        with pytest.raises(refused):
            await nobody.get(NODES, "n")


@pytest.mark.parametrize("scheme", ["http", "socks5"])
async def test_a_proxy_is_gone_through(plane: ControlPlane, scheme: str) -> None:
    script: Script = ConnectProxy() if scheme == "http" else Socks5Proxy()
    access = plane.access()

    async with served(script) as proxy:
        url = f"{scheme}://{LOOPBACK}:{proxy.port}"
        through = replace(access, server=replace(access.server, proxy_url=url))
        async with client(through) as via:
            assert (await via.raw("/version"))["major"]

    assert len(proxy.visitors) == 1


async def test_an_object_of_a_megabyte_goes_there_and_back(
    cluster: Client, namespace: str
) -> None:
    big = {"metadata": {"name": "big", "namespace": namespace}, "data": {"x": "ü" * 500_000}}

    await cluster.create(CONFIG_MAPS, big)

    assert (await cluster.get(CONFIG_MAPS, "big", namespace))["data"] == big["data"]


async def test_an_object_that_is_too_large_is_told_and_the_next_request_works(
    cluster: Client, namespace: str
) -> None:
    huge = {
        "metadata": {"name": "huge", "namespace": namespace},
        "data": {"x": "x" * 4_000_000},
    }

    with pytest.raises(errors.ApiError, match="Request entity too large") as caught:
        await cluster.create(CONFIG_MAPS, huge)

    assert caught.value.code == 413
    assert (await cluster.raw("/version"))["major"]


async def test_a_watch_that_is_left_leaves_nothing_open(
    plane: ControlPlane, namespace: str
) -> None:
    scope = Scope(resource=CONFIG_MAPS, namespace=namespace)
    access = plane.access()
    http = HttpTransport(access.server, SystemClock())
    identity = await access.credentials.identity()
    call = calls.watch(scope, "0", timeout=60)

    async with http.stream(
        Request(call.method, call.target, identity=identity), within=10
    ) as stream:
        assert stream.code == 200
        assert len(http._busy) == 1

    assert (len(http._busy), idle(http)) == (0, 0)
    await http.close()


async def test_requests_that_are_given_up_do_no_harm_to_others(
    cluster: Client, namespace: str
) -> None:
    async def one(number: int) -> None:
        name = f"m{number}"
        body = {"metadata": {"name": name, "namespace": namespace}}
        creating = asyncio.create_task(cluster.create(CONFIG_MAPS, body))
        for _ in range(number):
            await asyncio.sleep(0)
        creating.cancel()
        await asyncio.wait([creating])
        try:
            read = await cluster.get(CONFIG_MAPS, name, namespace)
        except errors.NotFound:
            return
        assert read["metadata"]["name"] == name

    async with asyncio.TaskGroup() as group:
        for number in range(100):
            group.create_task(one(number))
