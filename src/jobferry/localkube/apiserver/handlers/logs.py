"""Logs of containers: from the node of a pod to the client, as they come."""

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack
from functools import partial

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.handlers import conversing, pod_containers
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.identity.authenticate import without_bearer
from jobferry.localkube.apiserver.nodes import LogOptions, NodeConnector, NodeRefused
from jobferry.localkube.apiserver.requests import accept, pod_options
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.session import Session, Socket
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj

_BASE64 = "base64.binary.k8s.io"
_PROTOCOLS = ("binary.k8s.io", _BASE64, "")


async def read_log(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Answer with the log of a container."""
    accept.check_text(call.headers.get("accept", ""))
    wanted = pod_options.log_options(call.query, call.target.name)
    pod = pod_containers.pod_of(backend, call)
    container = pod_containers.container_of(pod, pod_options.container(call.query))
    if not pod["spec"].get("nodeName"):
        return Answer(204, content_type="")
    connector = pod_containers.connector_of(backend, pod)
    if connector is None:
        raise StatusError(500, "", f"cannot read the log: {pod_containers.unreachable(pod)}")
    protocol = None if call.protocols is None else _protocol(call.protocols)
    log = await _Log.opened(connector, pod, container, wanted)
    if protocol is None:
        return Answer(200, content_type=accept.TEXT, stream=log)
    return Answer(101, stream=log, session=Session(protocol, partial(_send, log, protocol)))


class _Log:
    """An open log; whoever has it must close it."""

    def __init__(self, stack: AsyncExitStack, parts: AsyncIterator[bytes]) -> None:
        self._stack = stack
        self._parts = parts

    @classmethod
    async def opened(
        cls, connector: NodeConnector, pod: Obj, container: str, wanted: LogOptions
    ) -> "_Log":
        stack = AsyncExitStack()
        try:
            parts = await stack.enter_async_context(connector.logs(pod, container, wanted))
        except NodeRefused as error:
            raise _refusal(error, pod["metadata"]["name"]) from error
        if isinstance(parts, AsyncGenerator):
            stack.push_async_callback(parts.aclose)
        return cls(stack, parts)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._parts)

    async def aclose(self) -> None:
        await self._stack.aclose()


def _refusal(error: NodeRefused, pod: str) -> StatusError:
    """Pass on what a node says, as a server does with what a kubelet says."""
    if error.code == 400:
        return status.bad_request(str(error))
    if error.code == 404:
        message = f"the server could not find the requested resource ( pods/log {pod})"
        details = {"name": pod, "kind": "pods/log"}
        return StatusError(404, "NotFound", message, details=details)
    internal = status.internal(str(error))
    internal.detail("causes", [{"message": str(error)}])
    return internal


def _protocol(offered: Sequence[str]) -> str:
    """Choose how to send a log over a WebSocket."""
    wanted = without_bearer(offered) or [""]
    for name in wanted:
        if name in _PROTOCOLS:
            return name
    known = " ".join(_PROTOCOLS)
    why = f"requested protocol(s) are not supported: [{' '.join(wanted)}]; supports [{known}]"
    raise StatusError(403, "Forbidden", why)


async def _send(log: _Log, protocol: str, socket: Socket) -> None:
    async def sending() -> None:
        async for part in log:
            if part:
                encoded = protocol == _BASE64
                await socket.send(base64.b64encode(part).decode() if encoded else part)

    await conversing.until_gone(sending(), conversing.ignore(socket))
