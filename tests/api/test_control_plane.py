"""Real control planes: what they promise to tests, and that nothing stays of them."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from jobferry.clock import SystemClock
from jobferry.kube import errors, resources, watch
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.retry import Patience
from jobferry.objects.resource import Resource
from jobferry.testing import assets, component, control_plane
from jobferry.testing.control_plane import ControlPlane

pytestmark = pytest.mark.kube

CONFIG = {"metadata": {"name": "kept", "namespace": "default"}}

# A test process that starts a control plane, says where its files are, and lives on.
OWNER = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import time
from jobferry.testing.control_plane import ControlPlane
plane = ControlPlane()
print(plane.folder, flush=True)
plane.start()
print(plane.pid("etcd"), plane.pid(), flush=True)
time.sleep(100)
"""


@pytest.fixture(scope="module")
def own_plane() -> Iterator[ControlPlane]:
    """A control plane that may be maltreated."""
    plane = ControlPlane(audit=True).start()
    yield plane
    plane.stop()


def client(plane: ControlPlane, *who: str, patience: Patience | None = None) -> Client:
    return connect(
        plane.access(*who), name="plane", clock=SystemClock(), patience=patience or Patience()
    )


async def test_it_is_of_the_version_asked_for(plane: ControlPlane, cluster: Client) -> None:
    assert (await cluster.raw("/version"))["gitVersion"] == f"v{plane.version}"


async def test_what_a_user_may_do_is_up_to_rbac(plane: ControlPlane, namespace: str) -> None:
    async with client(plane, "ann") as ann, client(plane, "bob", "system:masters") as bob:
        with pytest.raises(errors.Forbidden, match='User "ann" cannot list'):
            await ann.list(Scope(resource=resources.PODS, namespace=namespace))
        assert (await bob.list(Scope(resource=resources.PODS, namespace=namespace))).items == []


async def test_a_user_is_known_by_all_groups(plane: ControlPlane) -> None:
    review = Resource(
        "authentication.k8s.io",
        "v1",
        "selfsubjectreviews",
        "SelfSubjectReview",
        namespaced=False,
    )

    async with client(plane, "ann", "one", "two") as ann:
        who = (await ann.create(review, {}))["status"]["userInfo"]

    assert who["username"] == "ann"
    assert who["groups"] == ["one", "two", "system:authenticated"]


async def test_a_stranger_is_not_trusted_and_trusts_nobody_here(plane: ControlPlane) -> None:
    stranger = ControlPlane()  # never started: only its keys are of interest

    async with connect(stranger.access(), name="other", clock=SystemClock()) as nobody:
        with pytest.raises(errors.Unreachable):
            await nobody.raw("/version")
    access = plane.access()
    wrong_ca = type(access.server)(url=plane.url, ca=stranger.access().server.ca)
    swapped = type(access)(server=wrong_ca, credentials=access.credentials)
    async with connect(swapped, name="plane", clock=SystemClock()) as suspicious:
        with pytest.raises(errors.Untrusted):
            await suspicious.raw("/version")


@pytest.mark.parametrize("who", [(), ("ann", "system:masters")])
def test_kubectl_takes_the_kubeconfig(
    plane: ControlPlane, tmp_path: Path, who: tuple[str, ...]
) -> None:
    file = tmp_path / "config"
    file.write_text(plane.kubeconfig(*who))

    kubectl = f"{assets.need('kubectl')} --kubeconfig {file} get namespaces -o name"
    output = subprocess.check_output(kubectl.split(), text=True)

    assert "namespace/default" in output.splitlines()


def test_its_files_are_for_its_owner_alone(plane: ControlPlane) -> None:
    assert plane.folder.stat().st_mode & 0o077 == 0
    assert (plane.folder / "etcd.sock").is_socket()


async def test_a_killed_api_server_comes_back_at_the_same_place_with_the_same_data(
    own_plane: ControlPlane,
) -> None:
    url = own_plane.url
    impatient = Patience(retries=0)
    async with client(own_plane, patience=impatient) as admin:
        await admin.create(resources.CONFIG_MAPS, CONFIG)

        own_plane.kill()
        with pytest.raises(errors.Unreachable):
            await admin.get(resources.CONFIG_MAPS, "kept", "default")
        await asyncio.to_thread(own_plane.restart)

        assert own_plane.url == url
        assert await admin.get(resources.CONFIG_MAPS, "kept", "default")
        await admin.delete(resources.CONFIG_MAPS, "kept", "default")


async def test_a_frozen_api_server_keeps_silent_until_it_is_thawed(
    own_plane: ControlPlane,
) -> None:
    async with client(own_plane, patience=Patience(answer=0.3, retries=0)) as admin:
        own_plane.freeze()
        try:
            with pytest.raises(errors.Timeout):
                await admin.raw("/version")
        finally:
            own_plane.thaw()
    async with client(own_plane) as admin:
        assert await admin.raw("/version")


async def test_watches_from_before_a_compaction_are_gone_after_a_restart(
    own_plane: ControlPlane,
) -> None:
    scope = Scope(resource=resources.CONFIG_MAPS)
    async with client(own_plane) as admin:
        old = (await admin.list(scope)).resource_version
        await admin.create(resources.CONFIG_MAPS, CONFIG)
        await admin.delete(resources.CONFIG_MAPS, "kept", "default")

        left = own_plane.compact()
        await asyncio.to_thread(own_plane.restart)

        assert left > int(old)
        with pytest.raises(errors.Expired):
            async for _ in watch.batches(admin, scope, old, watch.Watching()):
                pass


async def test_the_audit_log_has_a_line_for_each_request(own_plane: ControlPlane) -> None:
    async with client(own_plane, "auditee") as auditee:
        for _ in range(3):
            with pytest.raises(errors.Forbidden):
                await auditee.get(resources.SECRETS, "x", "default")

    lines = [json.loads(line) for line in own_plane.audit_log.read_text().splitlines()]
    assert [line["verb"] for line in lines if line["user"]["username"] == "auditee"] == [
        "get"
    ] * 3


@pytest.mark.kube("1.29.15")
async def test_several_run_at_once_each_with_its_own_data_and_version(
    plane: ControlPlane,
) -> None:
    async with ControlPlane(version="1.29.15") as old, client(old) as there:
        assert (await there.raw("/version"))["gitVersion"] == "v1.29.15"
        await there.create(resources.CONFIG_MAPS, CONFIG)
        async with client(plane) as here:
            with pytest.raises(errors.NotFound):
                await here.get(resources.CONFIG_MAPS, "kept", "default")

    assert not old.folder.exists()


def test_a_failed_start_shows_the_end_of_the_log_and_leaves_nothing() -> None:
    plane = ControlPlane(api_server_flags=["--no-such-flag"])

    with pytest.raises(
        component.StartFailed, match="kube-apiserver ended with code 1"
    ) as caught:
        plane.start()

    assert "unknown flag: --no-such-flag" in "".join(caught.value.__notes__)
    assert not plane.folder.exists()


async def test_a_cancelled_start_leaves_nothing() -> None:
    plane = ControlPlane()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5), plane:
            pytest.fail("it cannot be that quick")

    assert not plane.folder.exists()


def test_a_port_that_somebody_else_was_faster_to_take_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1], component.free_port("127.0.0.1")])
        monkeypatch.setattr(control_plane, "free_port", lambda _: next(ports))
        plane = ControlPlane().start()
    try:
        assert not list(ports)
    finally:
        plane.stop()


def test_it_can_be_stopped_twice_and_started_again(own_plane: ControlPlane) -> None:
    own_plane.stop()
    own_plane.stop()
    assert not own_plane.folder.exists()

    own_plane.start()

    assert own_plane.folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="waits for processes by /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_nothing_stays_when_the_test_process_dies(how: signal.Signals) -> None:
    with owner() as (process, folder, output):
        started = [int(pid) for pid in output.readline().split()]
        assert len(started) == 2

        process.send_signal(how)
        process.wait()

        wait_until(lambda: not folder.exists())
        for pid in started:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)


def test_nothing_stays_when_a_start_is_interrupted() -> None:
    with owner() as (process, folder, output):
        wait_until((folder / "kube-apiserver.log").exists)

        process.send_signal(signal.SIGINT)

        assert output.read() == ""
        assert process.wait() == -signal.SIGINT
        wait_until(lambda: not folder.exists())


@pytest.mark.parametrize(
    "project",
    [
        "appwrapper",
        "cluster-inventory",
        "jobset",
        "kuberay",
        "kueue",
        "lws",
        "mpi-operator",
        "tekton",
        "trainer",
        "training-operator",
    ],
)
async def test_the_crds_of_other_projects_are_accepted(cluster: Client, project: str) -> None:
    kind = "CustomResourceDefinition"
    crds = Resource(
        "apiextensions.k8s.io", "v1", "customresourcedefinitions", kind, namespaced=False
    )

    for crd in assets.crds(project):
        await cluster.create(crds, crd, dry_run=True)


@contextmanager
def owner() -> Iterator[tuple[subprocess.Popen[str], Path, IO[str]]]:
    """Run `OWNER`; give the process, the folder of its control plane, and what else it will say."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # SIGINT makes it print a traceback
        text=True,
    )
    assert process.stdout is not None
    with process.stdout as output:
        yield process, Path(output.readline().strip()), output


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait for something that no event tells of; the timeout of the test is its limit."""
    while not happened():
        time.sleep(0.01)
