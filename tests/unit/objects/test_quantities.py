from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.errors import BadInput
from jobferry.objects import quantities
from jobferry.objects.quantities import MILLI, ZERO, BadQuantity, Format, OutOfRange, Quantity

FACTORS = {
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate(["n", "u", "m", ""], -3)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate("kMGTPE", 1)},
    **{f"{prefix}i": Fraction(1024) ** power for power, prefix in enumerate("KMGTPE", 1)},
    "e3": Fraction(1000),
    "E-4": Fraction(1, 10000),
    "e+0": Fraction(1),
}

numbers = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**20),
    st.from_regex(r"(\.[0-9]{0,12})?", fullmatch=True),
)
suffixes = st.sampled_from(list(FACTORS))
amounts = st.builds(
    Quantity, st.integers(-(10**20), 10**20), st.integers(-9, 18), st.sampled_from(Format)
)


def value(quantity: Quantity) -> Fraction:
    return Fraction(quantity.unscaled) * Fraction(10) ** quantity.scale


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("1500m", "1500m"),
        ("1.5", "1500m"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1000m", "1"),
        ("1000", "1k"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.1Gi", "107374182400m"),
        ("1023Ki", "1023Ki"),
        ("100e3", "100e3"),
        ("1e4", "10e3"),
        ("1e-1", "100e-3"),
        ("12E6", "12E6"),
        ("10e2", "1e3"),
        ("1000e-3", "1"),
        ("-2.5k", "-2500"),
        ("-4096Mi", "-4Gi"),
        ("123456789012345678901", "123456789012345678901"),
    ],
)
def test_a_quantity_prints_in_canonical_form(text: str, canonical: str) -> None:
    assert str(quantities.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.0000000001", "1000000001n"),
        ("1e-10", "1e-9"),
        ("1e-2000000000", "1e-9"),
        ("0.0000000001Ki", "103n"),
    ],
)
def test_what_is_finer_than_a_nano_is_rounded_away_from_zero(text: str, canonical: str) -> None:
    assert str(quantities.parse(text)) == canonical


@pytest.mark.parametrize("text", ["8Ei", "10Ei", "9223372036854775807.5Ki", f"{10**30}Mi"])
def test_binary_quantities_are_capped_at_the_largest_int64(text: str) -> None:
    assert str(quantities.parse(text)) == str(2**63 - 1)
    assert str(quantities.parse(f"-{text}")) == str(1 - 2**63)


@pytest.mark.parametrize(
    "text", ["1.500", "+1", "001", "1.234k", "1.", "007Ki", "1E+3", "1.Ki"]
)
def test_text_that_kubernetes_takes_for_canonical_is_repeated_as_written(text: str) -> None:
    assert str(quantities.parse(text)) == text


def test_text_is_not_repeated_once_the_amount_has_gone_through_arithmetic() -> None:
    assert str(quantities.parse("1.500") + ZERO) == "1500m"
    assert str(quantities.parse("1.500") * 1) == "1500m"


@pytest.mark.parametrize("text", ["1000E", "1000000000000000000000"])
def test_beyond_the_largest_suffix_the_print_is_as_wrong_as_that_of_kubernetes(
    text: str,
) -> None:
    quantity = quantities.parse(text)

    assert str(quantity) == "1"
    assert value(quantity) == 10**21


@pytest.mark.parametrize(
    "text", ["+", "-", ".", "Ki", "m", "e3", "-0", "0.000", "0Ki", "0e-10"]
)
def test_numbers_without_digits_are_zero_as_for_kubernetes(text: str) -> None:
    assert quantities.parse(text) == ZERO
    assert str(quantities.parse(text)) == "0"


@pytest.mark.parametrize(
    ("json_value", "canonical"),
    [
        (None, "0"),
        (0, "0"),
        (3, "3"),
        (-2000, "-2k"),
        (0.5, "500m"),
        (1e22, "10e21"),
        (" 2 ", "2"),
    ],
)
def test_a_quantity_may_be_any_json_value_that_api_servers_take(
    json_value: str | float | None, canonical: str
) -> None:
    assert str(quantities.parse(json_value)) == canonical


BAD_FORMAT = (
    "quantities must match the regular expression "
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
BAD_NUMBER = "unable to parse numeric part of quantity"
BAD_SUFFIX = "unable to parse quantity's suffix"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", BAD_FORMAT),
        (" ", BAD_FORMAT),
        ("1 Mi", BAD_FORMAT),
        ("1.1.1", BAD_FORMAT),
        ("1x", BAD_FORMAT),
        ("1é", BAD_FORMAT),
        ("٣", BAD_FORMAT),
        ("1\n", BAD_FORMAT),
        ("1kk", BAD_SUFFIX),
        ("1mi", BAD_SUFFIX),
        ("1iK", BAD_SUFFIX),
        ("1e", BAD_SUFFIX),
        ("1ee3", BAD_SUFFIX),
        ("1-5", BAD_SUFFIX),
        ("1Ki3", BAD_SUFFIX),
        ("1e99999999999999999999", BAD_SUFFIX),
        ("1e4294967296", BAD_SUFFIX),
        ("1e-4294967296", BAD_SUFFIX),
        ("Ei", BAD_NUMBER),
        (".Pi", BAD_NUMBER),
        ("-e-10", BAD_NUMBER),
        ("1" * 1001, BAD_NUMBER),
    ],
)
def test_bad_text_is_refused_in_the_words_of_kubernetes(text: str, reason: str) -> None:
    with pytest.raises(BadQuantity) as caught:
        quantities.parse(text)

    assert caught.value.reason == reason
    assert str(caught.value) == f"cannot parse '{text.strip(' ')}': {reason}"


@pytest.mark.parametrize("json_value", [True, float("nan"), float("inf")])
def test_json_values_that_are_no_numbers_are_refused(json_value: float) -> None:
    with pytest.raises(BadInput, match="quantities must match"):
        quantities.parse(json_value)


@given(numbers, suffixes)
def test_no_quantity_is_rounded_down_or_by_more_than_a_nano(number: str, suffix: str) -> None:
    quantity = quantities.parse(number + suffix)
    exact = Fraction(number) * FACTORS[suffix]

    if quantity.format is not Format.BINARY_SI or abs(exact) < 2**63 - 1:
        assert 0 <= abs(value(quantity)) - abs(exact) < Fraction(1, 10**9)
        assert value(quantity) * exact >= 0


@given(numbers, suffixes)
def test_canonical_text_reads_back_as_the_same_amount(number: str, suffix: str) -> None:
    quantity = quantities.parse(number + suffix)
    again = quantities.parse(str(quantity))

    if abs(value(quantity)) < 10**21 or quantity.format is not Format.DECIMAL_SI:
        assert again == quantity
        assert str(again) == str(quantity)


@given(amounts, amounts, st.integers(-(10**6), 10**6))
def test_arithmetic_and_order_are_exact(one: Quantity, other: Quantity, times: int) -> None:
    assert value(one + other) == value(one) + value(other)
    assert value(one - other) == value(one) - value(other)
    assert value(one * times) == value(one) * times
    assert (one < other) == (value(one) < value(other))
    assert (one >= other) == (value(one) >= value(other))
    assert (one == other) == (value(one) == value(other))
    assert bool(one) == (value(one) != 0)


@given(amounts, st.integers(-12, 3))
def test_rounding_goes_away_from_zero_by_less_than_one_step(one: Quantity, scale: int) -> None:
    step = Fraction(10) ** scale
    rounded = one.rounded_up(scale)

    assert 0 <= abs(value(rounded)) - abs(value(one)) < step
    assert one.scaled(scale) * step == value(rounded)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "1000m"), ("1Ki", "1024"), ("1e3", "1k"), ("0", "0Gi"), ("1.500", "1.5")],
)
def test_equal_amounts_are_equal_however_they_are_written(one: str, other: str) -> None:
    assert quantities.parse(one) == quantities.parse(other)
    assert hash(quantities.parse(one)) == hash(quantities.parse(other))


@pytest.mark.parametrize(
    ("one", "other", "total"),
    [
        ("1Gi", "512Mi", "1536Mi"),
        ("1Gi", "1", "1073741825"),
        ("1Gi", "1m", "1073741824001m"),
        ("1G", "1Gi", "2073741824"),
        ("0", "1Gi", "1Gi"),
        ("0Gi", "1500", "1500"),
        ("1e3", "1", "1001"),
        ("0.5Ki", "0.5Ki", "1Ki"),
        ("0.0001Ki", "1Mi", "1048576102400u"),
        ("512Pi", "1.5Ei", "2Ei"),
    ],
)
def test_a_sum_keeps_the_form_of_the_first_that_is_not_zero(
    one: str, other: str, total: str
) -> None:
    assert str(quantities.parse(one) + quantities.parse(other)) == total


def test_rounding_to_milli_keeps_the_text_where_nothing_is_lost() -> None:
    assert str(quantities.parse("1.500").rounded_up(MILLI)) == "1.500"
    assert str(quantities.parse("1.123400").rounded_up(MILLI)) == "1124m"


def test_sums_over_1024_exbi_lose_their_suffix_as_in_kubernetes() -> None:
    assert str(quantities.parse("4Ei") * 256) == "1"


def test_absurd_exponents_are_read_printed_and_compared_but_not_added() -> None:
    huge = quantities.parse("1e2000000000")

    assert str(huge) == "100e1999999998"
    assert quantities.parse("5") < huge < huge * 2
    assert huge + ZERO == huge
    with pytest.raises(OutOfRange, match="cannot compute with 100e1999999998"):
        huge + quantities.parse("1")
    with pytest.raises(OutOfRange):
        huge.scaled()
