"""The streams of a process on one WebSocket: each message begins with the number of its channel."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import orjson

from jobferry.localkube.apiserver.identity.authenticate import without_bearer
from jobferry.localkube.apiserver.nodes import Size
from jobferry.localkube.apiserver.status import StatusError

STDIN, STDOUT, STDERR, ERROR, RESIZE = range(5)
CHANNELS = 5
CLOSE = 255
"""Not a channel: the one whose number follows is closed."""

_LARGEST = 0xFFFF


@dataclass(frozen=True, slots=True)
class Protocol:
    """How messages are written."""

    name: str
    text: bool = False
    """Messages are text: a digit, then base64."""
    closes: bool = False
    """Clients can close one channel."""
    ends: Literal["json", "words"] = "json"
    """How the end of the process is told: as a Status, or in words if it was no success."""


V5 = Protocol("v5.channel.k8s.io", closes=True)
V4 = Protocol("v4.channel.k8s.io")
_KNOWN = {
    each.name: each
    for each in (
        V5,
        V4,
        Protocol("v4.base64.channel.k8s.io", text=True),
        Protocol("channel.k8s.io", ends="words"),
        Protocol("base64.channel.k8s.io", text=True, ends="words"),
        Protocol("", ends="words"),
    )
}


class Data(NamedTuple):
    """What was said on a channel."""

    channel: int
    data: bytes


class Closed(NamedTuple):
    """The client closed a channel."""

    channel: int


class BadMessage(Exception):
    """The client does not keep to the protocol; there is no going on with it."""


def choose(offered: Sequence[str]) -> Protocol:
    """Return the first protocol offered that is known; refuse if there is none."""
    wanted = without_bearer(offered) or [""]
    for name in (V5.name, *wanted):
        # The newest goes first: only a client that knows it offers it.
        if name in wanted and name in _KNOWN:
            return _KNOWN[name]
    known = " ".join(_KNOWN)
    why = f"requested protocol(s) are not supported: [{' '.join(wanted)}]; supports [{known}]"
    raise StatusError(403, "Forbidden", why)


def write(protocol: Protocol, channel: int, data: bytes) -> bytes | str:
    """Return the message that carries data on a channel."""
    if protocol.text:
        return f"{channel}{base64.b64encode(data).decode()}"
    return bytes((channel,)) + data


def read(protocol: Protocol, message: bytes | str) -> Data | Closed | None:
    """Read a message; None for one that says nothing, as a server passes over it."""
    raw = message.encode() if isinstance(message, str) else message
    if not raw:
        return None
    if protocol.closes and raw[0] == CLOSE:
        if len(raw) != 2 or raw[1] >= CHANNELS:
            raise BadMessage("one channel has to follow the signal to close it")
        return Closed(raw[1])
    channel = raw[0] - ord("0") if protocol.text else raw[0]
    if not 0 <= channel < CHANNELS:
        return None
    if not protocol.text:
        return Data(channel, raw[1:])
    try:
        return Data(channel, base64.b64decode(raw[1:], validate=True))
    except binascii.Error:
        return None


def read_size(data: bytes) -> Size | None:
    """Read the size of a terminal; None for what is none."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(found, dict):
        return None
    # Go reads the names of members in any case.
    members = {name.lower(): value for name, value in found.items()}
    width, height = members.get("width", 0), members.get("height", 0)
    if _is_extent(width) and _is_extent(height):
        return Size(width, height)
    return None


def write_end(protocol: Protocol, status: Mapping[str, Any]) -> bytes | str | None:
    """Return the message that tells how it ended, if there is one to send."""
    if protocol.ends == "json":
        return write(protocol, ERROR, orjson.dumps(status))
    if status["status"] == "Success":
        return None
    return write(protocol, ERROR, status["message"].encode())


def _is_extent(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST
