"""Go's regular expressions, on Python's engine."""

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
    ],
)
def test_a_pattern_finds_what_go_finds(pattern: str, text: str, found: bool) -> None:
    assert (patterns.compiled(pattern).search(text) is not None) is found


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("a(", "missing closing ): `a(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a*+", "invalid nested repetition operator: `*+`"),
        ("*", "missing argument to repetition operator: `*`"),
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
