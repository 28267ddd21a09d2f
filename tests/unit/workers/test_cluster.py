import orjson
import pytest

from jobferry.kube import errors
from jobferry.kube.resources import JOBS
from jobferry.kube.wire import Answer
from jobferry.objects import Obj
from jobferry.workers import cluster
from jobferry.workers.cluster import Cluster
from tests.unit.kube.wires import Wire, client_over
from tests.unit.kube.wires import status as failure

NAMESPACE = {"metadata": {"uid": "x"}}
VERSION = {"gitVersion": "v1.29.15"}
BATCH = {"resources": [{"name": "cronjobs"}, {"name": "jobs"}]}


def answer(body: Obj | list[Obj] | str) -> Answer:
    return Answer(200, {}, orjson.dumps(body))


async def introduced(*answers: Answer) -> Cluster:
    return await cluster.introduce(client_over(Wire(*answers)), (JOBS,))


async def test_a_cluster_says_who_it_is() -> None:
    found = await introduced(answer(NAMESPACE), answer(VERSION), answer(BATCH))

    assert found == Cluster("x", "v1.29.15", ("Job.batch/v1",))


@pytest.mark.parametrize(
    "batch", [answer({"resources": []}), failure(404, "NotFound"), failure(403, "Forbidden")]
)
async def test_a_kind_that_is_not_served_is_not_listed(batch: Answer) -> None:
    found = await introduced(answer(NAMESPACE), answer(VERSION), batch)

    assert found.kinds == ()


async def test_what_is_in_no_namespace_is_not_the_kind_that_was_meant() -> None:
    batch = {"resources": [{"name": "jobs", "namespaced": False}]}

    found = await introduced(answer(NAMESPACE), answer(VERSION), answer(batch))

    assert found.kinds == ()


@pytest.mark.parametrize("first", [{}, [], "hello", {"metadata": None}])
async def test_what_is_no_cluster_is_told(first: Obj | list[Obj] | str) -> None:
    with pytest.raises(
        errors.ServerFailure, match="does not answer as a Kubernetes API server"
    ):
        await introduced(answer(first), answer(VERSION), answer(BATCH))


def test_it_is_recalled_from_the_status_of_a_worker() -> None:
    known = {"clusterUID": "x", "serverVersion": "v1", "kinds": ["Job.batch/v1"]}

    assert cluster.recall(known) == Cluster("x", "v1", ("Job.batch/v1",))
    assert cluster.recall({}) == cluster.UNKNOWN


@pytest.mark.parametrize(
    ("version", "counts_late"),
    [("v1.29.15", True), ("v1.31.4-gke.1", True), ("v1.32.0", False), ("odd", True)],
)
def test_old_clusters_count_late(version: str, counts_late: bool) -> None:
    assert Cluster("x", version).counts_late is counts_late


def test_a_kind_is_known_by_how_a_worker_names_it() -> None:
    named = {
        name: cluster.kind_of(name) for name in ("Job.batch/v1", "Pod.v1", "A.b.c/v1beta1")
    }

    assert [*named.values()] == ["Job.batch", "Pod", "A.b.c"]
