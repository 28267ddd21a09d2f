"""Durations; what is expected was seen from Go's own time.ParseDuration."""

import pytest

from jobferry.objects import godurations

MICRO, MILLI, SECOND = 10**3, 10**6, 10**9
MINUTE, HOUR = 60 * SECOND, 3600 * SECOND


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0", 0),
        ("-0", 0),
        ("+0", 0),
        ("0s", 0),
        ("5s", 5 * SECOND),
        ("+5s", 5 * SECOND),
        ("-5s", -5 * SECOND),
        ("007s", 7 * SECOND),
        ("1ns", 1),
        ("11us", 11 * MICRO),
        ("12\u00b5s", 12 * MICRO),
        ("12\u03bcs", 12 * MICRO),
        ("13ms", 13 * MILLI),
        ("15m", 15 * MINUTE),
        ("16h", 16 * HOUR),
        ("1h30m", 90 * MINUTE),
        ("3m1h", HOUR + 3 * MINUTE),
        ("1h1h", 2 * HOUR),
        ("-2m3.4s", -(2 * MINUTE + 3400 * MILLI)),
        ("1.s", SECOND),
        (".5s", 500 * MILLI),
        ("-.5m", -30 * SECOND),
        ("10.5s4m", 4 * MINUTE + 10500 * MILLI),
        ("1.9ns", 1),
        ("-1.9ns", -1),
        ("2562047h47m16.854775807s", 2**63 - 1),
        ("9223372036854775807ns", 2**63 - 1),
        ("-9223372036854775808ns", -(2**63)),
        ("9007199254.740993s", 9007199254740993 * MICRO),  # more than a float can tell
    ],
)
def test_durations_are_so_many_nanoseconds(text: str, nanoseconds: int) -> None:
    assert godurations.parse(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("0.3333333333333333333h", 20 * MINUTE),
        ("-7.9999999999999999999h", -8 * HOUR),
        ("0.99999999999999999999ns", 1),
        ("0.830103483285477580700h", 49 * MINUTE + 48 * SECOND + 372539827),
        ("0.100000000000000000000h", 6 * MINUTE),
        ("0.9223372036854775809h", 3320413933267),
        (f"0.{'0' * 20}9h", 0),
        (f"0.{'0' * 400}1h", 0),
        (f"1.{'3' * 10_000}s", 1333333333),
    ],
)
def test_fractions_are_rounded_as_go_rounds_them(text: str, nanoseconds: int) -> None:
    assert godurations.parse(text) == nanoseconds


INVALID = (
    *("", "-", "+", "x", "-x", "s", ".", "-.", ".s", "+.s", "--1s", "\u00e9", "1h.s"),
    *("9223372036854775808ns", "-9223372036854775809ns", "9223372036854775.808us"),
    *("2562048h", "2562047h47m16.854775808s", "9223372036854775807ns1ns"),
    *("99999999999999999999", "9223372036854775809s", f"{'9' * 10_000}s"),
)


@pytest.mark.parametrize("text", INVALID)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(godurations.BadDuration) as caught:
        godurations.parse(text)

    said = text.replace("\u00e9", r"\xc3\xa9")
    assert str(caught.value) == f'invalid duration "{said}"'
    assert "90s" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1h30m", ""),
        ("0", ""),
        ("-1.5s", ""),
        ("2562047h47m", ""),
        ("x", 'invalid duration "x"'),
        ("1", 'missing unit in duration "1"'),
        ("-1.5", 'missing unit in duration "-1.5"'),
        ("1..5s", 'missing unit in duration "1..5s"'),
        ("3s4", 'missing unit in duration "3s4"'),
        ("1y", 'unknown unit "y" in duration "1y"'),
        ("1S", 'unknown unit "S" in duration "1S"'),
        ("1h 2m", 'unknown unit "h " in duration "1h 2m"'),
        ("1e3s", 'unknown unit "e" in duration "1e3s"'),
        ('1"s', r'unknown unit "\"s" in duration "1\"s"'),
        ("1\n", r'unknown unit "\x0a" in duration "1\x0a"'),
        ("1\u00b5", r'unknown unit "\xc2\xb5" in duration "1\xc2\xb5"'),
    ],
)
def test_a_problem_is_told_in_the_words_of_go(text: str, problem: str) -> None:
    assert godurations.problem(text) == problem
