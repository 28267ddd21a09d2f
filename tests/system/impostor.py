"""Servers that are not what a kubeconfig says, and users of a cluster that come and go."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from jobferry.kube.client import Client
from jobferry.objects import Obj
from jobferry.testing.certificates import Authority, Pair
from jobferry.testing.control_plane import ControlPlane
from tests.system.fleet import RESOURCES
from tests.system.proxy import LOOPBACK

LONG_AGO = timedelta(days=30)


def authority(plane: ControlPlane, *, ago: timedelta = timedelta(0)) -> Authority:
    """Return the authority of a cluster, as it was at some time."""
    then = copy(plane._authority)
    then._now -= ago
    return then


@asynccontextmanager
async def impostor(folder: Path, proof: Pair, body: bytes = b"") -> AsyncIterator[str]:
    """Serve TLS with a certificate, answer everything with 200 and `body`; return the URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with _file(folder, proof) as name:
        context.load_cert_chain(name)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while b"\r\n\r\n" in await _head(reader):
            writer.write(head + body)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, LOOPBACK, 0, ssl=context)
    async with server:
        yield f"https://{LOOPBACK}:{server.sockets[0].getsockname()[1]}"


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, OSError):
        return b""


@contextmanager
def _file(folder: Path, proof: Pair) -> Iterator[Path]:
    path = folder / "server.pem"
    path.write_bytes(proof.certificate + proof.key)
    yield path
    path.unlink()


@asynccontextmanager
async def granted(cluster: Client, role: str, subject: Obj, name: str) -> AsyncIterator[None]:
    """Give somebody the rights of a ClusterRole during the block."""
    bindings, group = RESOURCES["ClusterRoleBinding"], "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [subject],
    }
    await cluster.create(bindings, binding)
    try:
        yield
    finally:
        await cluster.delete(bindings, name)


def user(name: str) -> Obj:
    """Mean somebody whom a certificate names."""
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}


def changed(kubeconfig: str, *, cluster: Obj | None = None, user: Obj | None = None) -> str:
    """Return a kubeconfig whose cluster has other fields, or whose user is another."""
    config: Any = orjson.loads(kubeconfig)
    config["clusters"][0]["cluster"] |= cluster or {}
    if user is not None:
        config["users"][0]["user"] = user
    return orjson.dumps(config).decode()
