"""Every way to say who we are, tried on a real API server."""

import base64
import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from jobferry.clock import SystemClock
from jobferry.errors import Transient
from jobferry.kube import errors, in_cluster, kubeconfig
from jobferry.kube.access import Access
from jobferry.kube.client import Client, connect
from jobferry.kube.credentials import READ_AGAIN_AFTER
from jobferry.objects.resource import Resource
from jobferry.testing.certificates import Authority
from jobferry.testing.clock import ManualClock
from jobferry.testing.control_plane import ControlPlane

pytestmark = pytest.mark.api

ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
REVIEWS = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False
)

# Prints what stands in a file as the status of an ExecCredential.
PLUGIN = """
import json, os, sys
told = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
print(json.dumps(told | {"status": json.load(open(sys.argv[1]))}))
"""

IssueToken = Callable[[str], Awaitable[str]]


@pytest.fixture
def issue_token(cluster: Client, namespace: str) -> IssueToken:
    """Make a service account of that name and a token of it."""

    async def issued(name: str) -> str:
        account = {"metadata": {"name": name, "namespace": namespace}}
        await cluster.create(ACCOUNTS, account)
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = await cluster.create(
            ACCOUNTS, request, namespace=namespace, name=name, subresource="token"
        )
        token: str = answer["status"]["token"]
        return token

    return issued


def config(plane: ControlPlane, user: dict[str, Any], **cluster: Any) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(plane.kubeconfig())
    content["users"][0]["user"] = user
    content["clusters"][0]["cluster"] |= cluster
    return content


def access(content: dict[str, Any], clock: ManualClock | None = None) -> Access:
    found = kubeconfig.from_bytes(json.dumps(content).encode(), "config")
    return found.access(clock=clock or ManualClock(SystemClock().now()))


def client(reached: Access) -> Client:
    return connect(reached, name="plane", clock=SystemClock())


async def who_am_i(asked: Client) -> str:
    answer = await asked.create(REVIEWS, {})
    name: str = answer["status"]["userInfo"]["username"]
    return name


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


async def test_a_client_certificate_is_accepted(plane: ControlPlane) -> None:
    found = kubeconfig.from_bytes(plane.kubeconfig("ann").encode(), "config")

    async with client(found.access(clock=SystemClock())) as asked:
        assert await who_am_i(asked) == "ann"


async def test_rotated_certificate_files_are_used(plane: ControlPlane, tmp_path: Path) -> None:
    clock = ManualClock()
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def issue(user: str) -> None:
        pair = plane.certificate(user)
        write(certificate, pair.certificate)
        write(key, pair.key)

    issue("ann")
    user = {"client-certificate": str(certificate), "client-key": str(key)}
    async with client(access(config(plane, user), clock)) as asked:
        before = await who_am_i(asked)
        issue("bob")
        clock.advance(READ_AGAIN_AFTER)
        after = await who_am_i(asked)

    assert (before, after) == ("ann", "bob")


async def test_a_token_is_accepted(
    plane: ControlPlane, namespace: str, issue_token: IssueToken
) -> None:
    token = await issue_token("ann")

    async with client(access(config(plane, {"token": token}))) as asked:
        assert await who_am_i(asked) == f"system:serviceaccount:{namespace}:ann"


async def test_a_rotated_token_file_is_used(
    plane: ControlPlane, namespace: str, issue_token: IssueToken, tmp_path: Path
) -> None:
    clock = ManualClock()
    file = tmp_path / "token"
    write(file, await issue_token("ann"))

    async with client(access(config(plane, {"tokenFile": str(file)}), clock)) as asked:
        before = await who_am_i(asked)
        write(file, await issue_token("bob"))
        clock.advance(READ_AGAIN_AFTER)
        after = await who_am_i(asked)

    prefix = f"system:serviceaccount:{namespace}"
    assert (before, after) == (f"{prefix}:ann", f"{prefix}:bob")


async def test_a_token_file_is_read_at_once_when_the_server_refuses_the_old_token(
    plane: ControlPlane, issue_token: IssueToken, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    write(file, "outdated")

    async with client(access(config(plane, {"tokenFile": str(file)}))) as asked:
        with pytest.raises(errors.Unauthorized):
            await who_am_i(asked)
        write(file, await issue_token("ann"))

        assert (await who_am_i(asked)).endswith(":ann")


async def test_a_service_account_reaches_its_cluster_from_inside(
    plane: ControlPlane, namespace: str, issue_token: IssueToken, tmp_path: Path
) -> None:
    write(tmp_path / "token", await issue_token("ann"))
    write(tmp_path / "ca.crt", plane.access().server.ca or b"")
    host, port = plane.url.removeprefix("https://").split(":")
    pod = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}

    reached = in_cluster.access(clock=SystemClock(), environ=pod, folder=tmp_path)

    async with client(reached) as asked:
        assert await who_am_i(asked) == f"system:serviceaccount:{namespace}:ann"


def plugin_for(status: str) -> dict[str, Any]:
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-c", PLUGIN, status],
            "interactiveMode": "Never",
        }
    }


async def test_what_an_exec_plugin_issues_is_accepted(
    plane: ControlPlane, issue_token: IssueToken, tmp_path: Path
) -> None:
    pair = plane.certificate("bob")
    status = tmp_path / "status"
    write(status, json.dumps({"token": await issue_token("ann")}))

    async with client(access(config(plane, plugin_for(str(status))))) as asked:
        first = await who_am_i(asked)
        write(status, json.dumps({"token": "outdated"}))
        same = await who_am_i(asked)
    certified = {
        "clientCertificateData": pair.certificate.decode(),
        "clientKeyData": pair.key.decode(),
    }
    write(status, json.dumps(certified))
    async with client(access(config(plane, plugin_for(str(status))))) as asked:
        other = await who_am_i(asked)

    assert first == same
    assert first.endswith(":ann")
    assert other == "bob"


async def test_an_exec_plugin_is_asked_anew_when_the_server_refuses_what_it_issued(
    plane: ControlPlane, issue_token: IssueToken, tmp_path: Path
) -> None:
    status = tmp_path / "status"
    clock = ManualClock()
    write(status, json.dumps({"token": "outdated"}))
    reached = access(config(plane, plugin_for(str(status))), clock)
    await reached.credentials.identity()
    write(status, json.dumps({"token": await issue_token("ann")}))

    async with client(reached) as asked:
        assert (await who_am_i(asked)).endswith(":ann")


@pytest.mark.parametrize("printed", ["Please log in", "{}"])
async def test_an_exec_plugin_that_prints_garbage_is_one_line(
    printed: str, plane: ControlPlane, tmp_path: Path
) -> None:
    user = plugin_for(write(tmp_path / "status", "{}"))
    user["exec"]["args"] = ["-c", f"print({printed!r})"]

    async with client(access(config(plane, user))) as asked:
        with pytest.raises(Transient, match=r"^config: users\[name=.*\].user.exec: ") as caught:
            await who_am_i(asked)

    assert_one_line(caught.value)


async def test_an_expired_token_is_refused_with_a_hint(
    plane: ControlPlane, issue_token: IssueToken
) -> None:
    token = expired(await issue_token("ann"), plane)

    async with client(access(config(plane, {"token": token}))) as asked:
        with pytest.raises(errors.Unauthorized) as caught:
            await who_am_i(asked)

    assert_one_line(caught.value)
    assert "expired" in (caught.value.hint or "")
    assert token not in str(caught.value)


def expired(token: str, plane: ControlPlane) -> str:
    """Sign a token anew, as one that ended a minute ago."""
    head, claims, _ = (part + "=" * (-len(part) % 4) for part in token.split("."))
    now = SystemClock().now().timestamp()
    times = {"exp": int(now) - 60, "iat": int(now) - 3600, "nbf": int(now) - 3600}
    changed = json.loads(base64.urlsafe_b64decode(claims)) | times
    signed = b".".join(
        map(url_encoded, (base64.urlsafe_b64decode(head), json.dumps(changed).encode()))
    )
    key = load_pem_private_key((plane.folder / "service-accounts.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    numbers = decode_dss_signature(key.sign(signed, ec.ECDSA(SHA256())))
    signature = b"".join(number.to_bytes(32, "big") for number in numbers)
    return (signed + b"." + url_encoded(signature)).decode()


def url_encoded(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")


def assert_one_line(error: Exception) -> None:
    assert len(str(error).splitlines()) == 1


async def test_a_ca_that_did_not_sign_the_server_is_one_line(plane: ControlPlane) -> None:
    other = Authority(datetime.now(UTC)).certificate
    content = config(
        plane,
        {"token": "abc"},
        **{"certificate-authority-data": base64.b64encode(other).decode()},
    )

    async with client(access(content)) as asked:
        with pytest.raises(errors.Untrusted, match="certificate") as caught:
            await who_am_i(asked)

    assert_one_line(caught.value)
    assert "certificate-authority" in (caught.value.hint or "")


async def test_the_server_may_bear_another_name(
    plane: ControlPlane, issue_token: IssueToken
) -> None:
    token = {"token": await issue_token("ann")}

    async with client(
        access(config(plane, token, **{"tls-server-name": "localhost"}))
    ) as asked:
        assert (await who_am_i(asked)).endswith(":ann")
    async with client(
        access(config(plane, token, **{"tls-server-name": "elsewhere"}))
    ) as asked:
        with pytest.raises(errors.Untrusted):
            await who_am_i(asked)


async def test_one_user_acts_as_another(plane: ControlPlane) -> None:
    content = yaml.safe_load(plane.kubeconfig())
    content["users"][0]["user"] |= {
        "as": "ann",
        "as-uid": "42",
        "as-groups": ["dev", "ops"],
        "as-user-extra": {"example.com/Scope": ["x", "y"]},
    }

    async with client(access(content)) as asked:
        who = (await asked.create(REVIEWS, {}))["status"]["userInfo"]

    assert (who["username"], who["uid"]) == ("ann", "42")
    assert who["groups"] == ["dev", "ops", "system:authenticated"]
    assert who["extra"] == {"example.com/scope": ["x", "y"]}
