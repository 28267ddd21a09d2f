"""Messages on the channels of a WebSocket are written and read as Kubernetes does."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.nodes import Size
from jobferry.localkube.apiserver.requests import channels
from jobferry.localkube.apiserver.requests.channels import V4, V5, BadMessage, Closed, Data
from jobferry.localkube.apiserver.status import StatusError

TEXT = channels.choose(["v4.base64.channel.k8s.io"])
OLDEST = channels.choose([])


@given(
    st.sampled_from([V5, V4, TEXT, OLDEST]),
    st.integers(0, channels.CHANNELS - 1),
    st.binary(max_size=200),
)
def test_what_is_written_is_read(
    protocol: channels.Protocol, channel: int, data: bytes
) -> None:
    message = channels.write(protocol, channel, data)
    assert isinstance(message, str) == protocol.text
    assert channels.read(protocol, message) == Data(channel, data)


@given(st.sampled_from([V5, V4, TEXT, OLDEST]), st.binary(max_size=20) | st.text(max_size=20))
def test_no_message_breaks_the_reader(
    protocol: channels.Protocol, message: bytes | str
) -> None:
    try:
        found = channels.read(protocol, message)
    except BadMessage:
        raw = message.encode() if isinstance(message, str) else message
        assert raw[0] == channels.CLOSE
        assert protocol is V5
    else:
        assert found is None or 0 <= found.channel < channels.CHANNELS


def test_a_channel_is_closed_by_a_signal_of_the_newest_protocol_only() -> None:
    assert channels.read(V5, b"\xff\x00") == Closed(channels.STDIN)
    assert channels.read(V4, b"\xff\x00") is None


@pytest.mark.parametrize("message", [b"\xff", b"\xff\x05", b"\xff\x00\x00"])
def test_a_signal_without_one_channel_is_none(message: bytes) -> None:
    with pytest.raises(BadMessage):
        channels.read(V5, message)


@pytest.mark.parametrize("message", [b"", b"\x05unknown channel", b"\xfe"])
def test_what_says_nothing_is_passed_over(message: bytes) -> None:
    assert channels.read(V5, message) is None


@pytest.mark.parametrize("message", ["", "5" + base64.b64encode(b"x").decode(), "0!", "/"])
def test_text_that_says_nothing_is_passed_over(message: str) -> None:
    assert channels.read(TEXT, message) is None


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [
        (["v5.channel.k8s.io"], "v5.channel.k8s.io"),
        (["v4.channel.k8s.io", "v5.channel.k8s.io"], "v5.channel.k8s.io"),
        (["unknown", "v4.channel.k8s.io", "channel.k8s.io"], "v4.channel.k8s.io"),
        ([], ""),
        (["base64url.bearer.authorization.k8s.io.eA", "channel.k8s.io"], "channel.k8s.io"),
    ],
)
def test_a_protocol_is_chosen(offered: list[str], chosen: str) -> None:
    assert channels.choose(offered).name == chosen


def test_there_must_be_a_known_protocol() -> None:
    with pytest.raises(StatusError, match=r"not supported: \[v6 v7\]; supports \[v5") as caught:
        channels.choose(["v6", "v7"])
    assert caught.value.code == 403


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (b'{"Width":80,"Height":24}', Size(80, 24)),
        (b'{"width":80,"HEIGHT":24,"more":1}', Size(80, 24)),
        (b'{"Width":80}', Size(80, 0)),
        (b'{"Width":65536,"Height":24}', None),
        (b'{"Width":-1,"Height":24}', None),
        (b'{"Width":"80","Height":24}', None),
        (b'{"Width":true,"Height":24}', None),
        (b"[80, 24]", None),
        (b"{", None),
    ],
)
def test_the_size_of_a_terminal_is_read(data: bytes, size: Size | None) -> None:
    assert channels.read_size(data) == size


def test_the_end_is_told_as_the_protocol_has_it() -> None:
    good = {"metadata": {}, "status": "Success"}
    bad = {"metadata": {}, "status": "Failure", "message": "no"}
    assert channels.write_end(V5, good) == b'\x03{"metadata":{},"status":"Success"}'
    assert channels.write_end(OLDEST, good) is None
    assert channels.write_end(OLDEST, bad) == b"\x03no"
