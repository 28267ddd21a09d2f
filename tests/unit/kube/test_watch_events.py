import pytest

from jobferry.kube import errors, watch

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
