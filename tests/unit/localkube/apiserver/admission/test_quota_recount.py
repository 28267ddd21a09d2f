from collections.abc import Iterable
from datetime import UTC, datetime

from jobferry.localkube.apiserver.admission.quota_recount import kinds, recount
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.admission.admission_world import container, pod, quota

NOW = datetime(2026, 1, 1, tzinfo=UTC)

STORED: dict[tuple[str, str], list[Obj]] = {
    ("", "pods"): [
        pod(containers=[container(requests={"cpu": "500m"})]),
        pod(activeDeadlineSeconds=5),
        pod() | {"status": {"phase": "Failed"}},
    ],
    ("batch", "jobs"): [{}, {}],
    ("", "configmaps"): [],
}


def objects(group: str, resource: str) -> Iterable[Obj] | None:
    return STORED.get((group, resource))


def test_everything_that_a_quota_limits_is_counted() -> None:
    hard = {
        "pods": "5",
        "count/pods": "5",
        "cpu": "2",
        "count/jobs.batch": "3",
        "configmaps": "1",
    }

    counted = recount(quota(hard, {"pods": "99"}), objects, NOW)

    used = {"pods": "2", "count/pods": "3", "cpu": "500m", "count/jobs.batch": "2"}
    assert counted == {"hard": hard, "used": used | {"configmaps": "0"}}


def test_only_what_is_in_scope_counts() -> None:
    ending = recount(quota({"pods": "5"}, scopes=["Terminating"]), objects, NOW)

    assert ending["used"] == {"pods": "1"}


def test_what_is_not_served_is_not_counted() -> None:
    hard = {"count/widgets.example.com": "1", "count/jobs.batch": "1"}

    assert recount(quota(hard), objects, NOW)["used"] == {"count/jobs.batch": "2"}


def test_the_kinds_to_look_at_follow_from_the_names() -> None:
    assert ("example.com", "widgets") in kinds(["count/widgets.example.com"])
    assert {("", "pods"), ("", "secrets")} <= kinds([])
