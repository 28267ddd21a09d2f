"""What the clusters and users of a kubeconfig mean.

Every file that they name goes through `Node.file` and every program through `exec_plugin.plugin_from`, where
the policy of the kubeconfig is asked.
"""

import base64
import ipaddress
import re
from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, quote, urlsplit

from jobferry.clock import Clock
from jobferry.kube import exec_plugin, material
from jobferry.kube.access import Credentials, Fixed, Server
from jobferry.kube.credentials import Papers, credentials_from
from jobferry.kube.document import Node
from jobferry.kube.exec_credentials import ExecCredentials
from jobferry.kube.material import Material

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_HOST = re.compile(r"[\w.-]+|[\da-fA-F:.]+(%[\w.-]+)?", re.ASCII)
_HEADER_NAME_EXTRAS = "!#$&'*+-.^_`|~"
_WAYS = {
    *("token", "tokenFile", "username", "password", "exec", "auth-provider"),
    *("client-certificate", "client-certificate-data", "client-key", "client-key-data"),
}
_BESIDES = {"as", "as-uid", "as-groups", "as-user-extra", "extensions"}


def server(cluster: Node) -> Server:
    """Read a cluster."""
    if cluster["insecure-skip-tls-verify"].flag():
        raise cluster["insecure-skip-tls-verify"].wrong(
            "refused: anybody could pose as this cluster",
            "Give certificate-authority-data, and tls-server-name if the certificate bears another name.",
        )
    address = _address(cluster["server"], ("https", "http"))
    if address.username is not None or address.password is not None:
        raise cluster["server"].wrong("a URL with a password in it", "Write it under users.")
    if address.scheme == "http" and not _is_loopback(address.hostname or ""):
        raise cluster["server"].wrong("plain http to another machine", "Use https.")
    ca = cluster.material("certificate-authority")
    return Server(
        url=f"{address.scheme}://{address.netloc}{address.path.rstrip('/')}",
        ca=material.certificates(ca) if ca else None,
        tls_server_name=_name(cluster["tls-server-name"]),
        proxy_url=_proxy(cluster["proxy-url"]),
    )


def _proxy(node: Node) -> str | None:
    return _address(node, ("http", "socks5")).geturl() if node.text() else None


def _address(node: Node, schemes: tuple[str, ...]) -> SplitResult:
    """Take a URL apart, never showing it: it may hold a password."""
    text = node.text()
    if not text:
        raise node.wrong("not set", "Write a URL, as in https://10.0.0.1:6443.")
    try:
        address = urlsplit(text)
        is_whole = address.port != 0 and _is_host(address.hostname or "")
    except ValueError:
        raise node.wrong("not a valid URL") from None
    if address.scheme not in schemes:
        raise node.wrong(
            "not a URL of a known kind", f"It must begin with {_schemes(schemes)}."
        )
    # urlsplit drops some of the characters that no URL may have, without a word.
    if not is_whole or not material.is_header_value(text) or " " in text:
        raise node.wrong("not a valid URL")
    return address


def _name(node: Node) -> str | None:
    text = node.text()
    if text and not _is_host(text):
        raise node.wrong("not the name of a host")
    return text or None


def _is_host(text: str) -> bool:
    try:
        text.encode(
            "idna"
        )  # refuses empty and overlong parts, which the resolver and TLS do not take
    except UnicodeError:
        return False
    return _HOST.fullmatch(text) is not None


def _schemes(schemes: tuple[str, ...]) -> str:
    return " or ".join(f"{scheme}://" for scheme in schemes)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def credentials(
    user: Node, cluster: Node, server: Server, clock: Clock, environ: Mapping[str, str]
) -> Credentials:
    """Read how a user authenticates; which way goes before which is as in client-go."""
    if user["auth-provider"].value is not None:
        raise user["auth-provider"].wrong(
            "no longer supported by Kubernetes", "Use the exec plugin of your provider instead."
        )
    if server.url.startswith("http:"):
        return Fixed()  # as client-go, which sends no secret over plain http
    papers = Papers(tokens=tuple(_tokens(user)), basic=_basic(user), **_certificate(user))
    if papers.tokens and papers.basic:
        raise user.wrong("both a token and a password", "Remove one of them.")
    if papers != Papers():
        return credentials_from(papers, clock)  # before any exec plugin, as in client-go
    if user["exec"].value is not None:
        config = cluster["extensions"].named("extension").get(_EXEC_EXTENSION)
        plugin = exec_plugin.plugin_from(
            user["exec"], server=server, cluster_config=config, environ=environ
        )
        return ExecCredentials(plugin, clock)
    _refuse_unknown(user)
    return Fixed()


def _tokens(user: Node) -> Iterable[Material]:
    """The file comes first: the token beside it is only the one to start with."""
    if file := user["tokenFile"].file():
        yield file
    if token := user["token"].text():
        yield Material(user["token"].place, token.encode())


def _basic(user: Node) -> str | None:
    name, password = user["username"].text(), user["password"].text()
    if not name and not password:
        return None
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def _certificate(user: Node) -> dict[str, Material | None]:
    certificate, key = user.material("client-certificate"), user.material("client-key")
    if certificate and not key:
        raise user["client-key"].wrong("not set, though client-certificate is")
    if key and not certificate:
        raise user["client-certificate"].wrong("not set, though client-key is")
    return {"certificate": certificate, "key": key}


def _refuse_unknown(user: Node) -> None:
    """An empty user is anonymous; one whose only ways to authenticate are unknown to us is an error."""
    for key in user.map():
        if key not in _WAYS | _BESIDES:
            raise user.wrong(
                f"{key!r} is no known way to authenticate",
                "Use a token, a certificate or exec.",
            )


def headers(user: Node) -> Iterable[tuple[str, str]]:
    """Read whom a user acts as."""
    if not user["as"].text():
        for key in ("as-uid", "as-groups", "as-user-extra"):
            if user[key].value:
                raise user[key].wrong("needs `as`, the name of the user to act as")
        return
    yield _header("Impersonate-User", user["as"])
    if user["as-uid"].text():
        yield _header("Impersonate-Uid", user["as-uid"])
    for group in user["as-groups"].items():
        yield _header("Impersonate-Group", group)
    extra = user["as-user-extra"]
    for name in extra.map():
        if not isinstance(name, str):
            raise extra.wrong("expected text as key")
        header = f"Impersonate-Extra-{quote(name, safe=_HEADER_NAME_EXTRAS)}"
        yield from (_header(header, item) for item in extra[name].items())


def _header(name: str, node: Node) -> tuple[str, str]:
    value = node.text()
    if not material.is_header_value(value):
        raise node.wrong("holds characters that a header cannot carry")
    return name, value
