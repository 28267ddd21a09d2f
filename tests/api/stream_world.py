"""localkube in this process, with a node that a test commands, and kubectl to ask it."""

import asyncio
import os
import ssl
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
from websockets.asyncio.client import ClientConnection, connect

from jobferry.clock import SystemClock
from jobferry.localkube.apiserver import own_writes
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.server import Server, Settings, serve
from jobferry.localkube.apiserver.timeouts import TIMEOUTS, Timeouts
from jobferry.objects import Obj
from jobferry.testing import assets
from jobferry.testing.fake_node import FakeNode

V5 = "v5.channel.k8s.io"


@dataclass(frozen=True, slots=True)
class Said:
    """What a program printed, and how it ended."""

    out: str
    err: str
    code: int


@dataclass(slots=True)
class World:
    """A server, and a node on it with the name `here`."""

    server: Server
    node: FakeNode
    nodes: Nodes
    kubeconfig: Path

    @property
    def keys(self) -> Path:
        """Where its keys are."""
        return self.server.keys.folder

    async def create(self, plural: str, obj: Obj) -> None:
        """Create an object of the core group."""
        resource = self.server.backend.registry.get("", "v1", plural)
        await own_writes.create(self.server.backend, resource, obj)

    async def pod(self, name: str, *containers: str, node: str = "here", **labels: str) -> None:
        """Create a pod with containers (`main` if none is named) on a node."""
        listed = [{"name": each, "image": "none"} for each in containers or ("main",)]
        meta = {"name": name, "namespace": "default", "labels": labels}
        await self.create(
            "pods", {"metadata": meta, "spec": {"containers": listed, "nodeName": node}}
        )

    # -- clients --------------------------------------------------------------------------------

    async def start(self, *arguments: str, hears: bool = False) -> Process:
        """Start kubectl; with `hears`, it has an input that stays open."""
        config = (f"--kubeconfig={self.kubeconfig}", f"--cache-dir={os.devnull}")
        return await asyncio.create_subprocess_exec(
            str(assets.need("kubectl")),
            *config,
            *arguments,
            stdin=PIPE if hears else asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
        )

    async def kubectl(self, *arguments: str, given: str | None = None) -> Said:
        """Run kubectl to its end, with `given` as its input."""
        process = await self.start(*arguments, hears=given is not None)
        out, err = await process.communicate(None if given is None else given.encode())
        assert process.returncode is not None
        return Said(out.decode(), err.decode(), process.returncode)

    async def ask(
        self,
        method: str,
        path: str,
        body: Obj | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Obj]:
        """Send a plain request about something of the default namespace."""

        def send() -> tuple[int, Obj]:
            where = HTTPSConnection(
                self.server.host, self.server.port, context=trusting(self.keys), timeout=20
            )
            with closing(where):
                sent = None if body is None else orjson.dumps(body)
                where.request(
                    method, f"/api/v1/namespaces/default/{path}", sent, dict(headers or {})
                )
                response = where.getresponse()
                return response.status, orjson.loads(response.read())

        return await asyncio.to_thread(send)

    @asynccontextmanager
    async def socket(
        self,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        *,
        protocols: Sequence[str] = (V5,),
        **more: Any,
    ) -> AsyncIterator[ClientConnection]:
        """Open a WebSocket to something of the default namespace, as somebody who may do everything."""
        url = f"wss://{self.server.host}:{self.server.port}/api/v1/namespaces/default/{path}"
        more.setdefault("ssl", trusting(self.keys))
        async with connect(
            f"{url}?{urlencode(query)}",
            subprotocols=list(protocols) or None,  # type: ignore[arg-type]
            compression=None,
            **more,
        ) as found:
            yield found


@asynccontextmanager
async def stream_world(folder: Path, timeouts: Timeouts = TIMEOUTS) -> AsyncIterator[World]:
    """Run a server with a node."""
    clock, nodes = SystemClock(), Nodes()
    node = FakeNode(clock)
    settings = Settings(
        folder=folder,
        in_memory=True,
        without_plugins=frozenset({"ServiceAccount"}),
        timeouts=timeouts,
    )
    async with serve(settings, clock, nodes) as server:
        kubeconfig = folder / "admin.kubeconfig"
        kubeconfig.write_text(server.admin_kubeconfig())
        world = World(server, node, nodes, kubeconfig)
        await world.create("nodes", {"metadata": {"name": "here"}})
        with nodes.connected("here", node):
            yield world


def trusting(keys: Path, *, shows: bool = True) -> ssl.SSLContext:
    """Trust a server by its keys, and show it a certificate that may do everything."""
    context = ssl.create_default_context(cafile=str(keys / "ca.crt"))
    if shows:
        context.load_cert_chain(keys / "admin.crt", keys / "admin.key")
    return context


def ended(message: bytes | str) -> Obj:
    """Read the Status in the last message of a process."""
    assert isinstance(message, bytes)
    assert message[0] == 3, message
    found = orjson.loads(message[1:])
    assert isinstance(found, dict)
    return found
