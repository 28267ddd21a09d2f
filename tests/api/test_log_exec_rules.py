"""What a server says of logs, exec and attach before it asks a node: real and localkube, side by side."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from jobferry.testing.control_plane import ControlPlane
from tests.api.conftest import Planes
from tests.api.stream_world import trusting
from tests.api.twins import PROTOBUF, TABLE, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

WEIRD = {
    "addresses": [{"type": "Weird", "address": "1.2.3.4"}, {"type": "Odd", "address": "x"}]
}
NEAR = {
    "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
    "daemonEndpoints": {"kubeletEndpoint": {"Port": 1}},
}


async def node(twins: Twins, name: str, status: dict[str, Any]) -> None:
    await twins.ask("POST", "/api/v1/nodes", {"metadata": {"name": name}})
    about = {"metadata": {"name": name}, "status": status}
    await twins.ask("PUT", f"/api/v1/nodes/{name}/status", about)


async def pod(
    twins: Twins,
    place: str,
    name: str,
    *containers: str,
    on: str = "",
    init: Sequence[str] = (),
) -> str:
    """Create a pod on both; returns its path."""
    spec: dict[str, Any] = {
        "containers": [{"name": each, "image": "i"} for each in containers or ("main",)],
        "initContainers": [{"name": each, "image": "i"} for each in init],
    }
    if on:
        spec["nodeName"] = on
    path = f"/api/v1/namespaces/{place}/pods"
    made = await twins.ask("POST", path, {"metadata": {"name": name}, "spec": spec})
    assert made.code == 201, made.real.body
    return f"{path}/{name}"


async def test_options_of_logs_are_checked_alike(twins: Twins, place: str) -> None:
    path = await pod(twins, place, "one")
    for name, values in {
        "tailLines": ("-1", "0", "x", "", "1.5", "+1", "9223372036854775808", "_1"),
        "limitBytes": ("-5", "0", "1", "x"),
        "sinceSeconds": ("-1", "0", "1", "99999999999999999999", "-x"),
        "sinceTime": (
            *("x", "", "null", "2020-01-01", "2020-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
            *("2020-02-30T00:00:00Z", "2020-01-01T00:00:00.5+02:00", "2020-01-01T25:00:00Z"),
        ),
        "stream": ("", "All", "Stdout", "x"),
        "follow": ("", "x", "0", "FALSE"),
        "previous": ("1", "maybe"),
        "timestamps": ("1", "maybe"),
        "insecureSkipTLSVerifyBackend": ("1", "maybe"),
        "container": ("main", "other", ""),
        "unknown": ("1",),
    }.items():
        for value in values:
            await twins.same("GET", f"{path}/log", query={name: value})
    for query in (
        {"sinceSeconds": "0", "sinceTime": "2020-01-01T00:00:00Z"},
        {"sinceSeconds": "1", "sinceTime": ""},
        {"sinceSeconds": "0", "sinceTime": "x"},
        {"tailLines": "-3", "limitBytes": "-3", "sinceSeconds": "-3", "stream": "x"},
        {"container": ["main", "other"]},
        {"container": "other", "tailLines": "-1"},
    ):
        await twins.same("GET", f"{path}/log", query=query)


async def test_containers_are_chosen_alike(twins: Twins, place: str) -> None:
    path = await pod(twins, place, "three", "a", "b", init=["i"], on="nowhere")
    for verb in ("log", "exec", "attach"):
        for container in ("", "a", "i", "none"):
            query = {"container": container} if container else {}
            await twins.same("GET", f"{path}/{verb}", query=query)


async def test_places_are_found_alike(twins: Twins, place: str) -> None:
    await node(twins, f"weird-{place}", WEIRD)
    await node(twins, f"bare-{place}", {})
    paths = [
        await pod(twins, place, "nowhere"),
        await pod(twins, place, "lost", on="no-such-node"),
        await pod(twins, place, "weird", on=f"weird-{place}"),
        await pod(twins, place, "bare", on=f"bare-{place}"),
        f"/api/v1/namespaces/{place}/pods/none",
        "/api/v1/namespaces/no-such-namespace/pods/none",
    ]
    for path in paths:
        for verb in ("log", "exec", "attach"):
            await twins.same("GET", f"{path}/{verb}")
        for verb in ("exec", "attach"):
            await twins.same("POST", f"{path}/{verb}")


async def test_requests_without_an_upgrade_are_refused_alike(twins: Twins, place: str) -> None:
    await node(twins, f"near-{place}", NEAR)
    path = await pod(twins, place, "one", on=f"near-{place}")
    for verb in ("exec", "attach"):
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
            body: dict[str, Any] | None = {} if method in ("PUT", "PATCH") else None
            await twins.same(method, f"{path}/{verb}", body)
        for query in (
            {"dryRun": "All"},
            {"dryRun": "x"},
            {"dryRun": "", "container": "none"},
            {"stdin": "x", "container": "none"},
            {"command": "ls", "stdout": "1"},
        ):
            await twins.same("GET", f"{path}/{verb}", query=query)
            await twins.same("POST", f"{path}/{verb}", query=query)
        await twins.same("GET", f"{path}/{verb}/more")
        await twins.same("POST", f"{path}/{verb}/more")
    for method in ("POST", "PUT", "DELETE"):
        await twins.same(method, f"{path}/log", {} if method == "PUT" else None)
    await twins.same("GET", f"{path}/log/more")


async def test_who_takes_no_text_or_sends_junk_is_told_alike(twins: Twins, place: str) -> None:
    await node(twins, f"near-{place}", NEAR)
    near = await pod(twins, place, "near", on=f"near-{place}")
    path = await pod(twins, place, "one")
    for accept in ("text/plain", "*/*", "image/png", TABLE, "text/plain, application/json"):
        for verb in ("log", "exec", "attach"):
            await twins.same("GET", f"{path}/{verb}", accept=accept)
            await twins.same("GET", f"{path}x/{verb}", accept=accept)
    await twins.same("GET", f"{path}/log", accept=PROTOBUF)
    await twins.same("POST", f"{near}/exec", b"junk", content_type="text/plain")
    await twins.same("POST", f"{near}/exec", bytes(4_000_000), content_type="text/plain")


async def test_a_node_that_cannot_be_reached_has_the_same_shape(
    twins: Twins, place: str
) -> None:
    """The words are our own: there is no address that could be dialled."""
    await node(twins, f"near-{place}", NEAR)
    path = await pod(twins, place, "one", on=f"near-{place}")
    both = await twins.ask("GET", f"{path}/log")
    for answer in (both.real, both.ours):
        assert answer.code == 500
        status = json.loads(answer.body)
        assert status.pop("message")
        assert status == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "code": 500,
        }


async def test_who_may_not_is_told_alike(twins: Twins, twin_planes: Planes, place: str) -> None:
    """A WebSocket comes with GET, but the right to create is needed as well."""
    path = await pod(twins, place, "one")
    rules = [{"apiGroups": [""], "resources": ["pods/exec", "pods/attach"], "verbs": ["get"]}]
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{place}"
    await twins.ask("POST", f"{rbac}/roles", {"metadata": {"name": "look"}, "rules": rules})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "look"}
    joe = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "joe"}
    binding = {"metadata": {"name": "look"}, "roleRef": reference, "subjects": [joe]}
    await twins.ask("POST", f"{rbac}/rolebindings", binding)
    async with Twins(twin_planes, user="joe") as asked:
        for verb in ("log", "exec", "attach"):
            await asked.same("GET", f"{path}/{verb}")
            await asked.same("POST", f"{path}/{verb}")
            await asked.same("GET", f"{path}/{verb}", query={"dryRun": "All"})
        await asked.same("GET", f"/api/v1/namespaces/{place}/pods/none/exec")
        asked.differing.check()


async def test_websockets_are_granted_and_refused_alike(
    twins: Twins, twin_planes: Planes, place: str
) -> None:
    await node(twins, f"near-{place}", NEAR)
    near = await pod(twins, place, "near", on=f"near-{place}")
    lost = await pod(twins, place, "lost", on="no-such-node")
    paths = [f"{lost}/exec", f"{lost}/attach", f"{near}x/exec", f"{near}/exec?container=none"]
    paths += [
        f"{near}/exec?command=ls&{more}" for more in ("stdout=1", "stderr=1", "", "stdin=1")
    ]
    paths += [f"{near}/attach?stdout=1&tty=1&stderr=1"]
    for path in paths:
        theirs, mine = [await conversation(plane, path) for plane in twin_planes]
        assert theirs == mine, path


async def conversation(plane: ControlPlane, path: str) -> Any:
    """Return what is heard over a WebSocket, less the words of why a node cannot be reached."""
    url = plane.url.replace("https", "wss") + path
    context = trusting(plane.folder)
    try:
        async with connect(
            url,
            ssl=context,
            subprotocols=["v5.channel.k8s.io"],  # type: ignore[list-item]
            compression=None,
        ) as socket:
            heard: list[Any] = [message async for message in socket]
            end = json.loads(heard.pop()[1:])
            why = end["details"]["causes"][0]
            assert end.pop("message") == f"Internal error occurred: {why.pop('message')}"
            return socket.subprotocol, heard, end, socket.close_code
    except InvalidStatus as error:
        return error.response.status_code, json.loads(error.response.body or b"")
