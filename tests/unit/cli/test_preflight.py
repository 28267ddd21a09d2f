import json

import pytest

from jobferry.cli import enrolment, known_hub, preflight
from jobferry.cli.preflight import FAILED, OK, UNKNOWN, WARNING, Finding, Hub
from jobferry.cli.rights import Right
from jobferry.kinds.referred import SECRET
from jobferry.kube import kubeconfig
from jobferry.kube.access import Server
from jobferry.objects.resource import Resource
from jobferry.testing.clock import ManualClock
from jobferry.workers.cluster import Cluster
from tests.unit.cli.hub_objects import job, queue, worker

HUB = Hub(uid="hub", workers={"u-east": "east"}, namespaces=frozenset({"ml"}))


@pytest.mark.parametrize(
    ("version", "verdict"),
    [
        ("v1.29.15", OK),
        ("v1.35.8-gke.12", OK),
        ("v2.0.0", OK),
        ("v1.28.9", FAILED),
        ("wonder", WARNING),
    ],
)
def test_a_worker_is_of_1_29_or_later(version: str, verdict: str) -> None:
    assert preflight.version(Cluster("u", version)).verdict == verdict


def test_a_worker_serves_jobs() -> None:
    assert preflight.kinds(Cluster("u", "v", ("Job.batch/v1",))).verdict == OK
    assert preflight.kinds(Cluster("u", "v", ())).verdict == FAILED


@pytest.mark.parametrize(
    ("uid", "says"),
    [("hub", "it is the hub itself"), ("u-east", "same cluster as Worker east")],
)
def test_a_cluster_that_we_have_is_none_to_add(uid: str, says: str) -> None:
    found = preflight.identity(Cluster(uid, "v"), HUB)

    assert found.verdict == FAILED
    assert says in found.says
    assert preflight.identity(Cluster("other", "v"), HUB).verdict == OK


def test_rights_that_are_missing_are_named() -> None:
    missing = [
        Right("create", "batch", "jobs"),
        Right("get", "", "namespaces", name="kube-system"),
    ]

    found = preflight.lacking(missing)

    assert found == Finding(
        "rights", FAILED, "we may not create jobs.batch, get namespaces kube-system"
    )
    assert preflight.lacking([]).verdict == OK


def test_what_is_needed_is_what_the_manifest_gives() -> None:
    usual = {str(right) for right in preflight.needed()}

    assert usual == {
        *(
            f"{verb} jobs.batch"
            for verb in ["get", "list", "watch", "create", "patch", "delete"]
        ),
        "get namespaces kube-system",
    }
    more = {str(right) for right in preflight.needed(creates_namespaces=True)}
    assert more - usual == {"create namespaces"}


def test_kinds_that_we_may_not_use_are_a_warning_and_no_more() -> None:
    kinds = [
        Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
        Resource("ray.io", "v1", "rayjobs", "RayJob"),
    ]

    (found,) = preflight.out_of_sight(kinds, [Right("create", "ray.io", "rayjobs")])

    assert (found.verdict, "--kinds RayJob" in found.says) == (WARNING, True)
    assert "JobSet" not in found.says
    assert preflight.out_of_sight(kinds, []) == []


def test_kinds_that_a_new_worker_serves_and_would_not_get_are_told() -> None:
    (found,) = preflight.left_out([Resource("ray.io", "v1", "rayjobs", "RayJob")])

    assert (found.verdict, "`--kinds RayJob`" in found.says) == (WARNING, True)
    assert preflight.left_out([]) == []


def test_kinds_that_were_asked_for_and_have_no_crd_there_are_told() -> None:
    (found,) = preflight.unserved([Resource("ray.io", "v1", "rayjobs", "RayJob")])

    assert found.verdict == WARNING
    assert found.says == (
        "no CRD there serves RayJob.ray.io/v1: install it with its operator, now or later;"
        " until then this worker gets no RayJob"
    )
    assert preflight.unserved([]) == []


def test_an_account_gets_rights_on_the_kinds_that_were_asked_for() -> None:
    kinds = [Resource("ray.io", "v1", "rayjobs", "RayJob")]
    usual, more = (
        {
            each["metadata"]["name"]
            for each in enrolment.account(creates_namespaces=False, kinds=found)
        }
        for found in ([], kinds)
    )

    assert more - usual == {
        *("jobferry-worker-kind-rayjobs.ray.io", "jobferry-worker-definitions")
    }


def test_what_we_may_not_look_for_is_unknown_and_no_more() -> None:
    wanted = [Resource("", "v1", "configmaps", "ConfigMap"), SECRET]

    (found,) = preflight.references(wanted, [Right("get", "", "secrets")])
    (fine,) = preflight.references(wanted, [])

    assert (found.verdict, fine.verdict) == (UNKNOWN, OK)
    assert "`jobferry manifests worker --references Secret` has the rights" in found.says
    assert preflight.references([], []) == []


def test_an_account_may_look_for_what_was_asked_for() -> None:
    usual, more = (
        {
            each["metadata"]["name"]
            for each in enrolment.account(creates_namespaces=False, referred=found)
        }
        for found in ([], [SECRET])
    )

    assert more - usual == {"jobferry-worker-reference-secrets"}


def test_namespaces_that_are_missing_are_a_warning() -> None:
    assert preflight.namespaces({"a", "b"}, {"a": True, "b": False}).verdict == WARNING
    assert preflight.namespaces({"a"}, {"a": None}).verdict == UNKNOWN
    assert "not ours to see" in preflight.namespaces({"a"}, {"a": None}).says
    assert preflight.namespaces((), {}).says.endswith("none")


def test_the_namespaces_of_a_hub_are_those_of_its_jobs_and_queues() -> None:
    found = preflight.origins(
        [job(), job("home", manager=None)], [queue("q", namespaces=["x"]), queue("r")]
    )

    assert found == {"ml", "x"}


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("https://127.0.0.1:6443", WARNING),
        ("https://[::1]:6443", WARNING),
        ("https://localhost:6443", WARNING),
        ("https://10.0.0.1:6443", OK),
        ("https://east.example.com", OK),
    ],
)
def test_an_address_of_this_machine_is_a_warning(url: str, verdict: str) -> None:
    assert preflight.address(url).verdict == verdict


def test_workers_are_known_by_their_clusters_unless_they_share_them() -> None:
    workers = [
        worker("east"),
        worker("west", sharedCluster=True),
        worker("new", status={"clusterUID": None}),
    ]

    assert known_hub.clusters(workers, but="") == {"cluster-east": "east"}
    assert known_hub.clusters(workers, but="east") == {}


def test_the_kubeconfig_that_is_written_leads_where_the_context_did() -> None:
    server = Server(
        url="https://east:6443", tls_server_name="api", proxy_url="http://proxy:3128"
    )

    text = enrolment.kubeconfig(server, "secret-token")

    access = kubeconfig.from_bytes(text.encode(), "new").access(clock=ManualClock())
    assert access.server == server
    held = enrolment.secret("east", text)
    assert held["metadata"] == {"name": "east", "namespace": "jobferry-system"}
    assert json.loads(text)["users"][0]["user"] == {"token": "secret-token"}
    where = enrolment.worker("east")["spec"]["kubeconfig"]["secret"]
    assert where == {"namespace": "jobferry-system", "name": "east", "key": "kubeconfig"}


def test_the_right_to_create_namespaces_is_given_to_who_asks_for_it() -> None:
    usual = enrolment.account(creates_namespaces=False)
    more = enrolment.account(creates_namespaces=True)

    assert more[:-1] == usual
    binding = more[-1]
    assert binding["metadata"] == {"name": "jobferry-worker-namespaces"}
    assert binding["roleRef"]["name"] == "jobferry-worker-namespaces"
    assert binding["subjects"][0]["name"] == enrolment.ACCOUNT
    spec = enrolment.worker("east", creates_namespaces=True)["spec"]
    assert spec["namespaces"] == {"create": True}
    assert "namespaces" not in enrolment.worker("east")["spec"]


def test_findings_are_a_table() -> None:
    assert preflight.report([Finding("version", OK, "v1.35.8")]) == (
        "CHECK     RESULT   DETAIL\nversion   ok       v1.35.8\n"
    )
