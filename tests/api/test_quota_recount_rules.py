"""Quotas counted anew, beside the controller of a real control plane."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from jobferry.localkube.apiserver.admission.quota_recount import recount
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api.admission_cases import one, pod, scoped
from tests.api.admission_quota_cases import JOB, claim, service
from tests.api.raw_http import RawHttp

pytestmark = [pytest.mark.kube, pytest.mark.timeout(90)]

NAMESPACE = "counted"
HARD: dict[str, Obj] = {
    "compute": {"hard": {"requests.cpu": "9", "limits.memory": "9Gi", "pods": "9", "cpu": "9"}},
    "objects": {
        "hard": {
            "count/jobs.batch": "3",
            "count/pods": "9",
            "configmaps": "3",
            "resourcequotas": "9",
            "services": "3",
            "services.nodeports": "9",
            "requests.storage": "9Gi",
            "gold.storageclass.storage.k8s.io/requests.storage": "1Ti",
            "requests.example.com/gpu": "9",
        }
    },
    "ending": {"hard": {"pods": "9"}, "scopes": ["Terminating"]},
    "idle": {"hard": {"pods": "9"}, "scopes": ["BestEffort"]},
    "classless": {
        "hard": {"pods": "9"},
        **scoped({"scopeName": "PriorityClass", "operator": "DoesNotExist"}),
    },
    "nonsense": {"hard": {"count/nothings.example.com": "1", "x.y/z": "1"}},
}
BODIES: list[tuple[str, Obj]] = [
    ("pods", pod("idle")),
    ("pods", one({"cpu": "0.5", "memory": "64Mi"}, {"memory": "1Gi"}, activeDeadlineSeconds=9)),
    ("pods", one({"cpu": "250m", "example.com/gpu": "2"}, {"example.com/gpu": "2"})),
    ("pods", pod("over")),
    ("services", service("NodePort", 3)),
    ("persistentvolumeclaims", claim("1.5Gi", storageClassName="gold")),
    ("configmaps", {"metadata": {"name": "m"}}),
]


def url(resource: str, *parts: str, group: str = "") -> str:
    head = f"/apis/{group}/v1" if group else "/api/v1"
    return "/".join((f"{head}/namespaces/{NAMESPACE}/{resource}", *parts))


def fill(server: RawHttp) -> None:
    server.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for number, (resource, body) in enumerate(BODIES):
        name = body["metadata"]["name"] if body["metadata"]["name"] != "p" else f"p{number}"
        server.post(url(resource), body | {"metadata": {"name": name}})
    server.post(url("jobs", group="batch"), JOB)
    over = server.ask("GET", url("pods", "over")).body
    server.put(url("pods", "over", "status"), over | {"status": {"phase": "Succeeded"}})
    for name, spec in HARD.items():
        server.post(url("resourcequotas"), {"metadata": {"name": name}, "spec": spec})


def test_a_quota_is_counted_as_upstreams_controller_counts_it() -> None:
    plane = ControlPlane(
        controllers=("resourcequota-controller",),
        # What was made just before a quota was counted for the first time is charged by nobody.
        controller_manager_flags=("--resource-quota-sync-period=2s",),
    )
    plane.start()
    try:
        with RawHttp(plane.url, plane.folder) as server:
            fill(server)
            deadline = time.monotonic() + 60
            while (ours := ours_of(server)) != (theirs := theirs_of(server)):
                assert time.monotonic() < deadline, (ours, theirs)
                time.sleep(0.2)
    finally:
        plane.stop()


def ours_of(server: RawHttp) -> Any:
    def objects(group: str, resource: str) -> Iterable[Obj] | None:
        if group == "example.com":
            return None
        found: list[Obj] = server.ask("GET", url(resource, group=group)).body["items"]
        return found

    quotas = server.ask("GET", url("resourcequotas")).body["items"]
    now = datetime.now(UTC)
    return {each["metadata"]["name"]: recount(each, objects, now) for each in quotas}


def theirs_of(server: RawHttp) -> Any:
    quotas = server.ask("GET", url("resourcequotas")).body["items"]
    return {
        each["metadata"]["name"]: {"hard": {}, "used": {}} | each["status"] for each in quotas
    }
