"""Custom resources beside a real API server: what our functions make of a request, in the form of an answer."""

import copy
import re
import time
from typing import Any

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.crds import custom, definition
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.types import codec
from jobferry.objects import Obj
from tests.api.raw_http import Answered, RawHttp

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_VARYING = ("uid", "creationTimestamp", "managedFields", "resourceVersion", "generation")
_SYSTEM = {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}


def _refused(group: str, kind: str, obj: Obj, found: list[Problem]) -> Answered:
    name = obj["metadata"].get("name", "")
    return Answered(422, status.invalid(group, kind, name, found).status())


def defined(body: Obj) -> Answered:
    """Create a definition."""
    given = copy.deepcopy(body)
    try:
        crd = codec.decode("apiextensions.k8s.io/v1", "CustomResourceDefinition", given).obj
    except StatusError as error:
        return Answered(error.code, error.status())
    definition.STRATEGY.default(crd)
    definition.STRATEGY.prepare_create(crd)
    crd["metadata"] |= _SYSTEM
    found = list(definition.STRATEGY.validate_create(crd))
    if found:
        return _refused("apiextensions.k8s.io", "CustomResourceDefinition", crd, found)
    return Answered(201, crd, tuple(definition.STRATEGY.warn_create(crd)))


def redefined(body: Obj, old: Obj) -> Answered:
    """Change a definition."""
    crd = codec.decode(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", copy.deepcopy(body)
    ).obj
    definition.STRATEGY.default(crd)
    definition.STRATEGY.prepare_update(crd, old)
    _keep_system(crd, old)
    found = list(definition.STRATEGY.validate_update(crd, old))
    if found:
        return _refused("apiextensions.k8s.io", "CustomResourceDefinition", crd, found)
    return Answered(200, crd, tuple(definition.STRATEGY.warn_update(crd, old)))


def _keep_system(new: Obj, old: Obj) -> None:
    for name in ("uid", "creationTimestamp", "generation", "resourceVersion"):
        if name in old["metadata"]:
            new["metadata"][name] = old["metadata"][name]


def resource_of(crd: Obj, version: str = "v1") -> Resource:
    """Return what a definition defines."""
    whole = copy.deepcopy(crd)
    definition.STRATEGY.default(whole)
    return custom.resource(whole, version)


def created(resource: Resource, body: Obj) -> Answered:
    """Create a custom object."""
    try:
        obj, strict = resource.codec.decode(copy.deepcopy(body))
    except StatusError as error:
        return Answered(error.code, error.status())
    resource.strategy.default(obj)
    resource.strategy.prepare_create(obj)
    place = {"namespace": "default"} if resource.namespaced else {}
    obj["metadata"] = {**place, **obj["metadata"], **_SYSTEM}
    found = list(resource.strategy.validate_create(obj))
    if found:
        return _refused(resource.group, resource.kind, obj, found)
    return Answered(201, obj, (*strict, *resource.strategy.warn_create(obj)))


def updated(resource: Resource, body: Obj, old: Obj, subresource: str = "") -> Answered:
    """Change a custom object, or its status."""
    strategy = resource.strategy_of(subresource)
    try:
        obj, strict = resource.codec.decode(copy.deepcopy(body))
    except StatusError as error:
        return Answered(error.code, error.status())
    strategy.default(obj)
    strategy.prepare_update(obj, old)
    _keep_system(obj, old)
    found = list(strategy.validate_update(obj, old))
    if found:
        # The failure names the kind that the body says it is.
        return _refused(resource.group, obj["kind"], obj, found)
    return Answered(200, obj, (*strict, *strategy.warn_update(obj, old)))


def _words(text: str) -> str:
    """Hide the names that Go gives to the types of schemas: they hold the time."""
    return re.sub(r"selfType[\w.@]*", "object", text)


def comparable(answered: Answered) -> Any:
    """Return an answer without what differs each time; Go lists causes in any order."""
    body = answered.body
    if answered.code == 422:
        causes = [
            (cause["reason"], cause["field"], _words(cause["message"]))
            for cause in body["details"]["causes"]
        ]
        about = {key: body["details"].get(key) for key in ("name", "group", "kind")}
        return answered.code, body["reason"], about, sorted(causes)
    if answered.code >= 400:
        return answered.code, body["reason"], body["message"]
    metadata = {key: each for key, each in body["metadata"].items() if key not in _VARYING}
    return answered.code, {**body, "metadata": metadata}, sorted(answered.warnings)


def install(http: RawHttp, crd: Obj) -> Obj:
    """Create a definition on the server, and wait until it is served."""
    name = crd["metadata"]["name"]
    http.post(CRDS, crd)
    return wait_for(http, name, "Established")


def wait_for(http: RawHttp, name: str, condition: str) -> Obj:
    """Wait until a condition of a definition is true, and return it."""
    until = time.monotonic() + 15
    while time.monotonic() < until:
        crd: Obj = http.ask("GET", f"{CRDS}/{name}").body
        conditions = crd["status"].get("conditions") or ()
        if any(each["type"] == condition and each["status"] == "True" for each in conditions):
            spec = crd["spec"]
            path = (
                f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
            )
            if http.ask("GET", path).code == 200:
                return crd
        time.sleep(0.05)
    raise AssertionError(f"{name} was never {condition}")


def remove(http: RawHttp, name: str) -> None:
    """Delete a definition, and wait until it is gone with its objects."""
    http.ask("DELETE", f"{CRDS}/{name}")
    until = time.monotonic() + 30
    while http.ask("GET", f"{CRDS}/{name}").code != 404:
        assert time.monotonic() < until, f"{name} does not go"
        time.sleep(0.05)
