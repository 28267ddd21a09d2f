"""Names: which are right, and what is said of the others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.validation import names


@pytest.mark.parametrize(
    ("name", "label", "subdomain", "old_label"),
    [
        ("a", True, True, True),
        ("1-a", True, True, False),
        ("a.b", False, True, False),
        ("A", False, False, False),
        ("-a", False, False, False),
        ("a-", False, False, False),
        ("a..b", False, False, False),
        ("", False, False, False),
        ("a\n", False, False, False),
        ("a" * 63, True, True, True),
        ("a" * 64, False, True, False),
        ("a" * 254, False, False, False),
    ],
)
def test_names_of_hosts(name: str, label: bool, subdomain: bool, old_label: bool) -> None:
    assert (not names.label_problems(name)) is label
    assert (not names.subdomain_problems(name)) is subdomain
    assert (not names.old_label_problems(name)) is old_label


def test_dots_are_named() -> None:
    assert names.label_problems("a.b") == ("must not contain dots",)


def test_a_prefix_may_end_in_a_dash() -> None:
    assert not names.is_subdomain("a-", True)
    assert names.is_subdomain("a-", False)
    assert (
        names.is_label("A-", True) == ()
    )  # as upstream: the letter before the dash is not seen
    assert names.is_label("Ab-", True)


@pytest.mark.parametrize(
    ("name", "count"), [("a", 0), (".", 1), ("..", 1), ("a/b%c", 2), ("a b", 0)]
)
def test_every_name_fits_into_a_path(name: str, count: int) -> None:
    assert len(names.is_path_segment(name, False)) == count


@pytest.mark.parametrize(
    ("name", "count"),
    [("http", 0), ("", 2), ("Http", 1), ("80", 1), ("a--b", 1), ("-a", 1), ("a" * 16, 1)],
)
def test_names_of_ports(name: str, count: int) -> None:
    assert len(names.port_name_problems(name)) == count


@pytest.mark.parametrize(
    ("key", "count"),
    [("a.b_C-1", 0), ("a b", 1), (".", 1), ("..", 1), ("..a", 1), ("a" * 254, 1)],
)
def test_keys_of_config(key: str, count: int) -> None:
    assert len(names.config_key_problems(key)) == count


@pytest.mark.parametrize(("name", "count"), [("a b", 0), ("a=b", 1), ("é", 1), ("\x7f", 1)])
def test_names_of_variables(name: str, count: int) -> None:
    assert len(names.env_name_problems(name)) == count


@given(st.text(alphabet="aZ1-._é\n", max_size=70))
def test_every_label_is_a_subdomain(name: str) -> None:
    if not names.label_problems(name):
        assert not names.subdomain_problems(name)
        assert not names.loose_subdomain_problems(name)


def test_sizes_are_counted_in_bytes() -> None:
    assert names.size("é") == 2
