import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import pytest

from jobferry.errors import BadInput
from jobferry.kube import errors
from jobferry.kube.access import Server
from jobferry.kube.wire import Request
from tests.unit.kube.peers import (
    LOOPBACK,
    ConnectProxy,
    Script,
    Socks5Proxy,
    Visitor,
    always_ok,
    saying,
    served,
    silent,
    tls_of,
)
from tests.unit.kube.reach import AUTHORITY, HERE, ask, dialled, resetting, secure, unanswered

pytestmark = pytest.mark.usefixtures("tidy")

# -- where -------------------------------------------------------------------------------------


async def test_a_url_says_host_port_and_where_paths_begin() -> None:
    heads = []

    async def note(visitor: Visitor) -> None:
        heads.append(await visitor.request())
        await visitor.say(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with served(note) as peer:
        await ask(Server(url=f"{peer.url}/k8s/clusters/c-1"))

    assert heads == [
        f"GET /k8s/clusters/c-1/x HTTP/1.1\r\nHost: {LOOPBACK}:{peer.port}\r\n\r\n".encode()
    ]


async def test_a_host_is_reached_at_whichever_of_its_addresses_answers() -> None:
    async with served(always_ok) as peer:
        got = await ask(Server(url=f"http://localhost:{peer.port}"))

    assert got.code == 200


def has_ipv6() -> bool:
    with suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        return True
    return False


@pytest.mark.skipif(not has_ipv6(), reason="there is no IPv6 here")
async def test_ipv6_works_with_and_without_a_proxy() -> None:
    proxy = ConnectProxy()
    socks = Socks5Proxy()
    async with (
        served(always_ok, tls=tls_of(HERE), host="::1") as peer,
        served(proxy) as http,
        served(socks) as socks5,
    ):
        server = Server(url=peer.url, ca=AUTHORITY.certificate)
        direct = await ask(server)
        via_http = await ask(replace(server, proxy_url=http.url))
        via_socks = await ask(replace(server, proxy_url=f"socks5://{LOOPBACK}:{socks5.port}"))

    assert direct.code == via_http.code == via_socks.code == 200
    assert proxy.heads[0].startswith(f"CONNECT [::1]:{peer.port} HTTP/1.1\r\n")
    assert socks.targets == [(4, bytes(15) + b"\1")]


async def test_a_vanished_peer_is_noticed_by_the_system() -> None:
    async with served(silent) as peer:
        connection = await dialled(Server(url=peer.url))
        assert connection._transport is not None
        sock: socket.socket = connection._transport.get_extra_info("socket")

        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

        connection.close()


async def test_a_port_where_nobody_listens_is_told() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(
        errors.Unreachable, match=f"^no connection to {LOOPBACK}:{port}: Connection refused$"
    ):
        await dialled(Server(url=f"http://{LOOPBACK}:{port}"))


async def test_a_host_that_does_not_exist_is_told() -> None:
    with pytest.raises(errors.Unreachable, match=r"'nowhere\.invalid' cannot be resolved"):
        await dialled(Server(url="http://nowhere.invalid:1"))


@pytest.mark.parametrize("name", ["a..b", "x" * 64, "ü" * 64])
async def test_a_name_that_no_host_can_have_is_refused(name: str) -> None:
    for server in (
        Server(url=f"http://{name}:1"),
        Server(url="http://x:1", proxy_url=f"http://{name}:1"),
    ):
        with pytest.raises(BadInput, match="cannot be the name of a host"):
            await dialled(server)


# -- proxies -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "socks5", "socks5h"])
async def test_tls_goes_through_a_proxy_unseen(scheme: str) -> None:
    script: Script = ConnectProxy() if scheme == "http" else Socks5Proxy()

    async with secure() as server, served(script) as proxy:
        url = f"{scheme}://{LOOPBACK}:{proxy.port}"
        got = await ask(
            replace(server, proxy_url=url), request=Request("GET", "/" + "x" * 9999)
        )

    assert got.code == 200
    assert len(proxy.visitors) == 1


async def test_an_http_proxy_is_told_where_to_and_who_asks() -> None:
    proxy = ConnectProxy()

    async with served(always_ok) as peer, served(proxy) as http:
        at = f"ann:p%40ss%0d%0aX:y@{LOOPBACK}:{http.port}"
        await ask(Server(url=peer.url, proxy_url=f"http://{at}"))

    target = f"{LOOPBACK}:{peer.port}"
    assert proxy.heads[0].split("\r\n") == [
        f"CONNECT {target} HTTP/1.1",
        f"Host: {target}",
        "Proxy-Authorization: Basic YW5uOnBAc3MNClg6eQ==",
        "",
        "",
    ]


async def test_an_http_proxy_resolves_names_itself() -> None:
    proxy = ConnectProxy()

    async with served(always_ok) as peer, served(proxy) as http:
        await ask(Server(url=f"http://localhost:{peer.port}", proxy_url=http.url))

    assert proxy.heads[0].startswith(f"CONNECT localhost:{peer.port} HTTP/1.1\r\n")


@pytest.mark.parametrize(
    ("says", "told"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "refused .*: 407 Proxy Auth"),
        (b"HTTP/1.1 403 Forbidden\r\nX: y\r\n\r\nbody", "refused .*: 403 Forbidden"),
        (b"HTTP/1.1 200 OK\r\n", "gave no answer to CONNECT"),
        (b"", "gave no answer to CONNECT"),
        (b"x" * 20_000, "gave no answer to CONNECT"),
        (b"junk\r\n\r\n", "refused .*: junk"),
    ],
    ids=["who are you", "no", "cut", "silence", "flood", "junk"],
)
async def test_an_http_proxy_that_will_not_is_told(says: bytes, told: str) -> None:
    async with served(saying(says)) as proxy:
        url = f"http://ann:secret@{LOOPBACK}:{proxy.port}"

        with pytest.raises(errors.Unreachable, match=f"the proxy {LOOPBACK} {told}") as caught:
            await dialled(Server(url="http://nowhere:1", proxy_url=url))

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("family", [1, 3, 4])
async def test_a_socks_proxy_may_say_where_it_stands_in_any_way(family: int) -> None:
    proxy = Socks5Proxy(family=family)

    async with served(always_ok) as peer, served(proxy) as socks:
        url = f"socks5://{LOOPBACK}:{socks.port}"
        by_address = await ask(Server(url=peer.url, proxy_url=url))
        by_name = await ask(Server(url=f"http://localhost:{peer.port}", proxy_url=url))

    assert by_address.code == by_name.code == 200
    assert proxy.targets == [(1, bytes([127, 0, 0, 1])), (3, b"localhost")]


async def test_a_socks_proxy_may_want_to_know_who_asks() -> None:
    proxy = Socks5Proxy(user=b"ann", password=b"p@ss")

    async with served(always_ok) as peer, served(proxy) as socks:
        url = f"socks5://ann:p%40ss@{LOOPBACK}:{socks.port}"

        assert (await ask(Server(url=peer.url, proxy_url=url))).code == 200


async def test_a_user_name_is_not_sent_to_a_socks_proxy_that_wants_none() -> None:
    async with served(always_ok) as peer, served(Socks5Proxy()) as socks:
        url = f"socks5://ann:secret@{LOOPBACK}:{socks.port}"

        assert (await ask(Server(url=peer.url, proxy_url=url))).code == 200


@pytest.mark.parametrize(
    ("user", "told"),
    [("ann:wrong@", "refused our user name"), ("", "refused us without a user name")],
)
async def test_a_socks_proxy_that_does_not_know_us_is_told(user: str, told: str) -> None:
    async with served(Socks5Proxy(user=b"ann", password=b"right")) as socks:
        url = f"socks5://{user}{LOOPBACK}:{socks.port}"

        with pytest.raises(errors.Unreachable, match=f"^the proxy {LOOPBACK} {told}$"):
            await dialled(Server(url="http://nowhere:1", proxy_url=url))


@pytest.mark.parametrize("user", ["x" * 256, f"ann:{'x' * 256}"])
async def test_a_user_that_socks_cannot_carry_is_refused(user: str) -> None:
    async with served(Socks5Proxy(user=b"ann")) as socks:
        url = f"socks5://{user}@{LOOPBACK}:{socks.port}"

        with pytest.raises(BadInput, match="too long"):
            await dialled(Server(url="http://nowhere:1", proxy_url=url))


@pytest.mark.parametrize(
    ("says", "told"),
    [
        (b"\x05\x00\x05\x05\x00\x01" + bytes(6), "could not reach nowhere:1: code 5"),
        (b"\x05\x00\x05\x00\x00\x01", "hung up: it closed the connection"),
        (b"\x05", "hung up: it closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak SOCKS5"),
    ],
    ids=["no", "cut", "cut at once", "not socks"],
)
async def test_a_socks_proxy_that_will_not_is_told(says: bytes, told: str) -> None:
    async def say(visitor: Visitor) -> None:
        await visitor.reader.read(3)
        await visitor.say(says)
        visitor.writer.write_eof()
        await visitor.gone()

    async with served(say) as socks:
        url = f"socks5://{LOOPBACK}:{socks.port}"

        with pytest.raises(errors.Unreachable, match=f"^the proxy {LOOPBACK} {told}"):
            await dialled(Server(url="http://nowhere:1", proxy_url=url))


@pytest.mark.parametrize("url", ["https://proxy:1", "ftp://proxy", "proxy:3128", "http://"])
async def test_a_proxy_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match=r"proxy-url .* cannot be used") as caught:
        await dialled(Server(url="http://x:1", proxy_url=url))

    assert caught.value.hint


async def test_a_proxy_that_is_not_there_is_told() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(errors.Unreachable, match=f"no connection to {LOOPBACK}:{port}"):
        await dialled(Server(url="http://x:1", proxy_url=f"http://{LOOPBACK}:{port}"))


# -- giving up ---------------------------------------------------------------------------------


@asynccontextmanager
async def quiet_tls() -> AsyncIterator[Server]:
    """Run a server that never says its part of the TLS handshake."""
    async with served(silent) as peer:
        yield Server(url=peer.url.replace("http:", "https:"), ca=AUTHORITY.certificate)


@asynccontextmanager
async def quiet_proxy(scheme: str) -> AsyncIterator[Server]:
    """Run a proxy that never says a word."""
    async with served(silent) as peer:
        yield Server(url="http://x:1", proxy_url=f"{scheme}://{LOOPBACK}:{peer.port}")


@pytest.mark.parametrize("place", ["connect", "tls", "http", "socks5"])
async def test_giving_up_leaves_nothing_behind(place: str) -> None:
    places = {"connect": unanswered, "tls": quiet_tls}
    async with places[place]() if place in places else quiet_proxy(place) as server:
        dialling = asyncio.create_task(dialled(server))
        for _ in range(200):
            await asyncio.sleep(0)
        assert not dialling.done()

        dialling.cancel()
        await asyncio.wait([dialling])

        assert dialling.cancelled()


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_peers_that_hang_up_at_once_leave_nothing_behind(scheme: str) -> None:
    with resetting() as port:
        server = Server(url=f"{scheme}://{LOOPBACK}:{port}", ca=AUTHORITY.certificate)
        for _ in range(300):
            with suppress(errors.Unreachable):
                (await dialled(server)).close()
