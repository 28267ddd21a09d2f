"""Small kinds beside a real API server: bodies put together at random, and random changes of them."""

import copy
import os
from collections.abc import Callable, Iterator
from random import Random
from secrets import token_hex
from typing import Any

import pytest

from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api import strategy_runs
from tests.api.raw_http import RawHttp
from tests.api.test_small_kinds_rules import (
    DRY,
    KINDS,
    STATUSES,
    assert_same,
    path_of,
    without_admission,
)

SOAK = bool(os.environ.get("JOBFERRY_SOAK"))
ROUNDS = 3000 if SOAK else 150

pytestmark = [pytest.mark.kube, pytest.mark.timeout(1800 if SOAK else 120)]

Make = Callable[[Random], Obj]


@pytest.fixture(scope="module")
def http(plane: ControlPlane) -> Iterator[RawHttp]:
    with RawHttp(plane.url, plane.folder) as connection:
        yield connection


def some(rng: Random, chance: float, **options: list[Any]) -> Obj:
    """Return some of these members, each with one of its values."""
    return {
        name: copy.deepcopy(rng.choice(values))
        for name, values in options.items()
        if rng.random() < chance
    }


def an_event(rng: Random) -> Obj:
    involved = some(rng, 0.7, kind=["Pod", "Job"], namespace=["default", "other"], name=["x"])
    times = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", None]
    micro = ["2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:01.000000Z"]
    return {
        "involvedObject": involved,
        **some(rng, 0.85, eventTime=micro, type=["Normal", "Warning", "Odd"]),
        **some(rng, 0.85, reason=["R", "S", "x" * 129], action=["A", "B", "x" * 129]),
        **some(rng, 0.85, reportingComponent=["a", "b/c", "b c", "/"], reportingInstance=["i"]),
        **some(rng, 0.1, firstTimestamp=times, lastTimestamp=times, count=[1, 2]),
        **some(rng, 0.1, source=[{"component": "c"}, {"host": "h"}], related=[{"kind": "K"}]),
        **some(rng, 0.1, series=[{"count": 1, "lastObservedTime": micro[0]}, {"count": 3}]),
        **some(rng, 0.2, message=["m", "x" * 1025]),
    }


def a_new_event(rng: Random) -> Obj:
    core, names = an_event(rng), {"involvedObject": "regarding", "message": "note"}
    names |= {"reportingComponent": "reportingController", "source": "deprecatedSource"}
    names |= {"count": "deprecatedCount", "firstTimestamp": "deprecatedFirstTimestamp"}
    names |= {"lastTimestamp": "deprecatedLastTimestamp"}
    event: Obj = {"eventTime": None, **{names.get(key, key): core[key] for key in core}}
    if "series" in event:
        event["series"].setdefault("lastObservedTime", None)
    return event


def a_claim(rng: Random) -> Obj:
    sizes = ["1Gi", "2Gi", "0", "-1", "1500m", "512Mi"]
    modes = ["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod", "Odd"]
    sources = [{"kind": "PersistentVolumeClaim", "name": "c"}, {"kind": "Odd", "name": "c"}]
    spec = {
        **some(rng, 0.9, accessModes=[modes[:1], modes[:2], modes[2:], []]),
        **some(rng, 0.9, resources=[{"requests": {"storage": size}} for size in sizes]),
        **some(rng, 0.3, storageClassName=["a", "A", ""], volumeMode=["Block", "Odd"]),
        **some(rng, 0.2, volumeName=["v"], volumeAttributesClassName=["g", "A"]),
        **some(rng, 0.2, dataSource=sources, dataSourceRef=sources),
        **some(rng, 0.2, selector=[{"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "-"}}]),
    }
    return {"spec": spec}


def a_node(rng: Random) -> Obj:
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoExecute"}]
    amounts = [{"cpu": "1"}, {"pods": "5"}, {"cpu": "-1"}, {"pods": "500m"}, {"a.b/c": "2"}]
    spec = {
        **some(rng, 0.4, podCIDR=["10.0.0.0/24", "x"], unschedulable=[True]),
        **some(
            rng, 0.3, podCIDRs=[["10.0.0.0/24"], ["fd00::/64", "10.0.0.0/8"], ["10.0.0.1/8"]]
        ),
        **some(rng, 0.4, taints=[taints, taints[:1], taints + taints[:1], []]),
        **some(rng, 0.3, providerID=["p", "q"], externalID=["e"]),
    }
    address = {"type": "InternalIP", "address": "10.0.0.1"}
    status = {
        **some(rng, 0.4, capacity=amounts, allocatable=amounts),
        **some(rng, 0.3, addresses=[[address], [address, address]]),
    }
    return {"spec": spec, "status": status}


MAKERS: dict[str, Make] = {
    "event": an_event,
    "new_event": a_new_event,
    "claim": a_claim,
    "node": a_node,
}


@pytest.mark.parametrize("case", MAKERS)
def test_random_bodies_are_answered_as_a_real_api_server_answers(
    http: RawHttp, case: str
) -> None:
    rng, refused = Random(21), 0
    for _ in range(ROUNDS):
        body = {"metadata": {"name": "random"}, **MAKERS[case](rng)}
        theirs = http.ask("POST", path_of(case), body, query=DRY)
        without_admission(theirs)

        assert_same(strategy_runs.created(KINDS[case][0], body, "default"), theirs)
        refused += theirs.code == 422
    assert 0 < refused < ROUNDS


def an_object(http: RawHttp, case: str, rng: Random) -> Obj:
    """Create something that is accepted."""
    while True:
        body = {"metadata": {"name": f"r{token_hex(5)}"}, **MAKERS[case](rng)}
        answered = http.ask("POST", path_of(case), body)
        if answered.code == 201:
            obj: Obj = answered.body
            return obj


def changed(case: str, old: Obj, rng: Random) -> Obj:
    """Mix an object with a random other one."""
    new, other = copy.deepcopy(old), MAKERS[case](rng)
    inner = ("spec", "status") if "spec" in new else ()
    for part in inner:
        for name, value in (other.get(part) or {}).items():
            if rng.random() < 0.4:
                new[part][name] = value
    if not inner:
        new |= {name: value for name, value in other.items() if rng.random() < 0.2}
    return new


def settle(case: str, answer: Obj) -> None:
    """Take out of an answer what is known to differ."""
    if case == "claim" and answer["kind"] == "Status":
        # What differs between two claims is Go's to print.
        answer.pop("message")
        for cause in answer["details"]["causes"]:
            cause["message"] = cause["message"].partition("\n")[0]


@pytest.mark.parametrize(
    ("case", "endpoint"),
    [
        *((case, "") for case in MAKERS),
        *((case, "/status") for case in MAKERS if case in STATUSES),
    ],
)
def test_random_changes_are_answered_as_a_real_api_server_answers(
    http: RawHttp, case: str, endpoint: str
) -> None:
    rng, strategy = Random(22), STATUSES[case] if endpoint else None
    for _ in range(ROUNDS // 10):
        old = an_object(http, case, rng)
        path = path_of(case, old["metadata"]["name"])
        for _ in range(10):
            new = changed(case, old, rng)
            theirs = http.ask("PUT", f"{path}{endpoint}", new, query=DRY)
            ours = strategy_runs.updated(KINDS[case][0], new, old, strategy)
            settle(case, ours.body)
            settle(case, theirs.body)
            assert_same(ours, theirs)
        http.ask("DELETE", path)
