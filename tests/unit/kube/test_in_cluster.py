from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.kube import in_cluster
from jobferry.kube.credentials import READ_AGAIN_AFTER
from jobferry.testing.certificates import Authority
from jobferry.testing.clock import ManualClock

CA = Authority(datetime(2026, 1, 1, tzinfo=UTC)).certificate
POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("one")
    (tmp_path / "ca.crt").write_bytes(CA)
    (tmp_path / "namespace").write_text("jobferry-system\n")
    return tmp_path


async def test_a_pod_reaches_its_cluster_with_its_service_account(folder: Path) -> None:
    access = in_cluster.access(clock=ManualClock(), environ=POD, folder=folder)

    assert access.server.url == "https://10.0.0.1:443"
    assert access.server.ca == CA
    assert access.namespace == "jobferry-system"
    assert (await access.credentials.identity()).authorization == "Bearer one"


async def test_a_renewed_service_account_token_is_used(folder: Path) -> None:
    clock = ManualClock()
    access = in_cluster.access(clock=clock, environ=POD, folder=folder)
    (folder / "token").write_text("two")

    clock.advance(READ_AGAIN_AFTER)

    assert (await access.credentials.identity()).authorization == "Bearer two"


def test_an_ipv6_address_goes_in_brackets(folder: Path) -> None:
    pod = POD | {"KUBERNETES_SERVICE_HOST": "fd00::1"}

    access = in_cluster.access(clock=ManualClock(), environ=pod, folder=folder)

    assert access.server.url == "https://[fd00::1]:443"


def test_the_namespace_of_the_pod_goes_before_that_of_the_account(folder: Path) -> None:
    pod = POD | {"POD_NAMESPACE": "elsewhere"}

    assert (
        in_cluster.access(clock=ManualClock(), environ=pod, folder=folder).namespace
        == "elsewhere"
    )


def test_without_a_namespace_file_it_is_default(folder: Path) -> None:
    (folder / "namespace").unlink()

    assert (
        in_cluster.access(clock=ManualClock(), environ=POD, folder=folder).namespace
        == "default"
    )


@pytest.mark.parametrize("name", POD)
def test_outside_of_a_pod_it_says_what_is_missing(name: str, folder: Path) -> None:
    environ = {key: value for key, value in POD.items() if key != name}

    with pytest.raises(BadInput, match=f"^in-cluster configuration: {name} is not set$"):
        in_cluster.access(clock=ManualClock(), environ=environ, folder=folder)


@pytest.mark.parametrize("port", ["tcp://10.0.0.1:443", "0", "65536", "-1"])
def test_what_is_no_port_is_refused(port: str, folder: Path) -> None:
    pod = POD | {"KUBERNETES_SERVICE_PORT": port}

    with pytest.raises(BadInput, match=r"KUBERNETES_SERVICE_PORT: not a port number$"):
        in_cluster.access(clock=ManualClock(), environ=pod, folder=folder)


@pytest.mark.parametrize("name", ["token", "ca.crt"])
def test_a_missing_file_is_named(name: str, folder: Path) -> None:
    (folder / name).unlink()

    with pytest.raises(
        BadInput, match=f"^in-cluster configuration: cannot read .*/{name}: No such file"
    ):
        in_cluster.access(clock=ManualClock(), environ=POD, folder=folder)
