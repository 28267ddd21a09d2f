import asyncio
import os
import socket
import ssl
import tempfile
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from jobferry.clock import SystemClock
from jobferry.errors import BadInput
from jobferry.kube import dial, errors
from jobferry.kube.access import ANONYMOUS, Identity, Server
from jobferry.testing.certificates import Authority, Pair
from tests.unit.kube.peers import LOOPBACK, Visitor, always_ok, served, tls_of
from tests.unit.kube.reach import AUTHORITY, HERE, ask, dialled, secure

pytestmark = pytest.mark.usefixtures("tidy")

NOW = SystemClock().now()
STRANGER = Authority(NOW)
ANN = AUTHORITY.client("ann")


def known_by(pair: Pair) -> Identity:
    return Identity(certificate=pair.certificate, key=pair.key)


# -- whom we trust -----------------------------------------------------------------------------


async def test_the_given_authority_is_trusted() -> None:
    async with secure() as server:
        assert (await ask(server)).body == b"GET /x HTTP/1.1"


async def test_a_server_of_another_authority_is_not_trusted() -> None:
    async with secure(STRANGER.server(["localhost"], [LOOPBACK])) as server:
        with pytest.raises(
            errors.Untrusted, match=f"certificate of {server.url} is not trusted"
        ):
            await dialled(server)


async def test_the_authorities_of_the_machine_count_only_where_none_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots = tmp_path / "roots.pem"
    roots.write_bytes(STRANGER.certificate)
    monkeypatch.setenv("SSL_CERT_FILE", str(roots))
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))

    async with secure(STRANGER.server(["localhost"], [LOOPBACK])) as server:
        assert (await ask(replace(server, ca=None))).code == 200
        with pytest.raises(errors.Untrusted):
            await dialled(server)


async def test_several_authorities_may_be_given() -> None:
    async with secure() as server:
        both = STRANGER.certificate + AUTHORITY.certificate

        assert (await ask(replace(server, ca=both))).code == 200


async def test_an_authority_may_come_with_comments_in_any_language() -> None:
    async with secure() as server:
        commented = "# Főtanúsítvány\n".encode() + AUTHORITY.certificate

        assert (await ask(replace(server, ca=commented))).code == 200


async def test_the_certificate_of_the_server_itself_will_do_as_in_go() -> None:
    async with secure() as server:
        assert (await ask(replace(server, ca=HERE.certificate))).code == 200


async def test_a_certificate_for_another_name_is_refused() -> None:
    async with secure(AUTHORITY.server(["elsewhere"], [])) as server:
        with pytest.raises(errors.Untrusted, match=r"is not trusted: .*127\.0\.0\.1"):
            await dialled(server)


async def test_the_name_in_the_certificate_can_be_given() -> None:
    async with secure(AUTHORITY.server(["elsewhere"], [])) as server:
        assert (await ask(replace(server, tls_server_name="elsewhere"))).code == 200
        with pytest.raises(errors.Untrusted, match="not valid for 'nowhere'"):
            await dialled(replace(server, tls_server_name="nowhere"))


@pytest.mark.parametrize("name", [".elsewhere", "x" * 64])
async def test_a_name_that_no_certificate_can_have_is_refused(name: str) -> None:
    async with secure() as server:
        with pytest.raises(BadInput, match="cannot be the name of a host"):
            await dialled(replace(server, tls_server_name=name))


async def test_an_expired_certificate_is_refused() -> None:
    past = Authority(NOW - timedelta(days=30))

    async with secure(past.server(["localhost"], [LOOPBACK])) as server:
        with pytest.raises(errors.Untrusted, match="expired"):
            await dialled(replace(server, ca=past.certificate))


async def test_a_server_without_tls_is_told() -> None:
    async def plain(visitor: Visitor) -> None:
        await visitor.reader.read(1)
        await visitor.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await visitor.gone()

    async with served(plain) as peer:
        server = Server(url=peer.url.replace("http:", "https:"), ca=AUTHORITY.certificate)

        with pytest.raises(errors.Untrusted, match="no TLS with"):
            await dialled(server)


async def test_a_server_that_hangs_up_during_the_handshake_may_be_back_soon() -> None:
    async def leave(visitor: Visitor) -> None:
        await visitor.reader.read(1)

    async with served(leave) as peer:
        server = Server(url=peer.url.replace("http:", "https:"), ca=AUTHORITY.certificate)

        with pytest.raises(
            errors.Unreachable, match=r"hung up while TLS was set up: \w"
        ) as caught:
            await dialled(server)

    assert type(caught.value) is errors.Unreachable


@pytest.mark.parametrize(
    "ca",
    [b"", b"junk", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", b"\xff"],
)
def test_an_authority_that_is_none_is_refused(ca: bytes) -> None:
    with pytest.raises(
        BadInput, match=r"^the certificate-authority cannot be used: ."
    ) as caught:
        dial.tls_context(Server(url="https://x", ca=ca), ANONYMOUS)

    assert caught.value.hint


# -- who we are --------------------------------------------------------------------------------


async def test_a_client_certificate_is_shown_to_the_server() -> None:
    subjects = []

    async def look(visitor: Visitor) -> None:
        subjects.append(visitor.writer.get_extra_info("peercert")["subject"])
        await always_ok(visitor)

    async with served(look, tls=tls_of(HERE, clients=AUTHORITY.certificate)) as peer:
        await ask(Server(url=peer.url, ca=AUTHORITY.certificate), known_by(ANN))

    assert subjects == [((("commonName", "ann"),),)]


def refuse_one(listener: socket.socket, context: ssl.SSLContext) -> None:
    """Shake hands as most servers do, which asyncio's do not: with a word on why it failed."""
    sock, _ = listener.accept()
    with context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False) as tls:
        with suppress(ssl.SSLError):
            tls.do_handshake()
        with suppress(OSError):
            while socket.socket.recv(tls, 1 << 16):
                pass


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("who", [ANONYMOUS, known_by(STRANGER.client("eve"))])
async def test_a_server_that_refuses_our_certificate_is_not_asked_again(
    version: ssl.TLSVersion, who: Identity
) -> None:
    context = tls_of(HERE, clients=AUTHORITY.certificate)
    context.maximum_version = version
    with socket.create_server((LOOPBACK, 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(refuse_one, listener, context))
        url = f"https://{LOOPBACK}:{listener.getsockname()[1]}"

        with pytest.raises(errors.Untrusted, match="ALERT"):
            await ask(Server(url=url, ca=AUTHORITY.certificate), who)
        await serving


def encrypted(pair: Pair) -> bytes:
    key = serialization.load_pem_private_key(pair.key, None)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )


@pytest.mark.parametrize(
    "identity",
    [
        Identity(certificate=ANN.certificate, key=AUTHORITY.client("bob").key),
        Identity(certificate=ANN.certificate, key=b"junk"),
        Identity(certificate=ANN.certificate),
        Identity(certificate=b"junk", key=ANN.key),
        Identity(certificate=b"", key=ANN.key),
        Identity(certificate=ANN.certificate, key=encrypted(ANN)),
    ],
    ids=["of another", "junk", "none", "junk certificate", "no certificate", "encrypted"],
)
def test_a_key_that_does_not_fit_is_refused(identity: Identity) -> None:
    with pytest.raises(
        BadInput, match=r"client certificate and key cannot be used: ."
    ) as caught:
        dial.tls_context(Server(url="https://x", ca=AUTHORITY.certificate), identity)

    assert caught.value.hint
    assert "PRIVATE" not in str(caught.value)


def test_no_key_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    dial.tls_context(Server(url="https://x", ca=AUTHORITY.certificate), known_by(ANN))

    assert os.listdir(tmp_path) == []
