"""Ranges of addresses."""

import pytest

from jobferry.localkube.apiserver.validation import cidrs


@pytest.mark.parametrize(
    "text", ["", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "fd00::/129", "x/8"]
)
def test_what_is_no_range_is_complained_about(text: str) -> None:
    assert len(list(cidrs.cidr_problems("f", text))) == 1


def test_two_families_are_told_apart() -> None:
    assert cidrs.are_dual(["10.0.0.0/8", "fd00::/64"])
    assert not cidrs.are_dual(["10.0.0.0/8", "10.0.0.0/9"])
