"""Workloads of other kinds than Jobs, as commands show them."""

from dataclasses import replace
from typing import Any

import pytest

from jobferry.cli import explanation, kinds, other_kinds, picture, tables, undelegated
from jobferry.cli.kinds import Standing
from jobferry.cli.picture import Objects, Picture
from jobferry.cli.workload_facts import Workload
from jobferry.core import placement_object
from jobferry.core.placement import Placement, Shard
from jobferry.core.placement_object import Content
from jobferry.dispatch import switches
from jobferry.errors import BadInput
from jobferry.kinds.adapter import Adapter
from jobferry.kinds.references import Reference
from jobferry.objects import Obj, merge_patch
from jobferry.settings import DEFAULTS, Settings
from jobferry.workers import sight
from tests.unit.cli.hub_objects import NOW, at, client, worker
from tests.workloads.examples import EXAMPLES
from tests.workloads.lives import LIVES

NAME = "JobSet.jobset.x-k8s.io"
JOB_SET = switches.known(DEFAULTS)[NAME]
SERVED = {"kinds": ["Job.batch/v1", "JobSet.jobset.x-k8s.io/v1alpha2"]}


def job_set(**changes: Any) -> Obj:
    meta = {
        "name": "train",
        "namespace": "ml",
        "uid": "uid-train",
        "resourceVersion": "7",
        "creationTimestamp": at(-60),
    }
    return dict(merge_patch.apply({**EXAMPLES[NAME], "metadata": meta}, changes))


def record(obj: Obj, where: str = "east", kind: Adapter = JOB_SET) -> Obj:
    placed = Placement(obj["metadata"]["uid"], 2, (Shard(where, f"cluster-{where}"),))
    made = placement_object.new(kind, obj, Content(placed))
    meta = {"uid": "uid-record", "resourceVersion": "8"}
    return dict(merge_patch.apply(made, {"metadata": meta}))


STATES: dict[str, tuple[Obj, bool, tuple[str, str | None, int]]] = {
    "waits": ({}, False, ("Waiting", None, 0)),
    "placed": ({}, True, ("Placed", "east", 2)),
    "runs": ({"status": LIVES[NAME][1]}, True, ("Running", "east", 2)),
    "ended": ({"status": LIVES[NAME][-1]}, True, ("Complete", "east", 2)),
    "suspended": ({"spec": {"suspend": True}}, False, ("Suspended", None, 0)),
    "going": ({"metadata": {"deletionTimestamp": at(0)}}, True, ("Deleting", "east", 2)),
    "not ours": ({"spec": {"managedBy": None}}, False, ("NotDelegated", "<hub>", 0)),
    "runs on the hub": (
        {"spec": {"managedBy": None}, "status": LIVES[NAME][1]},
        False,
        ("Running", "<hub>", 0),
    ),
    "others'": ({"spec": {"managedBy": "a.b/c"}}, False, ("NotDelegated", "<a.b/c>", 0)),
}


@pytest.mark.parametrize("case", STATES.values(), ids=STATES)
def test_a_workload_is_told_in_a_row(
    case: tuple[Obj, bool, tuple[str, str | None, int]],
) -> None:
    changes, is_placed, expected = case
    obj = job_set(**changes)
    seen = Workload(JOB_SET, obj, record(obj) if is_placed else None)

    assert (seen.state, seen.worker, seen.attempt) == expected
    columns, rows = other_kinds.table([seen], NOW, True)
    assert len(columns) == len(rows[0])
    assert "60s" in tables.text(columns, rows)


OURS = "jobferry.io/dispatcher"
ANEW = f"with spec.managedBy: {OURS} goes to a worker: make it anew with that."
UNDELEGATED: dict[str, tuple[str | None, str, str]] = {
    "none": (None, "is not delegated: what is on the hub runs it", f"A JobSet {ANEW}"),
    "own": (
        "jobset.sigs.k8s.io/jobset-controller",
        "is not delegated: what is on the hub runs it",
        f"Its managedBy is jobset.sigs.k8s.io/jobset-controller. A JobSet {ANEW}",
    ),
    "misspelt": (
        "jobfery.io/dispatcher",
        "is not delegated to us: its managedBy is jobfery.io/dispatcher",
        f"Is {OURS} meant? A JobSet {ANEW}",
    ),
    "another's": (
        "a.b/c",
        "is not delegated to us: its managedBy is a.b/c",
        f"Ours is {OURS}; JOBFERRY_MANAGED_BY says otherwise, as for the dispatcher.",
    ),
}


@pytest.mark.parametrize("case", UNDELEGATED.values(), ids=UNDELEGATED)
def test_of_what_is_not_delegated_it_is_told_who_runs_it_and_what_to_do(
    case: tuple[str | None, str, str],
) -> None:
    named, says, hint = case
    seen = Workload(JOB_SET, job_set(spec={"managedBy": named}))

    with pytest.raises(BadInput, match=f"^JobSet train {says}$") as caught:
        undelegated.refuse(seen)

    assert caught.value.hint == hint
    undelegated.refuse(Workload(JOB_SET, job_set()))


def test_what_only_a_dispatcher_that_stands_in_for_multikueue_runs_is_told_so() -> None:
    multikueue = {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}
    obj = dict(merge_patch.apply(EXAMPLES["RayJob.ray.io"], multikueue))
    seen = Workload(switches.known(DEFAULTS)["RayJob.ray.io"], obj)

    with pytest.raises(BadInput, match="its managedBy is kueue") as caught:
        undelegated.refuse(seen)

    assert "JOBFERRY_CLAIM_MULTIKUEUE=true" in (caught.value.hint or "")


# Why


def explained(obj: Obj, *workers: Obj, others: tuple[Obj, ...] = ()) -> explanation.Explanation:
    objects = Objects(
        jobs=[],
        workers=workers,
        queues=[],
        others={NAME: [obj, *others]},
        placements=[record(each) for each in others],
    )
    picture = Picture(client(), DEFAULTS, objects, NOW, but=obj["metadata"]["uid"])
    return explanation.explain_any(Workload(JOB_SET, obj), picture, [], None, NOW)


def test_a_worker_that_does_not_serve_the_kind_is_named() -> None:
    alone = {"kinds": ["Job.batch/v1"]}
    found = explained(job_set(), worker("east", status=alone), worker("west", status=SERVED))

    assert found.says[0] == "JobSet ml/train waits for a worker; it was made 60s ago."
    assert {each.worker: each.reason for each in found.opinions} == {
        "east": f"does not serve {NAME}",
        "west": "",
    }
    assert found.choice == "west"


def blind(name: str, status: Obj) -> Obj:
    """A worker that serves JobSets, and whose account has no rights on them."""
    found = worker(name, status=status)
    connected = found["status"]["conditions"][0]
    connected |= {"reason": sight.UNSEEN, "message": sight.told({NAME: "no rights"})}
    return found


@pytest.mark.parametrize("status", [SERVED, {"kinds": ["Job.batch/v1"]}])
def test_a_worker_that_serves_the_kind_and_does_not_show_it_does_not_fit(status: Obj) -> None:
    """However it lists the kinds: dispatchers of old had those in the list that are not seen."""
    there = [blind("west", status)]

    found = explained(job_set(), *there)

    assert found.choice is None
    assert [(each.fits, each.reason) for each in found.opinions] == [
        (False, f"does not show us {NAME}: no rights")
    ]
    assert kinds.serving(JOB_SET, there) == ()
    needs = standing(workers=(), blind=kinds.blind(JOB_SET, there)).needs
    assert needs == "to be seen on west: no rights"


def test_what_others_of_the_kind_take_is_counted() -> None:
    other = job_set(metadata={"name": "other", "uid": "uid-other"})
    east = worker("east", status=SERVED, maxMirrors=1)

    found = explained(job_set(), east, others=(other,))

    assert [each.reason for each in found.opinions] == [
        "it takes at most 1 workloads, and has them"
    ]


def test_what_is_referred_to_on_the_hub_is_found_among_the_objects_there() -> None:
    runtime: Obj = {"metadata": {"name": "torch"}, "spec": {"a": 1}}
    pipeline: Obj = {"metadata": {"name": "build", "namespace": "ml"}, "spec": {"b": 2}}
    objects = Objects(
        jobs=[],
        workers=[],
        queues=[],
        referred={("t", "Runtime"): [runtime], ("tekton.dev", "Pipeline"): [pipeline]},
    )
    find = picture.lookup(objects)

    assert find("ml", Reference("t", "Runtime", "torch", is_namespaced=False)) == runtime
    assert find("ml", Reference("tekton.dev", "Pipeline", "build")) == pipeline
    assert find("vision", Reference("tekton.dev", "Pipeline", "build")) is None
    assert find("ml", Reference("tekton.dev", "Task", "build")) is None


# Groups of Pods

WITH_PODS = replace(DEFAULTS, kinds=("Job", "Pod"))
POD = switches.known(WITH_PODS)["Pod"]
POD_SERVED = {"kinds": ["Job.batch/v1", "Pod.v1"]}


def pod(name: str, total: str = "3") -> Obj:
    """One of a group of three, each with one CPU."""
    said = {"jobferry.io/pod-group": "g", "jobferry.io/pod-group-total-count": total}
    meta = {
        "name": name,
        "namespace": "ml",
        "uid": f"uid-{name}",
        "resourceVersion": "7",
        "creationTimestamp": at(-60),
        "annotations": said,
    }
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    return dict(
        merge_patch.apply(
            EXAMPLES["Pod"], {"metadata": meta, "spec": {"containers": [container]}}
        )
    )


def why_of(
    first: Obj,
    *others: Obj,
    cpus: int = 2,
    placed: str = "",
    own: Obj | None = None,
    chosen: Settings = WITH_PODS,
) -> explanation.Explanation:
    """Explain a Pod; `placed` is where the others are, and `own` its own record."""
    workers = [
        worker(each, status=POD_SERVED, capacity={"cpu": cpus}) for each in ("east", "west")
    ]
    objects = Objects(
        jobs=[],
        workers=workers,
        queues=[],
        others={"Pod": [first, *others]},
        placements=[record(each, placed, POD) for each in others] if placed else [],
    )
    picture = Picture(client(), chosen, objects, NOW, but=first["metadata"]["uid"])
    return explanation.explain_any(Workload(POD, first, own), picture, [], None, NOW)


def test_of_a_group_that_is_not_complete_it_is_told_how_many_are_there() -> None:
    found = why_of(pod("a"), pod("b"))

    waits = "t waits for 1 more pod of its group g (2 of 3 are there)"
    assert f"I{waits}." in found.says
    assert {each.reason for each in found.opinions} == {f"i{waits}"}
    assert found.choice is None


def test_a_worker_fits_a_pod_if_it_has_room_for_all_of_its_group() -> None:
    found = why_of(pod("a"), pod("b"), pod("c"))
    assert "In the default line it is number 1 of 1." in found.says
    assert {each.reason for each in found.opinions} == {
        "too little cpu is left of its 2: 3 is needed"
    }

    found = why_of(pod("a"), pod("b"), pod("c"), cpus=3)
    assert [each.fits for each in found.opinions] == [True, True]
    assert found.choice == "east"


def test_a_pod_fits_only_where_the_others_of_its_group_are() -> None:
    found = why_of(pod("a"), pod("b"), pod("c"), cpus=3, placed="west")

    assert {each.worker: each.reason for each in found.opinions} == {
        "east": "the others of its group are on west",
        "west": "",
    }
    assert found.choice == "west"


def test_a_pod_that_is_placed_waits_for_nobody() -> None:
    first = pod("a")
    own = record(first, "west", POD)

    alone = why_of(first, own=own)
    assert alone.says[0] == "Pod ml/a is placed on west, attempt 2."
    assert [each.fits for each in alone.opinions] == [True, True]

    found = why_of(first, pod("b"), pod("c"), cpus=3, placed="west", own=own)
    assert {each.worker: each.reason for each in found.opinions} == {
        "east": "the others of its group are on west",
        "west": "",
    }


def test_one_pod_too_many_and_totals_that_disagree_are_told() -> None:
    many = why_of(pod("a"), pod("b"), pod("c"), pod("d"), placed="west")
    assert {each.reason for each in many.opinions} == {
        "its group g has more pods than the 3 that it says: 4 are there"
    }

    apart = why_of(pod("a"), pod("b", "2"))
    assert {each.reason for each in apart.opinions} == {
        "the pods of its group g do not agree how many they are: 2 or 3"
    }


def test_the_others_of_a_group_count_though_its_kind_is_not_on_by_the_settings_here() -> None:
    """Whoever asks about a Pod has a dispatcher that follows Pods, whatever the settings of the command say."""
    chosen = switches.including(DEFAULTS, POD)
    assert why_of(pod("a"), pod("b"), pod("c"), cpus=3, chosen=chosen).choice == "east"
    assert switches.including(chosen, POD) is chosen


def test_what_no_worker_takes_is_in_no_line_and_fits_nowhere() -> None:
    found = why_of(pod("a", "two"))

    assert (found.turn, found.choice) == (None, None)
    assert {(each.fits, each.reason) for each in found.opinions} == {
        (False, "no worker can run it as it is")
    }
    other = why_of(pod("x", "1"), pod("a", "two"))
    assert "In the default line it is number 1 of 1." in other.says


# Kinds


def standing(name: str = NAME, chosen: Settings = DEFAULTS, **facts: Any) -> Standing:
    known: dict[str, Any] = {
        "is_on": True,
        "is_on_hub": True,
        "workers": ("east",),
        "has_rival": False,
    }
    return kinds.standing(switches.known(chosen)[name], **known | facts)


def test_a_kind_that_lacks_nothing_needs_nothing() -> None:
    found = standing()

    assert (found.needs, found.managed_by) == ("", ("jobferry.io/dispatcher",))
    assert tables.text(kinds.COLUMNS, [kinds.row(found)]).splitlines()[1].split() == [
        NAME,
        "yes",
        "yes",
        "east",
        "<none>",
    ]


def test_what_a_kind_needs_is_said() -> None:
    off = standing(is_on=False, workers=()).needs
    assert off == "kinds: [Job, ..., JobSet] in the settings; a Worker that serves it"
    assert standing(is_on_hub=False).needs == "its CRD on the hub"
    assert standing(workers=()).needs == "a Worker that serves it"
    closed = standing("RayJob.ray.io", is_on=False, workers=())
    assert closed.needs == "claimMultikueue: true; a Worker that serves it"
    assert closed.managed_by == ()
    borrowed = standing("RayJob.ray.io", Settings(claim_multikueue=True), has_rival=True)
    assert "MultiKueue runs on this hub" in borrowed.needs
    assert borrowed.managed_by == ("kueue.x-k8s.io/multikueue",)


def test_an_operator_that_would_run_it_on_the_hub_as_well_is_warned_of() -> None:
    assert "does not look at" in standing("JAXJob.kubeflow.org").note


def test_workers_say_which_kinds_they_serve() -> None:
    there = [
        worker("east", status=SERVED),
        worker("west"),
        worker("south", status={"kinds": []}),
    ]

    assert kinds.serving(JOB_SET, there) == ("east",)


def test_a_kind_that_is_unknown_is_told() -> None:
    with pytest.raises(BadInput, match="there is no kind Nonsense"):
        other_kinds.kind("Nonsense", DEFAULTS)
