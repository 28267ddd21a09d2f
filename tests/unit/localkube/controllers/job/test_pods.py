from datetime import timedelta

import pytest
from msgspec.structs import replace

from jobferry.localkube.controllers.heads import InitContainer, Pod
from jobferry.localkube.controllers.job import pods
from jobferry.objects import Obj
from tests.unit.localkube.controllers.job.passes import NOW, job, pod

WAITS: Obj = {"podReplacementPolicy": "Failed"}
BY_RULES: Obj = {"podFailurePolicy": {"rules": []}}


@pytest.mark.parametrize(
    ("found", "is_what"),
    [
        (pod("p", "Pending"), "active"),
        (pod("p", "Running"), "active"),
        (pod("p", "Unknown"), "active"),
        (pod("p", "Running", deleted=30), "terminating"),
        (pod("p", "Pending", deleted=30), "terminating"),
        (pod("p", "Succeeded"), "neither"),
        (pod("p", "Failed"), "neither"),
        (pod("p", "Failed", deleted=30), "neither"),
    ],
)
def test_a_pod_is_active_or_terminating_or_neither(found: Pod, is_what: str) -> None:
    said = ("active",) * pods.is_active(found) + ("terminating",) * pods.is_terminating(found)

    assert "".join(said) == is_what.replace("neither", "")


@pytest.mark.parametrize(
    ("found", "spec", "fails"),
    [
        (pod("p", "Failed"), {}, True),
        (pod("p", "Failed"), WAITS, True),
        (pod("p", "Running"), {}, False),
        (pod("p", "Running", deleted=30), {}, True),
        (pod("p", "Running", deleted=30), WAITS, False),
        (pod("p", "Running", deleted=30), BY_RULES, False),
        (pod("p", "Succeeded", deleted=30), {}, False),
    ],
)
def test_a_deleted_pod_has_failed_unless_the_job_waits_to_see(
    found: Pod, spec: Obj, fails: bool
) -> None:
    assert pods.has_failed(found, job(**spec).spec) is fails


@pytest.mark.parametrize(
    ("text", "index"),
    [("3", 3), ("0", 0), ("", None), ("-1", None), ("x", None), ("1.5", None)],
)
def test_an_index_is_a_number_or_unknown(text: str, index: int | None) -> None:
    assert pods.index(pod("p", annotations={pods.INDEX: text})) == index


@pytest.mark.parametrize(
    ("text", "failures"),
    [("3", 3), ("-1", 0), ("x", 0), (str(2**31), 0), (str(2**31 - 1), 2**31 - 1)],
)
def test_absurd_counts_of_failures_read_as_none(text: str, failures: int) -> None:
    found = pod("p", annotations={pods.FAILURES: text})

    assert pods.failures(found) == failures
    assert pods.ignored_failures(found) == 0


def ended(*seconds: float | None) -> list[dict[str, object]]:
    return [
        {
            "name": f"c{number}",
            "state": {"running": {}}
            if second is None
            else {"terminated": {"exitCode": 1, "finishedAt": _time(second)}},
        }
        for number, second in enumerate(seconds)
    ]


def _time(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).isoformat()


NOT_READY = [{"type": "Ready", "status": "False", "lastTransitionTime": _time(-20)}]


@pytest.mark.parametrize(
    ("found", "seconds"),
    [
        (pod("p", status={"containerStatuses": ended(-9, -5)}), -5),
        (pod("p", status={"containerStatuses": ended(-9, None)}), -60),
        (pod("p", status={"containerStatuses": ended(-9, None), "conditions": NOT_READY}), -20),
        (pod("p", deleted=10, grace=30, status={"containerStatuses": []}), -20),
        (pod("p", created=-70, status={"containerStatuses": []}), -70),
    ],
    ids=["containers", "unfinished", "not ready", "deleted", "created"],
)
def test_the_end_of_a_pod_is_known_as_well_as_can_be(found: Pod, seconds: float) -> None:
    assert pods.finish_time(found) == NOW + timedelta(seconds=seconds)


def test_a_sidecar_ends_after_the_others() -> None:

    found = pod(
        "p",
        status={"containerStatuses": ended(-9), "initContainerStatuses": ended(-4)},
    )
    side = replace(found.spec, init_containers=[InitContainer("c0", "Always")])

    assert pods.finish_time(found) == NOW - timedelta(seconds=9)
    assert pods.finish_time(replace(found, spec=side)) == NOW - timedelta(seconds=4)


ORDER = [
    pod("unassigned", "Pending", node=""),
    pod("pending", "Pending"),
    pod("unknown", "Unknown"),
    pod("not ready", restarts=3),
    pod("ready of late", ready=-1),
    pod("restarted", ready=-9, restarts=2),
    pod("new", ready=-9, created=-20),
    pod("old", ready=-9, created=-30),
]


def test_what_is_missed_least_is_deleted_first() -> None:
    shuffled = [*ORDER[::2], *ORDER[1::2]]

    assert sorted(shuffled, key=pods.dispensability) == ORDER


@pytest.mark.parametrize(
    ("phase", "count"), [("Running", 3), ("Pending", 3), ("Failed", 0), ("Succeeded", 0)]
)
def test_only_restarts_of_unfinished_pods_count(phase: str, count: int) -> None:
    init = [{"name": "i", "restartCount": 1, "state": {}}]
    found = pod("p", phase, restarts=2, status={"initContainerStatuses": init})

    assert pods.restarts([found]) == count


def test_the_container_that_was_restarted_most_counts() -> None:
    def restarted(*counts: int) -> Pod:
        found = [{"name": f"c{n}", "restartCount": count} for n, count in enumerate(counts)]
        return pod("p", status={"containerStatuses": found})

    worse, better = restarted(0, 3), restarted(2, 2)

    assert pods.dispensability(worse) < pods.dispensability(better)
