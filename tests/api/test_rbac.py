"""What the manifests allow on a real API server, and that they allow nothing else."""

import base64
import shlex
from collections.abc import AsyncIterator, Iterator

import pytest
import yaml

from jobferry.cli import worker_remove
from jobferry.clock import SystemClock
from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.dispatch import manifests
from jobferry.dispatch.queues import QUEUES
from jobferry.kinds import referred
from jobferry.kube import errors
from jobferry.kube.access import Access, Fixed, Identity
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import (
    CRDS,
    EVENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    PODS,
    PRIORITY_CLASSES,
    SECRETS,
)
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.settings import DEFAULTS
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from jobferry.testing.wait import until
from jobferry.workers.resource import WORKERS
from tests.api.kubectl import kubectl

pytestmark = pytest.mark.kube

SYSTEM = DEFAULTS.lease.namespace
REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "selfsubjectrulesreviews",
    "SelfSubjectRulesReview",
    namespaced=False,
)

JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
RAY_JOBS = Resource("ray.io", "v1", "rayjobs", "RayJob")

POD = {"containers": [{"name": "main", "image": "x"}], "restartPolicy": "Never"}


def job(name: str, **spec: str) -> Obj:
    metadata = {"name": name, "namespace": "ml"}
    return {"metadata": metadata, "spec": {"template": {"spec": POD}, **spec}}


@pytest.fixture(scope="module", params=[assets.CURRENT, assets.LOCALKUBE])
def ruled_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """A hub that is its own worker, on which everything that we print was applied."""
    plane = ControlPlane(
        version=request.param,
        controllers=["serviceaccount-token-controller"],
        kube_controllers=True,
    ).start()
    for name in manifests.NAMES:
        kubectl(plane, "apply", "-f", "-", given=manifests.text(name))
    kubectl(plane, "wait", "--for=condition=Established", "crd", "--all")
    kubectl(plane, "create", "serviceaccount", "nobody")
    kubectl(plane, "create", "namespace", "ml")
    yield plane
    plane.stop()


@pytest.fixture
async def admin(ruled_plane: ControlPlane) -> AsyncIterator[Client]:
    async with connect(ruled_plane.access(), name="plane", clock=SystemClock()) as client:
        yield client


def bearer(plane: ControlPlane, token: str) -> Client:
    identity = Identity(authorization=f"Bearer {token.strip()}")
    access = Access(server=plane.access().server, credentials=Fixed(identity))
    return connect(access, name="plane", clock=SystemClock())


@pytest.fixture
async def nobody(ruled_plane: ControlPlane) -> AsyncIterator[Client]:
    """Somebody who was given no rights."""
    async with bearer(ruled_plane, kubectl(ruled_plane, "create", "token", "nobody")) as client:
        yield client


@pytest.fixture
async def dispatcher(ruled_plane: ControlPlane) -> AsyncIterator[Client]:
    """The dispatcher on its hub."""
    issue = ("create", "token", "jobferry-dispatcher", f"--namespace={SYSTEM}")
    async with bearer(ruled_plane, kubectl(ruled_plane, *issue)) as client:
        yield client


@pytest.fixture
async def guest(ruled_plane: ControlPlane, admin: Client) -> AsyncIterator[Client]:
    """The dispatcher on a worker, with the token that Kubernetes puts into the Secret."""
    secret = await until(admin, SECRETS, "jobferry-worker", SYSTEM, lambda obj: "data" in obj)
    token = base64.b64decode(secret["data"]["token"]).decode()
    async with bearer(ruled_plane, token) as client:
        yield client


async def rights(client: Client, namespace: str) -> set[str]:
    """Return all that somebody may do in a namespace and with what is in none."""
    review = await client.create(REVIEWS, {"spec": {"namespace": namespace}})
    assert not review["status"]["incomplete"]
    return {
        " ".join([verb, f"{resource}.{group}".rstrip("."), *rule.get("resourceNames", ())])
        for rule in review["status"]["resourceRules"]
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def each(verbs: str, what: object) -> set[str]:
    return {f"{verb} {what}" for verb in verbs.split()}


ON_HUB = (
    each("get list watch", JOBS)
    | each("patch", "jobs/status.batch")
    | each("create patch", EVENTS)
    | each("get", "namespaces kube-system")
    | each("get list watch patch", WORKERS)
    | each("get list watch", QUEUES)
    | each("patch", "workers/status.jobferry.io")
    | each("patch", "queues/status.jobferry.io")
    | each("list watch", PRIORITY_CLASSES)
    | each("get list watch create patch delete", PLACEMENTS)
    | each("list watch", CRDS)
)
IN_SYSTEM = each("get list watch", SECRETS) | each("get list watch create patch", LEASES)
MIRROR = "get list watch create patch delete"
ON_WORKER = each(MIRROR, JOBS) | each("get", "namespaces kube-system")


async def test_the_dispatcher_may_do_on_the_hub_what_it_must_and_nothing_else(
    dispatcher: Client, nobody: Client
) -> None:
    for namespace, expected in (("ml", ON_HUB), (SYSTEM, ON_HUB | IN_SYSTEM)):
        given = await rights(dispatcher, namespace) - await rights(nobody, namespace)

        assert given == expected


async def test_it_may_do_on_a_worker_what_it_must_and_nothing_else(
    guest: Client, nobody: Client
) -> None:
    for namespace in ("ml", SYSTEM, "kube-system"):
        given = await rights(guest, namespace) - await rights(nobody, namespace)

        assert given == ON_WORKER


async def test_a_placement_is_recorded_without_the_right_to_change_jobs(
    admin: Client, dispatcher: Client
) -> None:
    await admin.create(JOBS, job("one", managedBy=DEFAULTS.managed_by[0]))
    condition = {"type": "Placed", "status": "True"}
    mark = {"metadata": {"annotations": {"jobferry.io/placement": "{}"}}}

    answer = await dispatcher.patch(
        JOBS,
        "one",
        {**mark, "status": {"conditions": [condition]}},
        namespace="ml",
        subresource="status",
    )

    assert answer["metadata"]["annotations"] == mark["metadata"]["annotations"]
    assert answer["status"]["conditions"][0]["type"] == "Placed"
    with pytest.raises(errors.Forbidden):
        await dispatcher.patch(JOBS, "one", mark, namespace="ml")


async def test_secrets_elsewhere_stay_closed_whatever_a_worker_names(
    admin: Client, dispatcher: Client
) -> None:
    for namespace in ("ml", SYSTEM):
        secret: Obj = {"metadata": {"name": "kubeconfig", "namespace": namespace}}
        await admin.create(SECRETS, secret)

    await dispatcher.get(SECRETS, "kubeconfig", SYSTEM)
    await dispatcher.list(Scope(resource=SECRETS, namespace=SYSTEM))

    with pytest.raises(errors.Forbidden):
        await dispatcher.get(SECRETS, "kubeconfig", "ml")
    with pytest.raises(errors.Forbidden):
        await dispatcher.list(Scope(resource=SECRETS, namespace="ml"))


async def test_a_finalizer_can_be_put_on_a_worker_but_no_worker_made_or_removed(
    admin: Client, dispatcher: Client
) -> None:
    east: Obj = {"metadata": {"name": "east"}, "spec": {"kubeconfig": {"file": "/east"}}}
    await admin.create(WORKERS, east)
    body = {"metadata": {"finalizers": ["jobferry.io/mirrors"]}}

    answer = await dispatcher.patch(WORKERS, "east", body)

    assert answer["metadata"]["finalizers"] == ["jobferry.io/mirrors"]
    with pytest.raises(errors.Forbidden):
        await dispatcher.delete(WORKERS, "east")
    with pytest.raises(errors.Forbidden):
        await dispatcher.create(WORKERS, {**east, "metadata": {"name": "west"}})


async def test_a_mirror_can_be_made_changed_and_removed_on_a_worker(
    guest: Client, admin: Client
) -> None:
    await guest.create(JOBS, job("mirror"), field_validation="Strict")
    await guest.patch(JOBS, "mirror", {"spec": {"suspend": True}}, namespace="ml")
    await guest.delete(JOBS, "mirror", "ml", propagation="Background")

    with pytest.raises(errors.NotFound):
        await admin.get(JOBS, "mirror", "ml")


async def test_nobody_touches_the_pods_of_a_worker(guest: Client) -> None:
    with pytest.raises(errors.Forbidden):
        await guest.delete(PODS, "mirror-x1", "ml")
    with pytest.raises(errors.Forbidden):
        await guest.list(Scope(resource=PODS, namespace="ml"))


async def test_namespaces_are_made_on_a_worker_only_after_the_command_that_is_printed(
    ruled_plane: ControlPlane, guest: Client
) -> None:
    new: Obj = {"metadata": {"name": "new"}}
    with pytest.raises(errors.Forbidden):
        await guest.create(NAMESPACES, new)

    program, *arguments = command_in(manifests.text("worker"))
    kubectl(ruled_plane, *arguments)
    await known(guest, "create namespaces", allowed=True)
    await guest.create(NAMESPACES, new)

    assert program == "kubectl"
    kubectl(ruled_plane, "delete", *arguments[1:3])
    await known(guest, "create namespaces", allowed=False)


async def test_it_may_look_for_what_workloads_refer_to_only_if_that_was_applied(
    ruled_plane: ControlPlane, guest: Client, nobody: Client
) -> None:
    most = manifests.objects("worker", referred=referred.find("most"))
    added = [each for each in most if "-reference-" in each["metadata"]["name"]]

    kubectl(ruled_plane, "apply", "-f", "-", given=yaml.safe_dump_all(added))
    wanted = {f"get {each}" for each in referred.GENERAL if each != referred.SECRET}
    for right in wanted:
        await known(guest, right, allowed=True)

    assert await rights(guest, "ml") - await rights(nobody, "ml") == ON_WORKER | wanted
    remove_added(ruled_plane)
    for right in wanted:
        await known(guest, right, allowed=False)


async def test_rights_on_one_kind_after_another_add_up_until_they_are_removed(
    ruled_plane: ControlPlane, guest: Client, nobody: Client
) -> None:
    for kind in (JOB_SETS, RAY_JOBS):
        kubectl(ruled_plane, "apply", "-f", "-", given=manifests.text("worker", (), [kind]))
        await known(guest, f"get {kind}", allowed=True)
    some = manifests.text("worker", ("ml",), [PODS], referred=[SECRETS])
    kubectl(ruled_plane, "apply", "-f", "-", given=some)
    kubectl(ruled_plane, "apply", "-f", "-", given=manifests.text("worker"))
    await known(guest, f"get {SECRETS}", allowed=True)

    of_kinds = {right for kind in (JOB_SETS, RAY_JOBS, PODS) for right in each(MIRROR, kind)}
    added = of_kinds | each("list watch", CRDS) | each("get", SECRETS)
    assert await rights(guest, "ml") - await rights(nobody, "ml") == ON_WORKER | added
    elsewhere = await rights(guest, "default") - await rights(nobody, "default")
    assert not elsewhere & (each(MIRROR, PODS) | each("get", SECRETS))

    remove_added(ruled_plane)
    for right in added:
        await known(guest, right, allowed=False)
    assert await rights(guest, "ml") - await rights(nobody, "ml") == ON_WORKER


def remove_added(plane: ControlPlane) -> None:
    """Do what `jobferry workers remove` says of rights besides those that every worker has."""
    east = {"spec": {"kubeconfig": {"secret": {"name": "east"}}}}
    *_, command = worker_remove.account(east, is_gone=True).splitlines()
    program, *arguments = shlex.split(command.replace("--context CONTEXT", ""))
    assert program == "kubectl"
    kubectl(plane, *arguments)


def command_in(text: str) -> list[str]:
    """Return the words of the command in a comment."""
    lines = [line.removeprefix("#") for line in text.splitlines() if line.startswith("#   ")]
    return shlex.split("\n".join(lines).replace("\\\n", " "))


async def known(client: Client, right: str, *, allowed: bool) -> None:
    """Ask until the API server has taken notice of a change of rights."""
    while (right in await rights(client, "ml")) is not allowed:
        pass
