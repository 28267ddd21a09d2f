"""Ranges of addresses."""

import pytest

from jobferry.localkube.apiserver.validation import cidrs


@pytest.mark.parametrize(
    "text", ["", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "fd00::/129", "x/8"]
)
def test_what_is_no_range_is_complained_about(text: str) -> None:
    assert len(list(cidrs.cidr_problems("f", text))) == 1
    assert list(cidrs.warnings("f", text)) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("10.0.0.0/8", []),
        ("fd00::/64", []),
        ("10.0.0.1/8", ["is ambiguous"]),
        ("010.0.0.0/8", ["non-standard"]),
        ("010.0.0.1/8", ["is ambiguous", "non-standard"]),
        ("fd00:0::/64", ["RFC 5952"]),
        ("FD00::1/64", ["is ambiguous"]),
    ],
)
def test_unusual_ranges_are_warned_of(text: str, words: list[str]) -> None:
    found = list(cidrs.warnings("f", text))

    assert list(cidrs.cidr_problems("f", text)) == []
    assert len(found) == len(words)
    assert all(word in each for word, each in zip(words, found, strict=True))


def test_two_families_are_told_apart() -> None:
    assert cidrs.are_dual(["10.0.0.0/8", "fd00::/64"])
    assert not cidrs.are_dual(["10.0.0.0/8", "10.0.0.0/9"])
