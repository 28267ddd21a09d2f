"""Warnings fit into headers."""

from jobferry.localkube.apiserver.serving import warnings


def test_a_warning_is_quoted() -> None:
    assert list(warnings.lines(['a "b" \\  c'])) == [b'299 - "a \\"b\\" \\\\  c"']


def test_what_cannot_be_in_a_header_is_left_out() -> None:
    assert list(warnings.lines(["a\nb", "", "c"])) == [b'299 - "c"']


def test_many_warnings_are_cut() -> None:
    found = list(warnings.lines([f"{number:03}" + "x" * 997 for number in range(100)]))

    assert len(found) == warnings.TOTAL // warnings.EACH
    assert all(len(line) == warnings.EACH + len('299 - ""') for line in found)
