import pytest

from jobferry.kube import errors, watch
from jobferry.kube.wire import LONGEST_OBJECT

OBJECT = b'{"metadata":{"name":"a"},"spec":{"text":"\\"}{"}}'


@pytest.mark.parametrize("type", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK"])
@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"%b","object":%b}',
        b'{ "type": "%b", "object": %b }',
        b'{"type":"%b","object":%b} ',
    ],
)
def test_an_event_is_read_however_it_is_written(type: str, line: bytes) -> None:
    [event] = watch._decode([line % (type.encode(), OBJECT)], "hub")

    assert (event.type, bytes(event.object).strip()) == (type, OBJECT)


def test_the_members_of_an_event_may_come_in_any_order() -> None:
    [event] = watch._decode([b'{"object":%b,"type":"ADDED"}' % OBJECT], "hub")

    assert (event.type, bytes(event.object)) == ("ADDED", OBJECT)


@pytest.mark.parametrize("line", [b"", b"[]", b'{"type":"ADDED"', b'{"type":"ADDED","object":'])
def test_what_is_no_event_is_an_error_of_the_server(line: bytes) -> None:
    with pytest.raises(errors.ServerFailure, match="hub: an event that is not JSON"):
        list(watch._decode([line], "hub"))


def test_an_error_is_raised() -> None:
    status = b'{"kind":"Status","code":410,"reason":"Expired","message":"too old"}'

    with pytest.raises(errors.Expired, match="too old"):
        list(watch._decode([b'{"type":"ERROR","object":%b}' % status], "hub"))


def test_lines_are_put_together_however_they_are_cut() -> None:
    text = b"one\ntwo\n\nthree\nfo"
    for size in range(1, len(text) + 1):
        splitter = watch.Splitter("hub")
        pieces = [text[start : start + size] for start in range(0, len(text), size)]

        lines = [line for piece in pieces for line in splitter.feed(piece)]

        assert lines == [b"one", b"two", b"", b"three"]
        assert splitter.feed(b"ur\n") == [b"four"]


def test_a_long_line_in_small_pieces_is_not_copied_for_each() -> None:
    """That would be a hundred gigabytes: the time that a test has would not do."""
    splitter = watch.Splitter("hub")
    for _ in range(1 << 16):
        splitter.feed(bytes(64))

    [line] = splitter.feed(b"\n")
    assert len(line) == 1 << 22


def test_a_line_without_end_is_told() -> None:
    splitter = watch.Splitter("hub: watching jobs")
    splitter.feed(bytes(LONGEST_OBJECT))

    with pytest.raises(errors.TooLong, match="hub: watching jobs: an event longer than"):
        splitter.feed(b"x")
