from typing import Any

import pytest

from jobferry.cli import why
from jobferry.cli.explanation import Explanation, explain
from jobferry.cli.job_events import refusals
from jobferry.cli.picture import Objects, Opinion, Picture, Turn
from jobferry.errors import BadInput
from jobferry.objects import Obj
from jobferry.settings import DEFAULTS
from tests.unit.cli.hub_objects import NOW, at, client, event, job, placed, queue, worker


def explained(
    seen: Obj, *others: Obj, events: Any = (), lease: Obj | None = None, **kinds: Any
) -> Explanation:
    workers = kinds.get("workers", [worker("east"), worker("west")])
    objects = Objects(
        jobs=[seen, *others],
        workers=workers,
        queues=kinds.get("queues", []),
        priority_classes=kinds.get("priority_classes"),
    )
    picture = Picture(client(), DEFAULTS, objects, NOW, but=seen["metadata"]["uid"])
    return explain(seen, picture, events, lease, NOW)


def test_each_worker_fits_or_says_why_not() -> None:
    workers = [
        worker("drained", drain="NoNewWork"),
        worker("full", maxMirrors=1),
        worker("good"),
        worker("lost", up=False),
        worker("small", capacity={"cpu": 2}),
    ]
    other = placed(job("other"), "full")

    found = explained(job(cpu="3"), other, workers=workers)

    assert found.opinions == (
        Opinion("drained", False, "it is drained (NoNewWork)"),
        Opinion("full", False, "it takes at most 1 workloads, and has them"),
        Opinion("good", True, ""),
        Opinion("lost", False, "not connected"),
        Opinion("small", False, "too little cpu is left of its 2: 3 is needed"),
    )
    assert found.choice == "good"
    assert "What is left of it needs 3 cpu." in found.says


def test_workers_that_its_queue_does_not_use_are_named_too() -> None:
    only_east = queue("q", workers={"selector": {"matchLabels": {"name": "east"}}})

    found = explained(job(queue="q"), queues=[only_east])

    assert [each.fits for each in found.opinions] == [True, False]
    assert found.opinions[1] == Opinion("west", False, "its queue does not use it")


def test_its_place_in_line_is_by_age_among_those_that_wait() -> None:
    others = [
        job("older", age=100),
        job("younger", age=10),
        job("suspended", age=200, suspend=True),
        placed(job("placed", age=200), "east"),
        job("home", age=200, manager=None),
        job("ended", age=200, status={"conditions": [{"type": "Failed", "status": "True"}]}),
    ]

    found = explained(job(age=50), *others)

    assert found.turn == Turn(2, 3, "east")
    assert "In the default line it is number 2 of 3." in found.says


def test_its_place_in_line_is_by_priority_where_its_queue_honours_it() -> None:
    urgent = {"metadata": {"name": "urgent", "resourceVersion": "1"}, "value": 5}
    mine = job(age=50, queue="q")
    mine["spec"]["template"]["spec"]["priorityClassName"] = "urgent"
    others = [job("older", age=100, queue="q")]

    found = explained(mine, *others, queues=[queue("q")], priority_classes=[urgent])
    assert found.turn is not None
    assert found.turn.place == 1

    found = explained(mine, *others, queues=[queue("q")], priority_classes=[])
    assert found.turn is not None
    assert found.turn.place == 2
    assert "Its PriorityClass urgent counts as 0: the hub has none of that name." in found.says


def test_a_job_is_not_in_its_own_way() -> None:
    full = [worker("east", maxMirrors=1)]

    found = explained(placed(job(), "east"), workers=full)

    assert found.opinions == (Opinion("east", True, ""),)
    assert found.turn is None


@pytest.mark.parametrize(
    ("named", "queues", "said"),
    [
        (None, [queue("q", namespaces=["ml"])], "It is in queue q (by its namespace);"),
        ("q", [queue("q")], "It is in queue q (by its label);"),
        (None, [], "It is in no queue;"),
    ],
)
def test_the_queue_is_told_and_how_it_was_found(
    named: str | None, queues: list[Obj], said: str
) -> None:
    found = explained(job(queue=named), queues=queues, workers=[worker("east")])

    assert f"{said} placement is Spread over 1 worker." in found.says
    line = "line of its queue" if queues else "default line"
    assert f"In the {line} it is number 1 of 1." in found.says


def test_a_hub_without_workers_is_told_how_to_add_one() -> None:
    said = "There are no Workers: `jobferry workers add NAME --from-context CONTEXT` adds one."

    assert said in explained(job(), workers=[]).says
    assert said not in explained(job()).says


def test_a_job_without_a_queue_is_told_so() -> None:
    found = explained(job(queue="nosuch"))

    assert found.says[1] == "It has no queue: there is no Queue nosuch."
    assert found.opinions == ()


def test_what_becomes_of_a_job_whose_worker_is_lost_is_told() -> None:
    lost = worker("east", up=False, status={"lostSince": at(-60)})

    found = explained(placed(job(), "east"), workers=[lost, worker("west"), worker("north")])

    assert found.says[0].startswith(
        "ml/train was placed on east, attempt 1, which is not heard"
    )
    assert any("cannot be reached since" in each and "900 s" in each for each in found.says)


@pytest.mark.parametrize(
    ("status", "spec", "part"),
    [
        ({}, {}, "ml/train waits for a worker; it was made 60s ago."),
        ({"active": 1}, {}, "ml/train runs"),
        (
            {"active": 1, "ready": 0},
            {},
            "ml/train starts: 0 of 1 pod ready; `jobferry logs train` tells why.",
        ),
        ({}, {"suspend": True}, "ml/train is suspended"),
        (
            {"conditions": [{"type": "Failed", "status": "True", "message": "Too late"}]},
            {},
            "ml/train has ended (Failed: Too late).",
        ),
    ],
)
def test_first_it_says_how_the_job_stands(status: Any, spec: Any, part: str) -> None:
    assert explained(job(status=status, **spec)).says[0].startswith(part)


def test_a_refusal_counts_until_it_is_placed_there_again() -> None:
    refused = event("Refused", "Worker east refused it: its namespace is missing", age=20)
    before = event("Placed", "Placed on worker east", age=21)
    elsewhere = event("Placed", "Placed on worker east-2, attempt 2: it was refused", age=10)
    again = event("Placed", "Placed on worker east, attempt 3: it was refused", age=5)

    assert refusals([before, refused], ["west"], NOW) == {}
    assert refusals([before, refused, again], ["east"], NOW) == {}
    found = explained(job(), events=[before, refused, elsewhere])
    assert found.opinions[0] == Opinion(
        "east", False, "it refused it 20s ago: its namespace is missing"
    )


def test_a_job_that_its_worker_refused_waits() -> None:
    refused = event("Refused", "Worker east refused it: its namespace is missing", age=20)

    found = explained(placed(job(), "east"), events=[refused])

    assert found.says[0] == (
        "ml/train waits: it was placed on east, attempt 1, but it refused it 20s ago:"
        " its namespace is missing."
    )


def test_a_dispatcher_that_is_silent_is_told_of() -> None:
    lease = {"spec": {"renewTime": at(-600), "leaseDurationSeconds": 15}}

    assert (
        "No dispatcher seems to run: its Lease was last renewed 10m ago."
        in explained(job(), lease=lease).says
    )
    assert "No dispatcher" in explained(job(queue="nosuch"), lease=lease).says[-1]
    fresh = {"spec": {"renewTime": at(-5), "leaseDurationSeconds": 15}}
    assert not any("dispatcher" in each for each in explained(job(), lease=fresh).says)
    assert not any("dispatcher" in each for each in explained(job(), lease={}).says)


@pytest.mark.parametrize(
    ("manager", "part"),
    [(None, "the hub itself runs it"), ("kueue.x-k8s.io/multikueue", "its managedBy is kueue")],
)
def test_a_job_that_is_not_ours_is_refused_with_a_hint(manager: str | None, part: str) -> None:
    with pytest.raises(BadInput, match=part) as caught:
        why.refuse_undelegated(job(manager=manager), DEFAULTS)

    assert "jobferry.io/dispatcher" in (caught.value.hint or "")


def test_it_is_shown_to_people_and_to_programs() -> None:
    found = explained(job())

    assert "east     yes, first   -\n" in why.text(found)
    assert why.data(found)["workers"][0] == {"worker": "east", "fits": True, "reason": ""}
    assert why.data(found)["line"] == {"place": 1, "length": 1}


def test_what_the_worker_of_a_job_lacks_is_repeated() -> None:
    said = "Worker east lacks what it refers to: ConfigMap a. Create it there."
    told = [event("ReferencesMissing", said, age=50)]

    assert said in explained(placed(job(), "east"), events=told).says
    assert said not in explained(placed(job(), "west"), events=told).says
    assert said not in explained(job(), events=told).says
