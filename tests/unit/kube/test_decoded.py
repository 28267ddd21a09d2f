from typing import Any

from jobferry.kube.decoded import Decoded
from jobferry.kube.items import Head, Item, Metadata


def item(name: str, size: int = 0) -> Item[Any]:
    body = b'{"metadata":{"name":"%s"}}' % name.encode()
    return Item(Head(Metadata(name, "1")), body.ljust(size))


def test_an_object_is_decoded_once_while_it_is_looked_at() -> None:
    decoded, a = Decoded(), item("a")

    assert decoded(a) == {"metadata": {"name": "a"}}
    assert decoded(a) is decoded(a)


def test_another_state_of_an_object_is_another_object() -> None:
    decoded = Decoded()
    before, after = item("a"), item("a")

    assert decoded(before) is not decoded(after)


def test_what_was_looked_at_last_is_kept_and_no_more_than_so_many_bytes() -> None:
    decoded = Decoded(most_bytes=250)
    a, b, c = (item(name, 100) for name in "abc")
    first, second = decoded(a), decoded(b)
    assert decoded(a) is first

    decoded(c)  # in place of b

    assert (len(decoded), decoded(a) is first, decoded(b) is second) == (2, True, False)


def test_one_that_is_larger_than_all_that_is_kept_is_decoded_nevertheless() -> None:
    decoded = Decoded(most_bytes=50)

    assert decoded(item("a", 100)) == {"metadata": {"name": "a"}}
    assert not len(decoded)
