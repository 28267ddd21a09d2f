"""Go's regular expressions, on Python's engine."""

import subprocess
import sys

import pytest

from jobferry.localkube.apiserver.crds import patterns


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("^a$", "a\n", False),
        ("^(?i)[a-z]+$", "ABC", True),
        ("x(?i)a|b", "B", True),
        ("a|(?i)b", "A", False),
        (r"^\d+$", "٣", False),
        (r"^\w+$", "ä", False),
        (r"^\s$", "\v", False),
        (r"^\pL+$", "äß", True),
        (r"^\PL+$", "12", True),
        ("^[[:alpha:]_]+$", "a_b", True),
        ("^[[:^alpha:]]+$", "12", True),
        (r"^[^\W]+$", "a_1", True),
        (r"^[\d-]+$", "1-2", True),
        (r"^\Qa.b\E+$", "a.ba.b", True),
        (r"^\x{41}\x42\103$", "ABC", True),
        ("^(?:a|b){2,3}$", "abab", False),
        ("^(?P<one>a)(?<two>b)$", "ab", True),
        ("(?s)^.$", "\n", True),
        ("(?U)^a+$", "aaa", True),
        ("(?m)^b$", "a\nb", True),
        (r"\bfoo\b", "a foo b", True),
        ("(?m)^a$", "a\nb", True),
        ("(?m:^)a$", "a\nb", False),
        (r"^\B$", "", True),
        (r"(a|b)+\b", "xäb", True),
        ("^(a?){3}$", "aaaa", False),
        ("(?i:(a|B)+)c", "Abc", True),
    ],
)
def test_a_pattern_finds_what_go_finds(pattern: str, text: str, found: bool) -> None:
    assert patterns.compiled(pattern).found_in(text) is found


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("a(", "missing closing ): `a(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a*+", "invalid nested repetition operator: `*+`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a|{2}", "missing argument to repetition operator: `{2}`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("(?P<n>a)(?P<n>b)", "duplicate capture group name: `n`"),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(pattern: str, words: str) -> None:
    assert patterns.problem(pattern) == f"error parsing regexp: {words}"


def test_what_python_cannot_say_is_refused_honestly() -> None:
    assert "this server cannot evaluate" in str(patterns.problem(r"\p{Greek}"))


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("(?:ab|a)(?:c|bcd)?", "abcd a ab", ["abc", "a", "ab"]),
        ("(a+|b)*?c|b", "abc b", ["abc", "b"]),
        ("(?:(?:x|y)?)*", "axy", ["", "xy"]),
        ("(?:a|b)+?", "ab", ["a", "b"]),
    ],
)
def test_the_best_matches_are_found_from_left_to_right(
    pattern: str, text: str, found: list[str]
) -> None:
    assert list(patterns.compiled(pattern).all_in(text)) == found


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|a)*$", "^(a?a?)*$", "a*a*a*a*a*b", "^(?:a*)*b", ".*.*.*="]
)
def test_a_hostile_pattern_takes_no_longer_than_its_text(pattern: str) -> None:
    assert not patterns.compiled(pattern).found_in("a" * 20_000 + "!")


def test_a_pattern_that_repeats_too_much_is_refused() -> None:
    assert "it repeats too much" in str(patterns.problem("(" + "(a|bc)" * 60 + "){900}"))


OTHER_PYTHON = """
import re, sys
from jobferry.localkube.apiserver.crds import patterns
del re._parser
sys.modules["re._parser"] = None
assert "cannot evaluate the regular expression: not known with Python" in patterns.problem("a+")
assert "missing closing" in patterns.problem("(a")
"""


def test_a_python_with_other_private_parts_refuses_patterns() -> None:
    subprocess.run([sys.executable, "-c", OTHER_PYTHON], check=True)
