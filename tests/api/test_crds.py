"""The objects on the hub, as real API servers take and show them."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any

import pytest

from jobferry.dispatch import manifests
from jobferry.dispatch.queues import QUEUES
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.objects import Obj, conditions
from jobferry.objects.resource import Resource
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from jobferry.workers.resource import WORKERS
from tests.api.kubectl import kubectl

pytestmark = pytest.mark.kube

SECRET = {"namespace": "jobferry-system", "name": "east"}
FROM_SECRET = {"kubeconfig": {"secret": SECRET}}
NOW = datetime(2026, 11, 15, tzinfo=UTC)


def install(plane: ControlPlane) -> None:
    kubectl(plane, "apply", "-f", "-", given=manifests.text("crds"))
    kubectl(plane, "wait", "--for=condition=Established", "crd/workers.jobferry.io")
    kubectl(plane, "wait", "--for=condition=Established", "crd/queues.jobferry.io")


@pytest.fixture(scope="module")
def hub_plane(plane: ControlPlane) -> ControlPlane:
    """The plane of all tests, with our CRDs."""
    install(plane)
    return plane


@pytest.fixture
async def hub(hub_plane: ControlPlane, cluster: Client) -> AsyncIterator[Client]:
    """A client to it; what tests make there goes with them."""
    yield cluster
    for resource in (WORKERS, QUEUES):
        await cluster.delete_collection(Scope(resource=resource))


async def created(hub: Client, resource: Resource, spec: Obj | None) -> Obj:
    """Create an object as kubectl would: fields that nobody knows are refused."""
    obj: Obj = {"metadata": {"name": f"test-{token_hex(4)}"}}
    if spec is not None:
        obj["spec"] = spec
    return await hub.create(resource, obj, field_validation="Strict")


async def refusal(hub: Client, resource: Resource, spec: Obj) -> dict[str, str]:
    """Return what the API server has against a spec, by field."""
    with pytest.raises(errors.Invalid) as caught:
        await created(hub, resource, spec)
    return {cause.field: cause.message for cause in caught.value.causes}


@pytest.fixture(
    params=[pytest.param(version, marks=pytest.mark.kube(version)) for version in assets.SKEW]
)
def other_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A hub of another version than the one that all tests share."""
    other = ControlPlane(version=request.param).start()
    yield other
    other.stop()


def test_the_crds_install_on_every_version_of_a_hub(other_plane: ControlPlane) -> None:
    install(other_plane)
    empty = f"apiVersion: {QUEUES.api_version}\nkind: Queue\nmetadata: {{name: empty}}\n"
    kubectl(other_plane, "create", "-f", "-", given=empty)

    columns = kubectl(other_plane, "get", "queues", "--no-headers").split()[:-1]

    assert columns == ["empty", "Spread", "Move"]


def test_they_can_be_installed_again(hub_plane: ControlPlane) -> None:
    said = kubectl(hub_plane, "apply", "-f", "-", given=manifests.text("crds"))

    assert said.count("unchanged") == len(manifests.objects("crds")) == 3


# Workers


async def test_a_worker_gets_its_defaults(hub: Client) -> None:
    worker = await created(hub, WORKERS, FROM_SECRET)

    assert worker["spec"] == {
        "kubeconfig": {"secret": {**SECRET, "key": "kubeconfig"}},
        "namespaces": {"create": False},
        "drain": "None",
        "sharedCluster": False,
    }


async def test_a_worker_says_all_that_it_can(hub: Client) -> None:
    spec = {
        "kubeconfig": {"file": "/etc/jobferry/east", "context": "east"},
        "namespaces": {"create": True, "allow": ["ml-*", "*"], "deny": ["*-x"], "only": ["ml"]},
        "drain": "MoveAway",
        "capacity": {"cpu": 64, "memory": "256Gi", "example.com/gpu": "0", "odd": "1.5e3"},
        "maxMirrors": 0,
        "sharedCluster": True,
    }

    assert (await created(hub, WORKERS, spec))["spec"] == spec


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"kubeconfig": {}}, "spec.kubeconfig", "give exactly one of secret and file"),
        (
            {"kubeconfig": {"secret": SECRET, "file": "/east"}},
            "spec.kubeconfig",
            "give exactly one of secret and file",
        ),
        ({"kubeconfig": {"file": "east"}}, "spec.kubeconfig.file", "must be an absolute path"),
        ({"kubeconfig": {"secret": {"name": "x"}}}, "spec.kubeconfig.secret.namespace", ""),
        ({"drain": "Soon"}, "spec.drain", '"None", "NoNewWork", "MoveAway"'),
        ({"maxMirrors": -1}, "spec.maxMirrors", "greater than or equal to 0"),
        ({"namespaces": {"allow": []}}, "spec.namespaces.allow", "at least 1 items"),
        ({"namespaces": {"deny": ["a_b"]}}, "spec.namespaces.deny[0]", "should match"),
        ({"namespaces": {"only": ["ml-*"]}}, "spec.namespaces.only[0]", "should match"),
        ({"capacity": {"cpu": -1}}, "spec.capacity.cpu", "equal to 0"),
        ({"capacity": {"cpu": "-1m"}}, "spec.capacity.cpu", "should match"),
        ({"capacity": {"cpu": "many"}}, "spec.capacity.cpu", "should match"),
        ({"capacity": {"cpu": 1.5}}, "spec.capacity.cpu", "must be of type integer,string"),
    ],
)
async def test_a_worker_that_makes_no_sense_is_refused(
    hub: Client, change: Obj, field: str, message: str
) -> None:
    causes = await refusal(hub, WORKERS, FROM_SECRET | change)

    assert message in causes[field]


@pytest.mark.parametrize("resource", [WORKERS, QUEUES], ids=str)
async def test_fields_that_do_not_exist_are_refused(hub: Client, resource: Resource) -> None:
    with pytest.raises(errors.BadRequest, match=r'unknown field "spec\.speed"'):
        await created(hub, resource, {**FROM_SECRET, "speed": 1})


async def test_a_worker_without_a_spec_is_refused(hub: Client) -> None:
    with pytest.raises(errors.Invalid):
        await created(hub, WORKERS, None)


def status(connected: str, reason: str) -> Obj:
    """Return what the dispatcher writes."""
    listed: list[Obj] = []
    for kind in ("Connected", "Ready", "DuplicateCluster"):
        condition = {
            "type": kind,
            "status": connected,
            "reason": reason,
            "message": "So it is.",
        }
        listed = conditions.set(listed, condition, NOW)
    return {
        "conditions": listed,
        "clusterUID": "0b7a",
        "serverVersion": "v1.35.8",
        "kinds": ["Job.batch/v1"],
        "mirrors": 3,
        "active": 1,
        "dispatchers": {"jobferry.io/dispatcher": {"mirrors": 3, "active": 1}},
        "lostSince": "2026-11-15T00:00:00Z",
        "lostConfirmed": "2026-11-15T00:01:00Z",
    }


async def test_the_status_of_a_worker_is_kept_whole(hub: Client) -> None:
    worker = await created(hub, WORKERS, FROM_SECRET)
    body = {"status": status("False", "Unreachable")}

    answer = await hub.patch(WORKERS, worker["metadata"]["name"], body, subresource="status")

    assert answer["status"] == body["status"]
    assert answer["metadata"]["generation"] == worker["metadata"]["generation"]


@pytest.mark.parametrize(
    "change",
    [{"status": "Perhaps"}, {"reason": "not one word"}, {"reason": None}, {"type": ""}],
)
async def test_a_condition_that_is_none_is_refused(hub: Client, change: Obj) -> None:
    worker = await created(hub, WORKERS, FROM_SECRET)
    first: Any = status("True", "Connected")["conditions"][0]
    body = {"status": {"conditions": [{**first, **change}]}}

    with pytest.raises(errors.Invalid):
        await hub.patch(WORKERS, worker["metadata"]["name"], body, subresource="status")


async def test_kubectl_get_tells_the_story_of_a_worker(
    hub_plane: ControlPlane, hub: Client
) -> None:
    name = (await created(hub, WORKERS, FROM_SECRET))["metadata"]["name"]
    body = {"status": status("False", "Unreachable")}
    await hub.patch(WORKERS, name, body, subresource="status")

    head, row = kubectl(hub_plane, "get", "workers", name).splitlines()
    wide = kubectl(hub_plane, "get", "jfw", name, "-o", "wide").splitlines()[1]

    columns = "NAME READY REASON SINCE VERSION MIRRORS ACTIVE DRAIN AGE"
    assert " ".join(head.split()) == columns
    cells = row.split()
    assert cells[:3] == [name, "False", "Unreachable"]
    assert cells[4:-1] == ["v1.35.8", "3", "1", "None"]
    assert wide.endswith("So it is.")


# Queues


@pytest.mark.parametrize("spec", [None, {}])
async def test_a_queue_that_says_nothing_gets_its_defaults(
    hub: Client, spec: Obj | None
) -> None:
    queue = await created(hub, QUEUES, spec)

    assert queue["spec"] == {
        "placement": "Spread",
        "onWorkerLost": {"action": "Move"},
        "onNotStarted": {"action": "Report", "afterSeconds": 600},
    }


async def test_a_queue_says_all_that_it_can(hub: Client) -> None:
    expressions: list[Obj] = [
        {"key": "region", "operator": "In", "values": ["eu"]},
        {"key": "old", "operator": "DoesNotExist"},
    ]
    selector = {"matchLabels": {"gpu": "a100"}, "matchExpressions": expressions}
    spec = {
        "namespaces": ["ml", "default"],
        "workers": {"selector": selector, "order": ["east", "west.eu"]},
        "placement": "Ordered",
        "onWorkerLost": {"action": "Wait", "afterSeconds": 1},
        "onNotStarted": {"action": "Move", "afterSeconds": 1},
        "onMirrorDeleted": "Fail",
        "finishedMirrors": {"keepSeconds": 0},
        "giveUpAfterSeconds": 3600,
        "priorityClasses": ["urgent", "acme.high"],
    }

    assert (await created(hub, QUEUES, spec))["spec"] == spec


async def test_a_queue_may_honour_no_class(hub: Client) -> None:
    queue = await created(hub, QUEUES, {"priorityClasses": []})

    assert queue["spec"]["priorityClasses"] == []


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"placement": "Ordered"}, "spec", "placement Ordered needs workers.order"),
        (
            {"placement": "Ordered", "workers": {"selector": {}}},
            "spec",
            "placement Ordered needs workers.order",
        ),
        (
            {"workers": {"order": ["a"]}},
            "spec",
            "workers.order means nothing without placement Ordered",
        ),
        ({"placement": "Best"}, "spec.placement", '"Spread", "Pack", "Ordered"'),
        ({"namespaces": ["a", "a"]}, "spec.namespaces[1]", "Duplicate value"),
        ({"namespaces": ["A"]}, "spec.namespaces[0]", "should match"),
        ({"onWorkerLost": {"action": "Fail"}}, "spec.onWorkerLost.action", '"Move", "Wait"'),
        ({"onWorkerLost": {"afterSeconds": 0}}, "spec.onWorkerLost.afterSeconds", "equal to 1"),
        ({"finishedMirrors": {"keepSeconds": -1}}, "spec.finishedMirrors.keepSeconds", "to 0"),
        ({"giveUpAfterSeconds": 0}, "spec.giveUpAfterSeconds", "equal to 1"),
        ({"priorityClasses": ["a", "a"]}, "spec.priorityClasses[1]", "Duplicate value"),
        ({"priorityClasses": ["High"]}, "spec.priorityClasses[0]", "should match"),
    ],
)
async def test_a_queue_that_makes_no_sense_is_refused(
    hub: Client, spec: Obj, field: str, message: str
) -> None:
    causes = await refusal(hub, QUEUES, spec)

    assert message in causes[field]


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a", "operator": "In"},
        {"key": "a", "operator": "NotIn", "values": []},
        {"key": "a", "operator": "Exists", "values": ["b"]},
    ],
)
async def test_a_selector_that_makes_no_sense_is_refused(hub: Client, expression: Obj) -> None:
    selector = {"matchExpressions": [expression]}

    causes = await refusal(hub, QUEUES, {"workers": {"selector": selector}})

    (message,) = causes.values()
    assert "In and NotIn need values, Exists and DoesNotExist must have none" in message


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        ({"matchLabels": {"a": "b c"}}, "matchLabels.a"),
        (
            {"matchExpressions": [{"key": "a b", "operator": "Exists"}]},
            "matchExpressions[0].key",
        ),
        (
            {"matchExpressions": [{"key": "a/b/c", "operator": "Exists"}]},
            "matchExpressions[0].key",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "-"]}]},
            "matchExpressions[0].values[1]",
        ),
    ],
)
async def test_labels_that_there_cannot_be_are_refused(
    hub: Client, selector: Obj, field: str
) -> None:
    causes = await refusal(hub, QUEUES, {"workers": {"selector": selector}})

    assert "should match" in causes[f"spec.workers.selector.{field}"]


async def test_the_status_of_a_queue_is_kept_whole(hub: Client) -> None:
    queue = await created(hub, QUEUES, {})
    condition = {"type": "Valid", "status": "True", "reason": "Valid", "message": "Heeded."}
    listed = conditions.set([], {**condition, "observedGeneration": 1}, NOW)

    name, status = queue["metadata"]["name"], {"conditions": listed}
    answer = await hub.patch(QUEUES, name, {"status": status}, subresource="status")

    assert answer["status"] == status
    assert answer["metadata"]["generation"] == 1


async def test_kubectl_get_tells_what_a_queue_does(
    hub_plane: ControlPlane, hub: Client
) -> None:
    spec = {"placement": "Pack", "onWorkerLost": {"action": "Wait"}}
    name = (await created(hub, QUEUES, spec))["metadata"]["name"]

    head, row = kubectl(hub_plane, "get", "jfq", name).splitlines()

    assert head.split() == ["NAME", "PLACEMENT", "ONWORKERLOST", "VALID", "AGE"]
    assert row.split()[:-1] == [name, "Pack", "Wait"]


async def test_kubectl_lists_both_kinds_under_our_name(
    hub_plane: ControlPlane, hub: Client
) -> None:
    worker = await created(hub, WORKERS, FROM_SECRET)
    queue = await created(hub, QUEUES, {})

    listed = kubectl(hub_plane, "get", "jobferry", "-o", "name").split()

    assert f"worker.jobferry.io/{worker['metadata']['name']}" in listed
    assert f"queue.jobferry.io/{queue['metadata']['name']}" in listed
