"""Who localkube takes a client for, over TLS: a certificate, a token, both, neither, or one out of its time."""

import copy
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from jobferry.clock import SystemClock
from jobferry.testing import assets
from jobferry.testing.certificates import Pair
from jobferry.testing.control_plane import ControlPlane
from tests.api.access_world import Asker, Reply

WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
TOKEN = "/api/v1/namespaces/default/serviceaccounts/robot/token"


@pytest.fixture(scope="module")
def local() -> Iterator[ControlPlane]:
    plane = ControlPlane(version=assets.LOCALKUBE).start()
    yield plane
    plane.stop()


def ask(
    local: ControlPlane, pair: Pair | None, path: str, token: str = "", body: Any = None
) -> Reply:
    """Ask as somebody with a certificate, a token, both or neither."""
    with closing(Asker(local, pair, token)) as asker:
        return asker.ask("GET" if body is None else "POST", path, body)


def name(local: ControlPlane, pair: Pair | None, token: str = "") -> str:
    """Return whom the server takes somebody for."""
    reply = ask(local, pair, WHO, token, {})
    assert reply.code == 201, reply
    found: str = reply.body["status"]["userInfo"]["username"]
    return found


@pytest.fixture
def token(local: ControlPlane) -> str:
    """The token of a service account."""
    root = local.certificate("root", "system:masters")
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    ask(local, root, accounts, body={"metadata": {"name": "robot"}})
    made = ask(local, root, TOKEN, body={"spec": {}})
    assert made.code == 201, made
    issued: str = made.body["status"]["token"]
    return issued


def test_a_certificate_says_who_calls(local: ControlPlane) -> None:
    assert name(local, local.certificate("ann", "team")) == "ann"


def test_a_token_says_who_calls(local: ControlPlane, token: str) -> None:
    assert name(local, None, token) == "system:serviceaccount:default:robot"
    assert ask(local, None, WHO, "nonsense", {}).code == 401


def test_of_two_tokens_the_first_says_who_calls(local: ControlPlane, token: str) -> None:
    other = [("Authorization", "Bearer nonsense")]
    with closing(Asker(local, None, token)) as good, closing(Asker(local, None)) as bad:
        again = [*other, ("Authorization", f"Bearer {token}")]

        assert good.ask("POST", WHO, {}, headers=other).code == 201
        assert bad.ask("POST", WHO, {}, headers=again).code == 401


def test_a_certificate_goes_before_a_token(local: ControlPlane, token: str) -> None:
    assert name(local, local.certificate("ann"), token) == "ann"


def test_nobody_in_particular_sees_health_and_version_only(local: ControlPlane) -> None:
    paths = ("/healthz", "/livez", "/readyz", "/version")
    seen = {path: ask(local, None, path).code for path in paths}
    refused = ask(local, None, "/api/v1/namespaces")

    assert set(seen.values()) == {200}
    assert refused.code == 403
    assert 'User "system:anonymous" cannot list' in refused.body["message"]


def test_a_certificate_out_of_its_time_is_nobody_s(local: ControlPlane, token: str) -> None:
    authority = copy.copy(local._authority)
    authority._now = SystemClock().now() - timedelta(days=365)
    expired = authority.client("ann")

    assert ask(local, expired, WHO, body={}).code == 401
    assert name(local, expired, token) == "system:serviceaccount:default:robot"
