"""exec and attach: a client talks with a process in a container, over a WebSocket."""

from functools import partial

from jobferry import log
from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.access.attributes import Attributes
from jobferry.localkube.apiserver.handlers import conversing, pod_containers
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.nodes import NodeConnector, NodeRefused, Streams
from jobferry.localkube.apiserver.requests import channels, pod_options
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.pod_options import TalkOptions
from jobferry.localkube.apiserver.requests.session import Gone, Session
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj

_SUCCESS: Obj = {"metadata": {}, "status": "Success"}
_log = log.get(__name__)


async def execute(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Run a command in a container."""
    return _connected(backend, call, attaches=False)


async def attach(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Join the main process of a container."""
    return _connected(backend, call, attaches=True)


def _connected(backend: Backend, call: Call, *, attaches: bool) -> Answer:
    options = pod_options.talk_options(call.query)
    _check_may_create(backend, call)
    pod = pod_containers.pod_of(backend, call)
    container = pod_containers.container_of(pod, pod_options.container(call.query))
    if not pod["spec"].get("nodeName"):
        name = pod["metadata"]["name"]
        raise status.bad_request(f"pod {name} does not have a host assigned")
    connector = pod_containers.connector_of(backend, pod)
    if call.protocols is None:
        raise _no_websocket(call)
    protocol = channels.choose(call.protocols)
    if connector is None and protocol is not channels.V5:
        # Older protocols are spoken by the node itself, so there is nobody who could speak them.
        raise StatusError(500, "", f"error dialing backend: {pod_containers.unreachable(pod)}")
    process = partial(_run, connector, pod, container, options, attaches)
    return Answer(
        101,
        session=Session(
            protocol.name, partial(conversing.converse, process, protocol, options)
        ),
    )


def _check_may_create(backend: Backend, call: Call) -> None:
    """Insist on the right to create, also of a client that (as WebSockets must) comes with GET."""
    about = call.target
    if about.verb == "create":
        return
    wanted = Attributes(
        call.user,
        "create",
        about.group,
        about.version,
        about.resource,
        about.subresource,
        about.namespace,
        about.name,
        about.path,
    )
    decision = backend.decide(wanted)
    if not decision.allowed:
        raise status.forbidden(about.group, about.resource, about.name, decision.reason)


def _no_websocket(call: Call) -> StatusError:
    connection = call.headers.get("connection", "").lower()
    if "upgrade" not in connection:
        return status.bad_request("Upgrade request required")
    upgrade = call.headers.get("upgrade", "")
    known = f"GET and WebSocket ({channels.V5.name})"
    why = f"cannot upgrade from {call.method} to {upgrade}: this server has {known} only"
    return status.bad_request(why)


async def _run(
    connector: NodeConnector | None,
    pod: Obj,
    container: str,
    options: TalkOptions,
    attaches: bool,
    streams: Streams,
) -> Obj:
    """Run a process to its end and return how it ended, in the words of a server and its kubelet."""
    if connector is None:
        return _failed(f"error sending request: {pod_containers.unreachable(pod)}")
    if not (options.stdin or options.stdout or options.stderr):
        return _not_upgraded("you must specify at least 1 of stdin, stdout, stderr")
    if not attaches and not options.command:
        return _not_upgraded("you must specify a command")
    try:
        if attaches:
            await connector.attach(pod, container, streams)
            return _SUCCESS
        return _exited(await connector.execute(pod, container, options.command, streams))
    except NodeRefused as error:
        if error.code != 500:
            return _not_upgraded(str(error))
        doing = "attaching to container" if attaches else "executing command in container"
        return _failed(f"error {doing}: {error}")
    except Gone:
        raise
    except Exception as error:  # noqa: BLE001 (whatever a node does, the client must hear of it)
        _log.failure("A node failed to run a process", error, pod=pod["metadata"]["name"])
        return _failed("the node failed, see the log of the server")


def _exited(code: int) -> Obj:
    if code == 0:
        return _SUCCESS
    why = (
        f"command terminated with non-zero exit code: command terminated with exit code {code}"
    )
    return {
        "metadata": {},
        "status": "Failure",
        "message": why,
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _not_upgraded(why: str) -> Obj:
    return _failed(f"unable to upgrade connection: {why}")


def _failed(why: str) -> Obj:
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"Internal error occurred: {why}",
        "reason": "InternalError",
        "details": {"causes": [{"message": why}]},
        "code": 500,
    }
