"""Asks our admission and a real API server the same, and says what has to be the same of the answers."""

import copy
import itertools
import json
import re
import time
from typing import Any

from jobferry.localkube.apiserver.admission.request import CREATE
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from jobferry.testing.clock import ManualClock
from jobferry.testing.control_plane import ControlPlane
from tests.api.raw_http import Answered, RawHttp
from tests.unit.localkube.apiserver.admission import admission_world
from tests.unit.localkube.apiserver.admission.admission_world import KINDS, SUFFIX, World

NAMES = (f"case-{number}" for number in itertools.count())
DRY = {"dryRun": "All"}
LOOKED_AT = ("serviceaccounts", "limitranges", "resourcequotas")


class FreshControlPlane(ControlPlane):
    """One whose API server has every plugin that a fresh cluster has."""

    def _api_server(self, port: int) -> list[str]:
        command = super()._api_server(port)
        return [flag for flag in command if not flag.startswith("--disable-admission-plugins")]


def path(resource: str, namespace: str = "", *parts: str) -> str:
    group, _ = KINDS[resource]
    head = f"/apis/{group}/v1" if group else "/api/v1"
    scope = f"/namespaces/{namespace}" if namespace else ""
    return "/".join((f"{head}{scope}/{resource}", *parts))


def make_namespace(server: RawHttp, *, account: bool = True) -> str:
    name = next(NAMES)
    server.post(path("namespaces"), {"metadata": {"name": name}})
    if account:
        server.post(path("serviceaccounts", name), {"metadata": {"name": "default"}})
    return name


def make(server: RawHttp, namespace: str, resource: str, obj: Obj) -> None:
    """Create an object, with its status if it has one."""
    where = path(resource, namespace if resource != "priorityclasses" else "")
    body = copy.deepcopy(obj)
    body["metadata"].pop("namespace", None)
    made = server.post(where, body)
    if "status" in obj:
        name = made["metadata"]["name"]
        server.put(f"{where}/{name}/status", made | {"status": obj["status"]})


def world_of(server: RawHttp, namespace: str) -> World:
    """Return all that admission looks at, as the real server has it."""
    world = World()
    for resource in ("namespaces", "priorityclasses", "nodes"):
        world.load(resource, server.ask("GET", path(resource)).body["items"])
    for resource in LOOKED_AT:
        world.load(resource, server.ask("GET", path(resource, namespace)).body["items"])
    return world


async def answer_of_ours(
    world: World, resource: str, obj: Obj | None, operation: str = CREATE, **more: Any
) -> Answered:
    asked = admission_world.request(resource, obj, operation, **more)
    chain = admission_world.admission(world, clock=Patient())
    try:
        await chain.admit(asked)
        await chain.validate(asked)
    except StatusError as error:
        return Answered(error.code, error.status())
    return Answered(201, asked.obj)


class Patient(ManualClock):
    """A clock on which every wait is over at once."""

    def call_later(self, delay: float, callback: Any) -> Any:
        callback()
        return super().call_later(delay, lambda: None)


def defaulted(server: RawHttp, namespace: str, pod: Obj) -> Obj:
    """Return a pod as it is before admission; templates get all defaults but two."""
    body = {"metadata": {"name": "t"}, "template": pod}
    url = f"/api/v1/namespaces/{namespace}/podtemplates"
    template = server.ask("POST", url, body, query=DRY)
    assert template.code == 201, template.body["message"]
    made: Obj = template.body["template"]
    spec = made["spec"]
    spec.setdefault("enableServiceLinks", True)
    for each in (*spec["containers"], *spec.get("initContainers", ())):
        resources = each["resources"]
        if "limits" in resources:
            resources["requests"] = resources["limits"] | resources.get("requests", {})
    return made | {"metadata": pod["metadata"]}


def seen(answered: Answered) -> Any:
    """Return what has to be the same."""
    body = answered.body
    if answered.code >= 400:
        # Where upstream walks through a map, it complains in any order.
        words = sorted(re.split(r", |\[|\]", body["message"]))
        return answered.code, body.get("reason"), words, body.get("details")
    metadata = body["metadata"]
    text = re.sub(
        r"kube-api-access-\w{5}\b", f"kube-api-access-{SUFFIX}", json.dumps(body["spec"])
    )
    return json.loads(text), metadata.get("annotations"), metadata.get("labels")


def await_answer(server: RawHttp, method: str, url: str, body: Any, ours: Answered) -> Answered:
    """Return what the real server answers once its caches know of everything, or after a while."""
    deadline = time.monotonic() + 3
    while True:
        theirs = server.ask(method, url, body, query=DRY)
        if theirs.code == 422 or seen(theirs) == seen(ours) or time.monotonic() > deadline:
            return theirs
        time.sleep(0.05)
