import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects import gotext


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("plain, with spaces", '"plain, with spaces"'),
        ('"\\', r'"\"\\"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x7f", r'"\x00\x7f"'),
        ("é😀", '"é😀"'),
        ("\x80\u200b\U000e0001", r'"\u0080\u200b\U000e0001"'),
    ],
)
def test_text_is_quoted_as_go_quotes_it(text: str, quoted: str) -> None:
    assert gotext.quote(text) == quoted


@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 5000))
def test_every_64_bit_integer_is_read_with_any_number_of_leading_zeros(
    number: int, zeros: int
) -> None:
    sign = "-" if number < 0 else "+"

    assert gotext.parse_int(f"{sign}{'0' * zeros}{abs(number)}") == number


@pytest.mark.parametrize(
    "text",
    ["", "-", "1_0", " 1", "1 ", "1.0", "0x1", "٣", str(2**63), str(-(2**63) - 1), "9" * 5000],
)
def test_what_go_does_not_take_for_an_integer_is_none(text: str) -> None:
    assert gotext.parse_int(text) is None


def test_texts_are_quoted_byte_by_byte_where_go_does_so() -> None:
    assert gotext.quote_bytes('a"\\ä') == r'"a\"\\\xc3\xa4"'
