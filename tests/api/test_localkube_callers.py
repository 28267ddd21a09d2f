"""Who localkube takes a client for, over TLS: a certificate, a token, both, neither, or one out of its time."""

import copy
import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from jobferry.clock import SystemClock
from jobferry.testing import assets
from jobferry.testing.certificates import Pair
from jobferry.testing.control_plane import ControlPlane

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
TOKEN = "/api/v1/namespaces/default/serviceaccounts/robot/token"


@pytest.fixture(scope="module")
def local() -> Iterator[ControlPlane]:
    plane = ControlPlane(version=assets.LOCALKUBE).start()
    yield plane
    plane.stop()


class Caller:
    """A client with a certificate, or with none."""

    def __init__(self, local: ControlPlane, folder: Path, pair: Pair | None) -> None:
        context = ssl.create_default_context(cafile=str(local.folder / "ca.crt"))
        if pair is not None:
            file = folder / "pair.pem"
            file.write_bytes(pair.certificate + pair.key)
            context.load_cert_chain(file)
        self._place = urlsplit(local.url).netloc
        self._context = context

    def ask(self, path: str, token: str = "", body: Any = None) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        method = "GET" if body is None else "POST"
        sent = None if body is None else json.dumps(body)
        connection = http.client.HTTPSConnection(self._place, context=self._context)
        with closing(connection):
            connection.request(method, path, sent, headers)
            answer = connection.getresponse()
            content = answer.read()
        is_json = "json" in answer.headers["Content-Type"]
        return answer.status, json.loads(content) if is_json else content.decode()

    def name(self, token: str = "") -> str:
        code, review = self.ask(WHO, token, {})
        assert code == 201, review
        name: str = review["status"]["userInfo"]["username"]
        return name


@pytest.fixture
def token(local: ControlPlane, tmp_path: Path) -> str:
    """The token of a service account."""
    admin = Caller(local, tmp_path, local.certificate("root", "system:masters"))
    account = {"metadata": {"name": "robot"}}
    admin.ask("/api/v1/namespaces/default/serviceaccounts", body=account)
    code, made = admin.ask(TOKEN, body={"spec": {}})
    assert code == 201, made
    issued: str = made["status"]["token"]
    return issued


def test_a_certificate_says_who_calls(local: ControlPlane, tmp_path: Path) -> None:
    assert Caller(local, tmp_path, local.certificate("ann", "team")).name() == "ann"


def test_a_token_says_who_calls(local: ControlPlane, tmp_path: Path, token: str) -> None:
    caller = Caller(local, tmp_path, None)

    assert caller.name(token) == "system:serviceaccount:default:robot"
    assert caller.ask(WHO, "nonsense", {})[0] == 401


def test_a_certificate_goes_before_a_token(
    local: ControlPlane, tmp_path: Path, token: str
) -> None:
    assert Caller(local, tmp_path, local.certificate("ann")).name(token) == "ann"


def test_nobody_in_particular_sees_health_and_version_only(
    local: ControlPlane, tmp_path: Path
) -> None:
    caller = Caller(local, tmp_path, None)

    seen = {path: caller.ask(path)[0] for path in ("/healthz", "/livez", "/readyz", "/version")}
    code, refused = caller.ask("/api/v1/namespaces")

    assert set(seen.values()) == {200}
    assert code == 403
    assert 'User "system:anonymous" cannot list' in refused["message"]


def test_a_certificate_out_of_its_time_is_nobody_s(
    local: ControlPlane, tmp_path: Path, token: str
) -> None:
    authority = copy.copy(local._authority)
    authority._now = SystemClock().now() - timedelta(days=365)
    caller = Caller(local, tmp_path, authority.client("ann"))

    assert caller.ask(WHO, body={})[0] == 401
    assert caller.name(token) == "system:serviceaccount:default:robot"
