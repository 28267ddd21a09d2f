import pytest

from jobferry.localkube.apiserver.admission.quota_evaluators import evaluator_of
from jobferry.localkube.apiserver.admission.request import CREATE, DELETE, UPDATE, Topic
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.admission.admission_world import pod, request

PODS = evaluator_of("", "pods")


@pytest.mark.parametrize(
    ("before", "after", "matters"),
    [({}, {}, False), ({}, {"activeDeadlineSeconds": 1}, True)],
)
def test_an_update_of_a_pod_matters_only_to_its_scope(
    before: Obj, after: Obj, matters: bool
) -> None:
    asked = request("pods", pod(**after), UPDATE, old=pod(**before))

    assert PODS.concerns(asked) is matters
    assert PODS.concerns(request("pods", pod(), UPDATE, old=pod(), subresource="resize"))


@pytest.mark.parametrize(
    ("topic", "handles"),
    [
        (Topic("", "pods", "", CREATE), True),
        (Topic("", "pods", "status", UPDATE), False),
        (Topic("", "pods", "resize", UPDATE), True),
        (Topic("", "services", "", UPDATE), True),
        (Topic("", "services", "status", UPDATE), False),
        (Topic("", "persistentvolumeclaims", "status", UPDATE), True),
        (Topic("", "configmaps", "", UPDATE), False),
        (Topic("", "configmaps", "", DELETE), False),
        (Topic("batch", "jobs", "", CREATE), True),
        (Topic("batch", "jobs", "", UPDATE), False),
        (Topic("batch", "jobs", "status", CREATE), False),
    ],
)
def test_only_what_can_change_usage_is_looked_at(topic: Topic, handles: bool) -> None:
    assert evaluator_of(topic.group, topic.resource).handles(topic) is handles
