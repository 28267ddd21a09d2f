"""What is due for a pod: a table of situations."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobferry.localkube.runner import containers, deciding, statuses
from jobferry.localkube.runner.containers import Attempt, End, Known, Trouble
from jobferry.objects import Obj

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def pod(
    *mains: str, inits: Sequence[str] = (), sidecars: Sequence[str] = (), **spec: Any
) -> Obj:
    first = [{"name": name} for name in inits]
    beside = [{"name": name, "restartPolicy": "Always"} for name in sidecars]
    whole = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "initContainers": beside + first,
        "containers": [{"name": name} for name in mains],
    }
    meta = {"name": "pod", "namespace": "ns", "uid": "u"}
    for member in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if member in spec:
            meta[member] = spec.pop(member)
    return {"metadata": meta, "spec": whole | spec, "status": {"startTime": NOW.isoformat()}}


def runs(**more: Any) -> Known:
    return Known(current=Attempt(number=0, began=NOW), streak=1, **more)


def ended(code: int = 0, after: float = 1, *, number: int = 0, streak: int = 1) -> Known:
    end = End(exit_code=code, at=at(after))
    return Known(
        current=Attempt(number=number, began=NOW, end=end, is_ready=False), streak=streak
    )


DELETED: dict[str, Any] = {"deletionTimestamp": "x", "deletionGracePeriodSeconds": 30}
LATE = Trouble(reason="ErrImagePull", message="no", again_at=at(60))


@pytest.mark.parametrize(
    ("pod", "known", "starts"),
    [
        (pod("a", "b"), {}, ["a", "b"]),
        (pod("a", "b"), {"a": runs()}, ["b"]),
        (pod("a", inits=["i", "j"]), {}, ["i"]),
        (pod("a", inits=["i", "j"]), {"i": runs()}, []),
        (pod("a", inits=["i", "j"]), {"i": ended()}, ["j"]),
        (pod("a", inits=["i"]), {"i": ended()}, ["a"]),
        (pod("a", inits=["i"]), {"i": ended(1)}, []),
        (pod("a", inits=["i"], restartPolicy="OnFailure"), {"i": ended(1)}, ["i"]),
        (pod("a", sidecars=["s"]), {}, ["s"]),
        (pod("a", sidecars=["s"]), {"s": runs()}, ["a"]),
        (pod("a", inits=["i"], sidecars=["s"]), {"s": runs()}, ["i"]),
        (pod("a", sidecars=["s"]), {"s": ended(), "a": runs()}, ["s"]),
        (pod("a", sidecars=["s"]), {"s": ended(), "a": ended()}, []),
        (pod("a"), {"a": ended(1)}, []),
        (pod("a", restartPolicy="OnFailure"), {"a": ended(1)}, ["a"]),
        (pod("a", restartPolicy="OnFailure"), {"a": ended(0)}, []),
        (pod("a", restartPolicy="Always"), {"a": ended(0)}, ["a"]),
        (pod("a", restartPolicy="Always"), {"a": ended(1, 9, streak=2)}, []),
        (pod("a", restartPolicy="Always"), {"a": ended(1, 0, streak=2)}, ["a"]),
        (pod("a"), {"a": Known(trouble=LATE)}, []),
        (pod("a", **DELETED), {}, []),
        (pod("a", activeDeadlineSeconds=5), {}, []),
    ],
)
def test_what_is_started(pod: Obj, known: dict[str, Known], starts: list[str]) -> None:
    assert deciding.decide(pod, known, at(10)).starts == starts


@pytest.mark.parametrize(
    ("pod", "known", "stops", "kills"),
    [
        (pod("a", "b", **DELETED), {"a": runs(), "b": ended()}, ["a"], []),
        (pod("a", **DELETED), {"a": runs(stopping_since=at(5))}, [], []),
        (pod("a", **DELETED), {"a": runs(stopping_since=at(-21))}, [], ["a"]),
        (pod("a", **DELETED | {"deletionGracePeriodSeconds": 0}), {"a": runs()}, [], ["a"]),
        (pod("a", sidecars=["s"], **DELETED), {"a": runs(), "s": runs()}, ["a"], []),
        (pod("a", sidecars=["s", "t"]), {"a": ended(), "s": runs(), "t": runs()}, ["t"], []),
        (pod("a", sidecars=["s"]), {"a": ended(), "s": runs()}, ["s"], []),
        (pod("a", inits=["i"], sidecars=["s"]), {"i": ended(1), "s": runs()}, ["s"], []),
        (pod("a", activeDeadlineSeconds=5), {"a": runs()}, ["a"], []),
        (pod("a", activeDeadlineSeconds=50), {"a": runs()}, [], []),
        (
            pod("a", restartPolicy="Always"),
            {"a": Known(current=Attempt(number=0, began=NOW, unwell="no answer"))},
            ["a"],
            [],
        ),
        (pod("a"), {"a": runs()}, [], []),
    ],
)
def test_what_is_ended(
    pod: Obj, known: dict[str, Known], stops: list[str], kills: list[str]
) -> None:
    step = deciding.decide(pod, known, at(10))

    assert (step.stops, step.kills) == (stops, kills)


@pytest.mark.parametrize(
    ("pod", "known", "wake"),
    [
        (pod("a", activeDeadlineSeconds=50), {"a": runs()}, 50),
        (pod("a", restartPolicy="Always"), {"a": ended(1, 9, streak=2)}, 19),
        (pod("a", restartPolicy="Always"), {"a": ended(1, 9, streak=3)}, 29),
        (pod("a", **DELETED), {"a": runs(stopping_since=at(5))}, 35),
        (pod("a"), {"a": Known(trouble=LATE)}, 60),
        (pod("a"), {"a": runs()}, None),
    ],
)
def test_when_to_look_again(pod: Obj, known: dict[str, Known], wake: float | None) -> None:
    step = deciding.decide(pod, known, at(10))

    assert step.wake == (None if wake is None else at(wake))


@pytest.mark.parametrize(
    ("pod", "known", "phase"),
    [
        (pod("a"), {}, "Pending"),
        (pod("a", inits=["i"]), {"i": runs()}, "Pending"),
        (pod("a", "b"), {"a": runs()}, "Pending"),
        (pod("a", "b"), {"a": runs(), "b": ended(1)}, "Running"),
        (pod("a", "b"), {"a": ended(), "b": ended(1)}, "Failed"),
        (pod("a", "b"), {"a": ended(), "b": ended()}, "Succeeded"),
        (pod("a", inits=["i"]), {"i": ended(1)}, "Failed"),
        (pod("a", restartPolicy="Always"), {"a": ended(1, 9, streak=2)}, "Running"),
        (pod("a", restartPolicy="OnFailure"), {"a": ended(0)}, "Succeeded"),
        (pod("a", sidecars=["s"]), {"a": ended(0), "s": runs()}, "Running"),
        (pod("a", sidecars=["s"]), {"a": ended(0), "s": ended(143)}, "Succeeded"),
        (pod("a", activeDeadlineSeconds=5), {"a": ended(143)}, "Failed"),
        (pod("a", **DELETED), {"a": ended(0)}, "Succeeded"),
    ],
)
def test_the_phase(pod: Obj, known: dict[str, Known], phase: str) -> None:
    step = deciding.decide(pod, known, at(10))

    assert statuses.status(pod, known, step, at(10))["phase"] == phase


def test_the_pauses_between_runs_that_fail() -> None:
    assert [containers.pause(streak) for streak in range(1, 9)] == [
        0,
        10,
        20,
        40,
        80,
        160,
        300,
        300,
    ]


def test_a_long_run_ends_a_streak() -> None:
    short, long = ended(1, 599, streak=5), ended(1, 600, streak=5)

    assert containers.next_streak(short) == 6
    assert containers.next_streak(long) == 1


def test_a_container_that_fails_again_and_again_says_so() -> None:
    crashing = pod("a", restartPolicy="Always")
    known = {"a": ended(1, 9, number=3, streak=4)}
    step = deciding.decide(crashing, known, at(10))

    (container,) = statuses.status(crashing, known, step, at(10))["containerStatuses"]

    assert container["restartCount"] == 3
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert container["state"]["waiting"] == {
        "reason": "CrashLoopBackOff",
        "message": "back-off 40s restarting failed container=a pod=pod_ns(u)",
    }


def conditions(pod: Obj, known: dict[str, Known]) -> dict[str, tuple[str, str]]:
    step = deciding.decide(pod, known, at(10))
    found = statuses.status(pod, known, step, at(10))["conditions"]
    return {each["type"]: (each["status"], each.get("reason", "")) for each in found}


def test_the_conditions_of_a_pod_on_its_way() -> None:
    waiting = pod("a", inits=["i"])
    unready = runs()
    unready = replace(unready, current=Attempt(number=0, began=NOW, is_ready=False))

    assert conditions(waiting, {"i": runs()})["Initialized"] == (
        "False",
        "ContainersNotInitialized",
    )
    assert conditions(pod("a"), {"a": unready})["Ready"] == ("False", "ContainersNotReady")
    assert conditions(pod("a"), {"a": runs()})["Ready"] == ("True", "")
    assert conditions(pod("a"), {"a": ended()})["Ready"] == ("False", "PodCompleted")
    assert conditions(pod("a"), {"a": ended(1)})["ContainersReady"] == ("False", "PodFailed")
