"""What arrives at a socket from clients that are broken, or want to break us."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random

from jobferry.clock import Seconds
from tests.api import fuzz_values

LISTEN: Seconds = 0.15
"""How long we listen for an answer to what may be no request at all."""

PODS = b"/api/v1/namespaces/default/pods"
HEAD = b" HTTP/1.1\r\nHost: x\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is, and how to get in."""

    host: str
    port: int
    context: ssl.SSLContext


def scripts(rng: Random) -> Iterator[bytes]:
    """Return what to send, for ever."""
    made = (_plain, _broken, _lengths, _chunks, _pipeline, _huge, _sockets, _noise)
    while True:
        yield rng.choice(made)(rng)


async def attack(rng: Random, place: Place, script: bytes) -> bytes:
    """Send it, maybe in pieces, listen a little, and go away politely or not."""
    with suppress(OSError, ssl.SSLError, asyncio.IncompleteReadError):
        if rng.random() < 0.05:
            return await _without_tls(place, script)
        reader, writer = await asyncio.open_connection(
            place.host, place.port, ssl=place.context
        )
        heard = b""
        try:
            heard = await _exchange(rng, reader, writer, script)
        finally:
            if rng.random() < 0.5:
                writer.transport.abort()
            else:
                writer.close()
                with suppress(OSError, ssl.SSLError, TimeoutError):
                    async with asyncio.timeout(5):
                        await writer.wait_closed()
        return heard
    return b""


async def _exchange(
    rng: Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, script: bytes
) -> bytes:
    cut = rng.randrange(len(script) + 1) if rng.random() < 0.3 else len(script)
    for part in (script[:cut], script[cut:]):
        writer.write(part)
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                await writer.drain()
        if cut < len(script) and rng.random() < 0.3:
            break
    heard = b""
    with suppress(TimeoutError):
        async with asyncio.timeout(LISTEN):
            while part := await reader.read(65536):
                heard += part
    return heard


async def _without_tls(place: Place, script: bytes) -> bytes:
    _, writer = await asyncio.open_connection(place.host, place.port)
    writer.write(script)
    with suppress(TimeoutError):
        async with asyncio.timeout(1):
            await writer.drain()
    writer.transport.abort()
    return b""


def _request(method: bytes, path: bytes, body: bytes = b"", more: bytes = b"") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    return method + b" " + path + HEAD + more + length + b"\r\n" + body


def _plain(rng: Random) -> bytes:
    """Return something decent."""
    return rng.choice(
        (
            _request(b"GET", PODS),
            _request(b"GET", PODS + b"?watch=1&timeoutSeconds=60"),
            _request(b"POST", PODS, b"{}", b"Content-Type: application/json\r\n"),
            _request(b"GET", b"/healthz"),
            _request(b"GET", b"/openapi/v3"),
        )
    )


def _broken(rng: Random) -> bytes:
    """Return something decent with some bytes changed."""
    return fuzz_values.bent_bytes(rng, _plain(rng))


def _lengths(rng: Random) -> bytes:
    """Lie about how long the body is."""
    body = b'{"metadata":{"name":"x"}}'
    lie = rng.choice(
        (
            *(b"Content-Length: 999\r\n", b"Content-Length: 3\r\n", b"Content-Length: -1\r\n"),
            *(
                b"Content-Length: x\r\n",
                b"Content-Length: 25, 25\r\n",
                b"Content-Length: +25\r\n",
            ),
            *(
                b"Content-Length: 25\r\nContent-Length: 3\r\n",
                b"Content-Length: 99999999999999999999\r\n",
            ),
            *(
                b"Content-Length: 25\r\nTransfer-Encoding: chunked\r\n",
                b"Content-Length: 3145729\r\n",
            ),
            *(
                b"Transfer-Encoding: gzip\r\n",
                b"Expect: 100-continue\r\nContent-Length: 25\r\n",
            ),
        )
    )
    path = rng.choice((PODS, b"/healthz", b"/api/v1/namespaces"))
    kind = b"Content-Type: application/json\r\n"
    return (
        rng.choice((b"POST ", b"PUT ", b"GET ", b"DELETE "))
        + path
        + HEAD
        + kind
        + lie
        + b"\r\n"
        + body
    )


def _chunks(rng: Random) -> bytes:
    """Send a body in pieces, some of them odd."""
    sizes = (
        b"3",
        b"0",
        b"ffffffff",
        b"-1",
        b"x",
        b"3;a=b",
        b"0x3",
        b"",
        b"fffffffffffffffff",
        b"00003",
    )
    parts = b"".join(rng.choice(sizes) + b"\r\nabc\r\n" for _ in range(rng.randrange(1, 6)))
    end = rng.choice((b"0\r\n\r\n", b"", b"0\r\nTrailer: x\r\n\r\n", b"0\r\n"))
    kind = b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    return b"POST " + PODS + HEAD + kind + parts + end


def _pipeline(rng: Random) -> bytes:
    """Ask many things at once."""
    return b"".join(
        (_plain, _lengths, _broken)[rng.randrange(3)](rng) for _ in range(rng.randrange(2, 12))
    )


def _huge(rng: Random) -> bytes:
    """Ask with much of everything."""
    return rng.choice(
        (
            _request(b"GET", PODS, more=b"X: " + b"x" * 70_000 + b"\r\n"),
            _request(b"GET", PODS, more=b"".join(b"X-%d: x\r\n" % n for n in range(2000))),
            _request(b"GET", b"/" + b"x" * 70_000),
            _request(b"GET", PODS + b"?labelSelector=" + b"a," * 20_000),
            _request(b"POST", PODS, b"x" * (3 << 20), b"Content-Type: application/json\r\n"),
        )
    )


def _sockets(rng: Random) -> bytes:
    """Ask for a WebSocket, or for something like it."""
    path = PODS + rng.choice((b"/x/exec?command=a", b"?watch=1", b"", b"/x/attach"))
    method = rng.choice((b"GET", b"GET", b"POST"))
    protocol = rng.choice(
        (
            b"",
            b"Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n",
            b"Sec-WebSocket-Protocol: ,,\r\n",
        )
    )
    head = method + b" " + path + HEAD + UPGRADE + rng.choice((KEY, b"", KEY + KEY)) + protocol
    return head + b"\r\n" + rng.randbytes(rng.randrange(30))


def _noise(rng: Random) -> bytes:
    """Send what is no HTTP/1.1."""
    return rng.choice(
        (
            *(
                b"",
                b"\r\n" * 9,
                b"GET / HTTP/0.9\r\n\r\n",
                b"GET /\r\n\r\n",
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            ),
            *(
                b"CONNECT x:1 HTTP/1.1\r\n\r\n",
                b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
                rng.randbytes(200),
            ),
            *(
                b"GET http://x/healthz HTTP/1.1\r\nHost: y\r\n\r\n",
                b"GET / HTTP/9.9\r\n\r\n",
                b"FOO / HTTP/1.1\r\n\r\n",
            ),
            *(
                b"GET / HTTP/1.1\r\n\r\n",
                b"GET / HTTP/1.1\r\n: x\r\n\r\n",
                b"GET / HTTP/1.1\r\nA\x00: b\r\n\r\n",
            ),
            *(
                b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
                b"GET /%% HTTP/1.1\r\nHost: x\r\n\r\n",
            ),
        )
    )
