"""Workloads of other kinds than Jobs, as programs get them."""

import json

from jobferry.cli.workload_facts import Workload
from jobferry.core.placement import ANNOTATION
from jobferry.dispatch import switches
from jobferry.settings import DEFAULTS
from tests.unit.cli.hub_objects import job, placed
from tests.unit.cli.test_other_kinds import JOB_SET, job_set, record


def test_programs_find_a_placement_where_that_of_a_job_is() -> None:
    obj = job_set(metadata={"annotations": {"a": "b"}})
    on_job = placed(job(), "east", attempt=2)["metadata"]["annotations"][ANNOTATION]

    annotations = Workload(JOB_SET, obj, record(obj)).document["metadata"]["annotations"]

    assert annotations["a"] == "b"
    told, of_job = json.loads(annotations[ANNOTATION]), json.loads(on_job)
    assert told["shards"] == [{"worker": "east", "cluster": "cluster-east", "base": {}}]
    assert told == of_job
    assert ANNOTATION not in obj["metadata"]["annotations"]


def test_of_what_is_not_placed_no_placement_is_told_whatever_its_annotation_says() -> None:
    forged = job_set(metadata={"annotations": {ANNOTATION: "{}"}})

    assert "annotations" not in Workload(JOB_SET, forged).document["metadata"]
    assert Workload(JOB_SET, job_set()).document == job_set()


def test_a_job_is_shown_as_it_is_though_its_kind_is_named() -> None:
    obj = placed(job(), "east")

    assert Workload(switches.known(DEFAULTS)["Job.batch"], obj).document is obj
