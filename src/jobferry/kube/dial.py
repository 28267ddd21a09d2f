"""Opens connections to an API server: TCP, proxies, TLS."""

import asyncio
import errno
import ipaddress
import socket
import ssl
import tempfile
from base64 import b64encode
from collections.abc import Awaitable, Callable
from urllib.parse import SplitResult, unquote, urlsplit

from jobferry.clock import Clock
from jobferry.errors import BadInput
from jobferry.kube import errors, tcp
from jobferry.kube.access import Identity, Server
from jobferry.kube.http1 import Connection

PORTS = {"http": 80, "https": 443, "socks5": 1080, "socks5h": 1080}


def tls_context(server: Server, identity: Identity) -> ssl.SSLContext | None:
    """Make what one server is trusted by and we are known by; None for plain HTTP."""
    if urlsplit(server.url).scheme == "http":
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if server.ca is None:
        context.load_default_certs()
    else:
        # Only this CA is trusted, and, as Go has it, also where it is an intermediate one.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        _loading(
            lambda: context.load_verify_locations(cadata=_text(server.ca)),
            "certificate-authority",
        )
    if identity.certificate is not None:
        _loading(lambda: _load_identity(context, identity), "client certificate and key")
    return context


async def dial(server: Server, context: ssl.SSLContext | None, clock: Clock) -> Connection:
    """Open a connection."""
    url = urlsplit(server.url)
    host, port = _checked(url.hostname or ""), url.port or PORTS[url.scheme]
    name = _checked(server.tls_server_name or host)
    sock = (
        await tcp.connect(host, port, clock)
        if server.proxy_url is None
        else await _via(server.proxy_url, host, port, clock)
    )
    connection = Connection(url.netloc.rpartition("@")[2], url.path.rstrip("/"))
    try:
        await _set_up(connection, sock, context, name)
    except ssl.SSLCertVerificationError as error:
        raise errors.Untrusted(
            f"the certificate of {server.url} is not trusted: {error.verify_message}"
        ) from error
    except ssl.SSLError as error:
        raise errors.Untrusted(f"no TLS with {server.url}: {error.reason or error}") from error
    except OSError as error:
        reason = error.strerror or "no reason given"
        raise errors.Unreachable(
            f"{server.url} hung up while TLS was set up: {reason}"
        ) from error
    return connection


async def _set_up(
    connection: Connection, sock: socket.socket, context: ssl.SSLContext | None, name: str
) -> None:
    loop = asyncio.get_running_loop()
    try:
        raw, _ = await loop.create_connection(lambda: connection, sock=sock)
    finally:
        if not isinstance(loop, asyncio.BaseEventLoop):
            # uvloop has the descriptor, and closes it. But of a peer that hung up at once it does not tell the
            # object, which would close the number later, and with it whatever has got that number by then.
            sock.detach()
    if context is None:
        return
    if raw.is_closing():
        raise ConnectionResetError(errno.ECONNRESET, "it closed the connection")
    try:
        secure = await loop.start_tls(raw, connection, context, server_hostname=name)
    except BaseException:
        raw.abort()
        raise
    if secure is None or secure.is_closing():
        raise ConnectionResetError(errno.ECONNRESET, "it closed the connection")
    connection.secure(secure)


def _checked(host: str) -> str:
    """Refuse a name that the resolver and TLS would choke on."""
    try:
        host.encode("idna")
    except UnicodeError as error:
        raise BadInput(f"{host!r} cannot be the name of a host") from error
    return host


async def _via(proxy_url: str, host: str, port: int, clock: Clock) -> socket.socket:
    """Open a TCP connection through a proxy."""
    proxy = urlsplit(proxy_url)
    handshakes: dict[str, Callable[[socket.socket, SplitResult, str, int], Awaitable[None]]] = {
        "http": _http_connect,
        "socks5": _socks5,
        "socks5h": _socks5,
    }
    if proxy.scheme not in handshakes or not proxy.hostname:
        raise BadInput(
            f"proxy-url {proxy.scheme}://{proxy.hostname or ''} cannot be used",
            hint="Use an http:// or socks5:// proxy.",
        )
    at = proxy.port or PORTS[proxy.scheme]
    sock = await tcp.connect(_checked(proxy.hostname), at, clock)
    try:
        await handshakes[proxy.scheme](sock, proxy, host, port)
    except OSError as error:
        sock.close()
        raise errors.Unreachable(f"the proxy {proxy.hostname} hung up: {error}") from error
    except BaseException:
        sock.close()
        raise
    return sock


async def _http_connect(sock: socket.socket, proxy: SplitResult, host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.username is not None:
        user = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
        lines.append("Proxy-Authorization: Basic " + b64encode(user.encode()).decode())
    await loop.sock_sendall(sock, "\r\n".join([*lines, "", ""]).encode())
    head = b""
    # A byte at a time: what follows the head is already the server's.
    while not head.endswith(b"\r\n\r\n"):
        byte = await loop.sock_recv(sock, 1)
        if not byte or len(head) > 16_384:
            raise errors.Unreachable(f"the proxy {proxy.hostname} gave no answer to CONNECT")
        head += byte
    status = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 1)[-1]
    if not status.startswith("2"):
        raise errors.Unreachable(f"the proxy {proxy.hostname} refused {target}: {status}")


async def _socks5(sock: socket.socket, proxy: SplitResult, host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    # Offer "no authentication", and a user name where there is one (RFC 1928, RFC 1929).
    await loop.sock_sendall(sock, b"\x05\x02\x00\x02" if proxy.username else b"\x05\x01\x00")
    version, method = await _exactly(sock, 2)
    if version != 5:
        raise errors.Unreachable(f"the proxy {proxy.hostname} does not speak SOCKS5")
    if method == 2 and proxy.username:
        user, password = (
            _counted(unquote(text or "").encode()) for text in (proxy.username, proxy.password)
        )
        await loop.sock_sendall(sock, b"\x01" + user + password)
        method = (await _exactly(sock, 2))[1]
    if method != 0:
        who = "our user name" if proxy.username else "us without a user name"
        raise errors.Unreachable(f"the proxy {proxy.hostname} refused {who}")
    await loop.sock_sendall(
        sock, b"\x05\x01\x00" + _socks5_address(host) + port.to_bytes(2, "big")
    )
    _, status, _, family = await _exactly(sock, 4)
    if status != 0:
        raise errors.Unreachable(
            f"the proxy {proxy.hostname} could not reach {host}:{port}: code {status}"
        )
    length = {1: 4, 4: 16}.get(family) or (await _exactly(sock, 1))[0]
    await _exactly(sock, length + 2)


def _socks5_address(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return b"\x03" + _counted(host.encode("idna"))  # the proxy looks it up
    return (b"\x01" if address.version == 4 else b"\x04") + address.packed


def _counted(data: bytes) -> bytes:
    if len(data) > 255:
        raise BadInput("a name or password is too long for a SOCKS5 proxy")
    return bytes([len(data)]) + data


async def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = await asyncio.get_running_loop().sock_recv(sock, count - len(data))
        if not part:
            raise ConnectionResetError("it closed the connection")
        data += part
    return data


def _load_identity(context: ssl.SSLContext, identity: Identity) -> None:
    # The ssl module reads client certificates from files only. This one is readable to us alone and
    # gone at the end of the block.
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write((identity.certificate or b"") + b"\n" + (identity.key or b""))
        file.flush()
        # An encrypted key would make OpenSSL ask at the terminal.
        context.load_cert_chain(file.name, password="")


def _loading(load: Callable[[], None], what: str) -> None:
    try:
        load()
    except (ssl.SSLError, ValueError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise BadInput(
            f"the {what} cannot be used: {reason}",
            hint="It must be PEM; keys must not be encrypted.",
        ) from error


def _text(pem: bytes | None) -> str:
    return (pem or b"").decode("ascii", "ignore")  # comments may be in any language
