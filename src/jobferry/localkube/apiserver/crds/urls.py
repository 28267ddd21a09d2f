"""URLs as Go's `url.ParseRequestURI` and `url.Parse` read them."""

import re
from dataclasses import dataclass
from urllib.parse import quote_from_bytes, unquote_plus, unquote_to_bytes

from jobferry.objects.gotext import quote

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_NOT_IN_USER = re.compile(r"[^A-Za-z0-9._:~!$&'()*+,;=%@-]")
_NOT_IN_HOST = re.compile(r"""[^A-Za-z0-9!$&'()*+,;=:\[\]<>"_.~%\x80-\U0010ffff-]""")
_PORT = re.compile(r"(?::[0-9]*)?")
_WRITTEN_PATH = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@\[\]/%-]*")
_PLAIN_IN_PATH = "$&+,/:;=@"


class BadUrl(ValueError):
    """A text that is no URL, in the words of Go."""


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL."""

    scheme: str = ""
    host: str = ""
    """With its port."""
    path: str = ""
    """As it is written, escapes included."""
    query: str = ""

    @property
    def _port_at(self) -> int:
        """Where the port begins; the length of the host if there is none."""
        colon = self.host.rfind(":")
        return colon if colon >= 0 and _PORT.fullmatch(self.host[colon:]) else len(self.host)

    @property
    def hostname(self) -> str:
        """The host without port and brackets."""
        name = self.host[: self._port_at]
        return name[1:-1] if name.startswith("[") and name.endswith("]") else name

    @property
    def port(self) -> str:
        """The port, or an empty text."""
        return self.host[self._port_at + 1 :]

    @property
    def escaped_path(self) -> str:
        """The path as it may be sent: as it is written, if that can be."""
        if _WRITTEN_PATH.fullmatch(self.path):
            return self.path
        return quote_from_bytes(unquote_to_bytes(self.path), safe=_PLAIN_IN_PATH)

    def values(self) -> dict[str, list[str]]:
        """Return the members of the query; those that cannot be read are left out."""
        found: dict[str, list[str]] = {}
        for part in self.query.split("&"):
            if part and ";" not in part and not _bad_escape(part):
                name, _, value = part.partition("=")
                found.setdefault(unquote_plus(name), []).append(unquote_plus(value))
        return found


def parse(text: str) -> Url:
    """Read a URL; raises `BadUrl`.

    As in Kubernetes: it must be one that a request may be made for, but then may have a fragment, too.
    """
    try:
        _parsed(text, for_request=True)
        plain, _, fragment = text.partition("#")
        if bad := _bad_escape(fragment):
            raise _escape(bad)
        return _parsed(plain, for_request=False)
    except BadUrl as error:
        raise BadUrl(f"parse {quote(text)}: {error}") from error


def _parsed(text: str, *, for_request: bool) -> Url:
    if _CONTROL.search(text):
        raise BadUrl("net/url: invalid control character in URL")
    if not text:
        raise BadUrl("empty url")
    if text == "*":
        return Url(path="*")
    if text.startswith(":"):
        raise BadUrl("missing protocol scheme")
    scheme = _SCHEME.match(text)
    rest, _, query = text[scheme.end() if scheme else 0 :].partition("?")
    name = scheme[1].lower() if scheme else ""
    if not rest.startswith("/"):
        if not scheme:
            raise BadUrl("invalid URI for request")
        return Url(name, query=query)
    host = ""
    may_name_host = scheme or not (for_request or rest.startswith("///"))
    if may_name_host and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _host_of(authority), slash + path
    if bad := _bad_escape(rest):
        raise _escape(bad)
    return Url(name, host, rest, query)


def _escape(shown: str) -> BadUrl:
    return BadUrl(f"invalid URL escape {quote(shown)}")


def _bad_escape(text: str) -> str:
    """Return the first escape that is none, or an empty text."""
    for found in _ESCAPE.finditer(text):
        if not found[1]:
            return text[found.start() : found.start() + 3]
    return ""


def _host_of(authority: str) -> str:
    user, at, host = authority.rpartition("@")
    found = _host(host)
    if at and _NOT_IN_USER.search(user):
        raise BadUrl("net/url: invalid userinfo")
    if bad := _bad_escape(user):
        raise _escape(bad)
    return found


def _host(host: str) -> str:
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise BadUrl("missing ']' in host")
        _check_port(host[end + 1 :])
        zone = host.find("%25", 0, end)
        if zone >= 0:
            return _plain(host[:zone]) + _zone(host[zone:end]) + _plain(host[end:])
    elif ":" in host:
        _check_port(host[host.rindex(":") :])
    return _plain(host)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise BadUrl(f"invalid port {quote(port)} after host")


def _zone(text: str) -> str:
    if bad := _bad_escape(text):
        raise _escape(bad)
    return unquote_to_bytes(text).decode("utf-8", "replace")


def _plain(text: str) -> str:
    """Return a host without escapes; only what is not ASCII may have any."""
    for found in _ESCAPE.finditer(text):
        if not found[1] or (int(found[1], 16) < 0x80 and found[0] != "%25"):
            raise _escape(text[found.start() : found.start() + 3])
    if bad := _NOT_IN_HOST.search(text):
        raise BadUrl(f"invalid character {quote(bad[0])} in host name")
    return unquote_to_bytes(text).decode("utf-8", "replace")
