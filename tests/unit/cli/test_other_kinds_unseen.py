"""Kinds that the dispatcher may not follow, and workloads that are to leave: no more is said than is known."""

import pytest

from jobferry.cli import explanation, kinds, undelegated
from jobferry.cli.explanation import Explanation
from jobferry.cli.picture import Objects, Picture
from jobferry.cli.workload_facts import Workload
from jobferry.dispatch import switches
from jobferry.errors import BadInput
from jobferry.kinds.adapter import Adapter
from jobferry.objects import Obj
from jobferry.settings import DEFAULTS
from tests.unit.cli.hub_objects import NOW, client, worker
from tests.unit.cli.test_other_kinds import JOB_SET, NAME, POD, SERVED, job_set, pod, record
from tests.workloads.lives import LIVES

JOBS_ALONE: Obj = {"kinds": ["Job.batch/v1"]}


def explained(
    kind: Adapter, obj: Obj, *workers: Obj, own: Obj | None = None, is_on: bool = True
) -> Explanation:
    objects = Objects(jobs=[], workers=workers, queues=[], others={kind.name: [obj]})
    chosen = switches.including(DEFAULTS, kind)
    picture = Picture(client(), chosen, objects, NOW, but=obj["metadata"]["uid"])
    seen = Workload(kind, obj, own)
    return explanation.explain_any(seen, picture, [], None, NOW, is_on=is_on)


def test_what_the_dispatcher_does_not_follow_is_in_no_line_and_no_worker_is_blamed() -> None:
    found = explained(POD, pod("a", "1"), worker("east", status=JOBS_ALONE), is_on=False)

    assert any("The dispatcher does not follow Pods" in each for each in found.says)
    assert found.turn is None
    assert [each.reason for each in found.opinions] == ["is not known to serve Pod"]


def test_where_no_worker_names_a_kind_it_may_be_the_settings_of_the_dispatcher() -> None:
    found = explained(JOB_SET, job_set(), worker("east", status=JOBS_ALONE))

    assert any("No Worker serves JobSets, or the dispatcher" in each for each in found.says)
    assert found.turn is not None
    assert [each.reason for each in found.opinions] == [f"is not known to serve {NAME}"]


def test_a_kind_that_a_worker_names_is_followed_whatever_the_settings_here_say() -> None:
    served = {"kinds": ["Job.batch/v1", "Pod.v1"]}
    found = explained(POD, pod("a", "1"), worker("east", status=served), is_on=False)

    assert found.choice == "east"
    assert not any("does not follow" in each for each in found.says)
    on = kinds.standing(
        POD,
        is_on=False,
        is_on_hub=True,
        workers=kinds.serving(POD, [worker("east", status=served)]),
        has_rival=False,
    )
    assert (on.is_on, on.needs) == (True, "")


def test_every_worker_serves_pods_so_a_dispatcher_that_follows_them_is_all_they_need() -> None:
    found = kinds.standing(POD, is_on=False, is_on_hub=True, workers=(), has_rival=False)

    assert found.needs == "kinds: [Job, ..., Pod] in the settings"


def test_what_is_to_leave_a_worker_says_so_and_what_it_waits_for() -> None:
    obj = job_set(spec={"suspend": None})
    east = worker("east", status=SERVED, drain="MoveAway")

    moving = explained(JOB_SET, obj, east, worker("west", status=SERVED), own=record(obj))
    stuck = explained(JOB_SET, obj, east, own=record(obj))

    there = "It is to leave east, and moves once it has stopped there, by its operator there."
    assert there in moving.says
    assert "It is to leave east, and stays until another Worker can take it." in stuck.says


def test_what_has_ended_needs_nothing_and_leaves_nothing() -> None:
    obj = job_set(status=LIVES[NAME][-1])
    east = worker("east", status=SERVED, drain="MoveAway")

    found = explained(JOB_SET, obj, east, worker("west", status=SERVED), own=record(obj))

    assert not any(
        "needs" in each or "requests" in each or "leave" in each for each in found.says
    )


def test_who_cancels_what_the_hub_itself_runs_is_told_how_it_is_deleted() -> None:
    with pytest.raises(BadInput, match="does not run on a worker") as caught:
        undelegated.refuse_to_cancel(Workload(JOB_SET, job_set(spec={"managedBy": None})))

    assert f"`kubectl delete {JOB_SET.resource} train`" in (caught.value.hint or "")
    with pytest.raises(BadInput, match=r"its managedBy is a\.b/c"):
        undelegated.refuse_to_cancel(Workload(JOB_SET, job_set(spec={"managedBy": "a.b/c"})))
    undelegated.refuse_to_cancel(Workload(JOB_SET, job_set()))
