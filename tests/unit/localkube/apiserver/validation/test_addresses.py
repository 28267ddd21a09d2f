"""IP addresses, as leniently as Kubernetes reads them."""

import pytest

from jobferry.localkube.apiserver.validation import addresses


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("010.000.0.01", "10.0.0.1"),
        ("::1", "::1"),
        ("2001:DB8::1", "2001:db8::1"),
        ("10.0.0", None),
        ("10.0.0.256", None),
        ("", None),
        ("x", None),
        ("fe80::1%eth0", None),
        ("10.0.0.1/8", None),
        ("\uff110.0.0.1", None),
    ],
)
def test_an_address_is_read(text: str, read: str | None) -> None:
    address = addresses.parse(text)
    assert (None if address is None else str(address)) == read
    assert (not list(addresses.address_problems("f", text))) is (read is not None)


@pytest.mark.parametrize(
    ("found", "wrong"),
    [
        (["10.0.0.1"], False),
        (["10.0.0.1", "::1"], False),
        (["10.0.0.1", "10.0.0.2"], True),
        (["10.0.0.1", "::ffff:10.0.0.2"], True),
        (["10.0.0.1", "::1", "::2"], True),
    ],
)
def test_there_is_one_address_of_each_family(found: list[str], wrong: bool) -> None:
    assert bool(list(addresses.family_problems("f", found))) is wrong


def test_what_is_no_address_is_of_no_family() -> None:
    failed, wrong = addresses.family_problems("f", ["10.0.0.1", "x"])
    assert str(failed) == (
        "f: Internal error: failed to check for dual stack with error:invalid IP[1]: x"
    )
    assert wrong.reason == "FieldValueInvalid"
