import base64
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobferry.errors import BadInput
from jobferry.kube import entries
from jobferry.kube.access import ANONYMOUS, Credentials, Fixed, Identity, Server
from jobferry.kube.document import Node, Source
from jobferry.kube.exec_credentials import ExecCredentials
from jobferry.testing.certificates import Authority
from jobferry.testing.clock import ManualClock

AUTHORITY = Authority(datetime(2026, 1, 1, tzinfo=UTC))
PAIR = AUTHORITY.client("ann")
EXEC = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "plugin"}


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


CERTIFICATE = {
    "client-certificate-data": encoded(PAIR.certificate),
    "client-key-data": encoded(PAIR.key),
}


def cluster_node(given: dict[str, Any]) -> Node:
    value = {"server": "https://10.0.0.1:6443", **given}
    return Node(Source("config", Path("/nowhere")), "clusters[name=a].cluster", value)


def server(given: dict[str, Any]) -> Server:
    return entries.server(cluster_node(given))


def user_node(given: dict[str, Any]) -> Node:
    return Node(Source("config", Path("/nowhere")), "users[name=u].user", given)


def credentials(given: dict[str, Any], at: str = "https://10.0.0.1:6443") -> Credentials:
    return entries.credentials(
        user_node(given), cluster_node({}), Server(url=at), ManualClock(), {}
    )


async def identity(given: dict[str, Any]) -> Identity:
    return await credentials(given).identity()


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("https://10.0.0.1:6443", "https://10.0.0.1:6443"),
        (
            "https://rancher.example/k8s/clusters/c-1/",
            "https://rancher.example/k8s/clusters/c-1",
        ),
        ("https://api/?a=b#c", "https://api"),
        ("https://[fd00::1]:6443", "https://[fd00::1]:6443"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_the_address_of_a_server_is_read(written: str, url: str) -> None:
    assert server({"server": written}).url == url


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (None, "not set"),
        ("10.0.0.1:6443", "not a URL of a known kind"),
        ("api.example", "not a URL of a known kind"),
        ("ftp://api.example", "not a URL of a known kind"),
        ("https://", "not a valid URL"),
        ("https://:6443", "not a valid URL"),
        ("https://api:port", "not a valid URL"),
        ("https://api:99999", "not a valid URL"),
        ("https://api:0", "not a valid URL"),
        ("https://[fd00::1", "not a valid URL"),
        ("https://a b", "not a valid URL"),
        ("https://a\nb", "not a valid URL"),
        ("https://api/\x1b", "not a valid URL"),
        ("https://a<b", "not a valid URL"),
        ("https://a..b", "not a valid URL"),
        ("https://api/é", "not a valid URL"),
        ("https://ann:hunter2@api", "a URL with a password in it"),
        ("http://10.0.0.1:8080", "plain http to another machine"),
        ("http://localhost.example", "plain http to another machine"),
    ],
)
def test_a_wrong_address_is_refused_and_not_shown(written: str | None, problem: str) -> None:
    with pytest.raises(
        BadInput, match=rf"^config: clusters\[name=a\].cluster.server: {problem}$"
    ):
        server({"server": written})


def test_how_the_server_proves_itself_is_read() -> None:
    read = server(
        {
            "certificate-authority-data": encoded(AUTHORITY.certificate),
            "certificate-authority": "/not/read",
            "tls-server-name": "kubernetes",
        }
    )

    assert read.ca == AUTHORITY.certificate
    assert read.tls_server_name == "kubernetes"


def test_without_a_ca_the_machine_decides_whom_to_trust() -> None:
    assert server({}).ca is None


@pytest.mark.parametrize("name", [".api", "a..b", "a b", "é", "https://api", "a" * 64])
def test_a_name_that_no_certificate_can_bear_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="tls-server-name: not the name of a host"):
        server({"tls-server-name": name})


def test_skipping_tls_checks_is_refused_with_a_hint() -> None:
    with pytest.raises(BadInput, match="insecure-skip-tls-verify: refused") as caught:
        server({"insecure-skip-tls-verify": True})

    assert "certificate-authority-data" in (caught.value.hint or "")
    assert server({"insecure-skip-tls-verify": False})


@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_a_proxy_is_read_and_never_shown(scheme: str) -> None:
    url = f"{scheme}://ann:hunter2@proxy:3128"

    read = server({"proxy-url": url})

    assert read.proxy_url == url
    assert "hunter2" not in repr(read)


@pytest.mark.parametrize(
    "url", ["proxy:3128", "https://proxy", "ftp://proxy", "http://", "http://pro xy"]
)
def test_a_wrong_proxy_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match=r"cluster\.proxy-url: not a"):
        server({"proxy-url": url})


async def test_a_token_and_a_certificate_are_both_used() -> None:
    assert await identity({"token": "abc", **CERTIFICATE}) == Identity(
        authorization="Bearer abc", certificate=PAIR.certificate, key=PAIR.key
    )


async def test_a_password_is_used() -> None:
    who = await identity({"username": "ann", "password": "pässword"})

    assert who.authorization == f"Basic {encoded('ann:pässword'.encode())}"


@pytest.mark.parametrize(
    "given", [{"token": "abc"}, {"username": "ann", "password": "x"}, CERTIFICATE]
)
def test_an_exec_plugin_is_not_asked_where_there_is_something_else(
    given: dict[str, str],
) -> None:
    assert isinstance(credentials({**given, "exec": EXEC}), Fixed)


def test_an_exec_plugin_is_asked_where_there_is_nothing_else() -> None:
    assert isinstance(credentials({"exec": EXEC}), ExecCredentials)


def test_what_the_cluster_has_to_tell_the_plugin_is_found() -> None:
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {1, 2}}
    cluster = cluster_node({"extensions": [{"name": "other", "extension": {}}, extension]})
    user = user_node({"exec": EXEC | {"provideClusterInfo": True}})

    # A set cannot be told: the error shows that this extension was taken.
    with pytest.raises(BadInput, match="what the cluster's extension tells the plugin"):
        entries.credentials(user, cluster, Server(url="https://api"), ManualClock(), {})


@pytest.mark.parametrize("given", [{}, {"extensions": []}, {"as": "ann"}, {"exec": None}])
async def test_a_user_without_anything_is_anonymous(given: dict[str, Any]) -> None:
    assert await identity(given) == ANONYMOUS


async def test_no_secret_is_sent_over_plain_http() -> None:
    sent = await credentials({"token": "abc"}, at="http://localhost:8080").identity()

    assert sent == ANONYMOUS


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"auth-provider": {"name": "gcp"}}, r"\.auth-provider: no longer supported"),
        ({"oidc": {}}, ": 'oidc' is no known way to authenticate"),
        ({"token": "abc", "username": "ann"}, ": both a token and a password"),
        ({"token": ["abc"]}, r"\.token: expected text, found a list"),
        ({"token": "a b"}, r"\.token: the token holds characters"),
        ({"tokenFile": "no"}, r"\.tokenFile: cannot read /nowhere/no: No such file"),
        ({"client-certificate-data": "@@"}, r"\.client-certificate-data: not valid base64"),
        (
            {**CERTIFICATE, "client-certificate-data": encoded(b"x")},
            r"\.client-certificate-data: holds no PEM certificate",
        ),
        (
            {**CERTIFICATE, "client-key-data": encoded(b"x")},
            r"\.client-key-data: holds no PEM private key",
        ),
        (
            {"client-certificate": "no.crt", "client-key": "no.key"},
            r"\.client-certificate: cannot read /nowhere/no.crt: No such file",
        ),
        (
            {"client-certificate": "no.crt"},
            r"\.client-key: not set, though client-certificate is",
        ),
        ({"client-key": "no.key"}, r"\.client-certificate: not set, though client-key is"),
        ({"exec": {}}, r"\.exec\.apiVersion: not set"),
        ({"exec": ["plugin"]}, r"\.exec: expected a map, found a list"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_key(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInput, match=rf"^config: users\[name=u\].user{problem}"):
        credentials(given)


def test_impersonation_becomes_headers() -> None:
    user = user_node(
        {
            "as": "ann",
            "as-uid": "42",
            "as-groups": ["dev", "ops"],
            "as-user-extra": {"scopes": ["a", "b"], "example.com/rôle%": ["c"]},
        }
    )

    assert list(entries.headers(user)) == [
        ("Impersonate-User", "ann"),
        ("Impersonate-Uid", "42"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-scopes", "a"),
        ("Impersonate-Extra-scopes", "b"),
        ("Impersonate-Extra-example.com%2Fr%C3%B4le%25", "c"),
    ]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"as-uid": "42"}, "as-uid: needs `as`"),
        ({"as-groups": ["dev"]}, "as-groups: needs `as`"),
        ({"as-user-extra": {"a": ["b"]}}, "as-user-extra: needs `as`"),
        ({"as": "ann\r\nX: y"}, "as: holds characters that a header cannot carry"),
        ({"as": "ann", "as-groups": "dev"}, "as-groups: expected a list, found text"),
        ({"as": "ann", "as-user-extra": {1: ["b"]}}, "as-user-extra: expected text as key"),
        ({"as": "ann", "as-user-extra": {"a": "b"}}, "as-user-extra.a: expected a list"),
    ],
)
def test_wrong_impersonation_is_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInput, match=rf"^config: users\[name=u\].user.{problem}"):
        list(entries.headers(user_node(given)))
