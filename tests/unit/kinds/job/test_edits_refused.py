"""Edits that cannot be forwarded are told for as long as they are there."""

from jobferry.kinds.job.edits import edits
from jobferry.objects import merge_patch
from tests.unit.kinds.job.jobs import hub_job
from tests.unit.kinds.job.test_edits import BASE, mirror_of


def test_what_was_refused_is_told_after_the_rest_was_forwarded_too() -> None:
    hub = hub_job()
    mirror = mirror_of(hub)
    pod = {**hub["spec"]["template"]["spec"], "containers": [{"name": "other"}]}
    template = {**hub["spec"]["template"], "spec": pod}
    hub = {
        **hub,
        "metadata": {**hub["metadata"], "generation": hub["metadata"]["generation"] + 1},
        "spec": {**hub["spec"], "parallelism": 4, "template": template},
    }

    first = edits(hub, mirror, BASE)
    second = edits(hub, merge_patch.apply(mirror, first.patch), BASE)

    assert second.patch is None
    assert second.refusals == first.refusals != ()
