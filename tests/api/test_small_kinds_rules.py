"""Small kinds beside a real API server: the same bodies, the same answers."""

import copy
from collections.abc import Iterator
from secrets import token_hex
from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies import (
    config_map,
    event,
    lease,
    namespace,
    node,
    persistent_volume_claim,
    secret,
)
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.types import event_forms
from jobferry.objects import Obj, merge_patch
from jobferry.testing.control_plane import ControlPlane
from tests.api import strategy_runs
from tests.api.raw_http import RawHttp
from tests.api.small_kinds_bodies import CLAIM, CREATED, EVENT_BODIES, NAMED
from tests.api.small_kinds_changes import BOUND, CLAIM_GROWTH, STATUS_UPDATED, UPDATED
from tests.api.strategy_runs import Ended, Kind, comparable

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

DRY = {"dryRun": "All"}
LEASES, EVENTS = "/apis/coordination.k8s.io/v1", "/apis/events.k8s.io/v1"

KINDS: dict[str, tuple[Kind, str, str]] = {
    "namespace": (Kind("", "Namespace", False, namespace.STRATEGY), "/api/v1", "namespaces"),
    "node": (Kind("", "Node", False, node.STRATEGY), "/api/v1", "nodes"),
    "config_map": (Kind("", "ConfigMap", True, config_map.STRATEGY), "/api/v1", "configmaps"),
    "secret": (Kind("", "Secret", True, secret.STRATEGY), "/api/v1", "secrets"),
    "event": (Kind("", "Event", True, event.STRATEGY), "/api/v1", "events"),
    "new_event": (Kind("", "Event", True, event.NEW_STRATEGY), EVENTS, "events"),
    "lease": (Kind("coordination.k8s.io", "Lease", True, lease.STRATEGY), LEASES, "leases"),
    "claim": (
        Kind("", "PersistentVolumeClaim", True, persistent_volume_claim.STRATEGY),
        *("/api/v1", "persistentvolumeclaims"),
    ),
}
STATUSES: dict[str, Strategy] = {
    "namespace": namespace.STATUS,
    "node": node.STATUS,
    "claim": persistent_volume_claim.STATUS,
}


@pytest.fixture(scope="module")
def http(plane: ControlPlane) -> Iterator[RawHttp]:
    with RawHttp(plane.url, plane.folder) as connection:
        yield connection


def path_of(case: str, name: str = "") -> str:
    kind, root, plural = KINDS[case]
    scope = "/namespaces/default" if kind.namespaced else ""
    return f"{root}{scope}/{plural}/{name}".rstrip("/")


def assert_same(ours: Ended, theirs: Any) -> None:
    """Compare what we would answer with a real answer."""
    if theirs.code >= 400 or ours.code >= 400:
        assert ours.body.get("message") == theirs.body.get("message")
        assert (ours.code, ours.body) == (theirs.code, theirs.body)
    else:
        assert comparable(ours.body) == comparable(theirs.body)
        is_node = theirs.body["kind"] == "Node"  # of these we do not warn
        assert list(ours.warnings) == ([] if is_node else list(theirs.warnings))


# -- creating -------------------------------------------------------------------------------------


def without_admission(theirs: Any) -> None:
    """Take out what the admission of a real API server adds."""
    answer = theirs.body
    if theirs.code >= 400:
        return
    if answer["kind"] == "PersistentVolumeClaim":
        # StorageObjectInUseProtection adds it.
        answer["metadata"]["finalizers"].remove("kubernetes.io/pvc-protection")
    if answer["kind"] == "Node":
        # Go leaves out no structs: what the codec sees to.
        answer["status"].pop("daemonEndpoints")
        # TaintNodesByCondition adds it.
        taints = answer["spec"].get("taints", [])
        taints[:] = [each for each in taints if each["key"] != "node.kubernetes.io/not-ready"]


@pytest.mark.parametrize(("case", "body"), [*CREATED, *NAMED])
def test_creating_is_answered_as_a_real_api_server_answers(
    http: RawHttp, case: str, body: Obj
) -> None:
    if body["metadata"]["name"] == "a":
        body = {**body, "metadata": {**body["metadata"], "name": "test-a"}}
    theirs = http.ask("POST", path_of(case), body, query=DRY)
    without_admission(theirs)

    ours = strategy_runs.created(KINDS[case][0], body, "default")

    assert_same(ours, theirs)


# -- changing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("endpoint", "case", "before", "change"),
    [
        *(("", *each) for each in UPDATED),
        *(("/status", *each) for each in STATUS_UPDATED),
    ],
)
def test_changing_is_answered_as_a_real_api_server_answers(
    http: RawHttp, endpoint: str, case: str, before: Obj, change: Obj
) -> None:
    name = f"t{token_hex(4)}"
    old = http.post(path_of(case), {**before, "metadata": {"name": name}})
    new = merge_patch.apply(copy.deepcopy(old), change)

    theirs = http.ask("PUT", f"{path_of(case, name)}{endpoint}", new, query=DRY)

    strategy = STATUSES[case] if endpoint else None
    ours = strategy_runs.updated(KINDS[case][0], new, old, strategy)
    http.ask("DELETE", path_of(case, name))
    assert_same(ours, theirs)


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("change", CLAIM_GROWTH)
def test_claims_are_refused_as_by_a_real_api_server_but_for_the_list_of_differences(
    http: RawHttp, *, bound: bool, change: Obj
) -> None:
    name = f"t{token_hex(4)}"
    old = http.post(path_of("claim"), {"metadata": {"name": name}, "spec": CLAIM})
    if bound:
        old = http.put(f"{path_of('claim', name)}/status", {**old, **BOUND})
    new = merge_patch.apply(copy.deepcopy(old), change)

    theirs = http.ask("PUT", path_of("claim", name), new, query=DRY)

    ours = strategy_runs.updated(KINDS["claim"][0], new, old)
    http.ask("DELETE", path_of("claim", name))
    if theirs.code == 403:
        # PersistentVolumeClaimResize, an admission plugin, asks for a storage class that allows it.
        assert bound
        assert ours.code == 200
        return
    for body in (ours.body, theirs.body):
        for cause in (body.get("details") or {}).get("causes", ()):
            cause["message"] = cause["message"].partition("\n")[0]
        body.pop("message", None)
    assert_same(ours, theirs)


@pytest.mark.parametrize("finalizers", [[], ["example.com/a", "kubernetes"], ["a"], ["a b"]])
def test_finalizing_is_answered_as_a_real_api_server_answers(
    http: RawHttp, finalizers: list[str]
) -> None:
    name = f"t{token_hex(4)}"
    old = http.post(path_of("namespace"), {"metadata": {"name": name}})
    new = {**copy.deepcopy(old), "spec": {"finalizers": finalizers}, "status": {}}

    theirs = http.ask("PUT", f"{path_of('namespace', name)}/finalize", new, query=DRY)

    ours = strategy_runs.updated(KINDS["namespace"][0], new, old, namespace.FINALIZE)
    http.ask("DELETE", path_of("namespace", name))
    assert_same(ours, theirs)


# -- events in two forms, and what selectors may ask for ------------------------------------------


@pytest.mark.parametrize("body", [*EVENT_BODIES[:2], *EVENT_BODIES[4:5], *EVENT_BODIES[10:]])
def test_events_turn_into_each_other_as_on_a_real_api_server(http: RawHttp, body: Obj) -> None:
    name = f"t{token_hex(4)}"
    extra = {"source": {"host": "h"}, "message": "m", "count": 2, "related": {"kind": "K"}}
    core = http.post(path_of("event"), {**body, **extra, "metadata": {"name": name}})

    new = http.ask("GET", path_of("new_event", name)).body

    assert event_forms.to_new(core) == new
    assert event_forms.to_core(new) == core


@pytest.mark.parametrize("case", KINDS)
def test_fields_of_selectors_are_those_of_a_real_api_server(http: RawHttp, case: str) -> None:
    kind = KINDS[case][0]
    known = {name for each in KINDS.values() for name in each[0].strategy.field_names}
    for name in sorted(known | {"name", "spec.nodeName", "metadata.uid"}):
        theirs = http.ask("GET", path_of(case), query={"fieldSelector": f"{name}=x"})
        if name in kind.strategy.field_names:
            assert theirs.code == 200, name
        else:
            assert theirs.body["message"] == kind.strategy.unknown_field.format(name)


@pytest.mark.parametrize("case", KINDS)
def test_objects_have_the_fields_by_which_a_real_api_server_finds_them(
    http: RawHttp, case: str
) -> None:
    bodies = [body for each, body in CREATED if each == case]
    name = f"t{token_hex(4)}"
    for body in bodies:
        answered = http.ask("POST", path_of(case), {**body, "metadata": {"name": name}})
        if answered.code != 201:
            continue
        fields = KINDS[case][0].strategy.fields(answered.body)
        chosen = ",".join(f"{key}={value}" for key, value in fields.items())
        query = {"fieldSelector": f"metadata.name={name}" + (f",{chosen}" if chosen else "")}
        found = http.ask("GET", path_of(case), query=query).body["items"]
        http.ask("DELETE", path_of(case, name))
        assert [each["metadata"]["name"] for each in found] == [name]
        if case in ("namespace", "claim"):
            break
