import pytest

from jobferry.errors import BadInput
from jobferry.kube import command
from jobferry.kube.command import Command


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("aws", Command("aws")),
        ("/opt/my\\ plugin 'a b'", Command("/opt/my plugin", ("a b",))),
        ("B=2 A= aws x=1", Command("aws", ("x=1",), (("A", ""), ("B", "2")))),
        ("aws --name *", Command("aws", ("--name", "*"))),
    ],
)
def test_a_command_line_is_written_as_for_a_shell(line: str, expected: Command) -> None:
    assert command.parse(line) == expected


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "must name its program"),
        ("A=1", "must name its program"),
        ("a* x", "must name its program"),
        ("''", "must name its program"),
        ("aws 'x", "not a command line: No closing quotation"),
        ("aws --*=*", "one \\* in an argument"),
        ("A=** aws", "one \\* in an argument"),
    ],
)
def test_what_is_none_is_refused(line: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        command.parse(line)


@pytest.mark.parametrize("name", ["east", "East_1", "a.b-c", "0"])
def test_a_star_stands_for_a_name(name: str) -> None:
    assert command.parse("aws --name * --in=*.io").takes(["--name", name, f"--in={name}.io"])


@pytest.mark.parametrize(
    "text",
    ["", "-x", "--profile=admin", "a b", "a/b", "../a", "file://x", "@x", "a\n", "$x", "ö"],
)
def test_a_star_stands_for_nothing_else(text: str) -> None:
    assert not command.parse("aws *").takes([text])
    assert not command.parse("A=* aws").has({"A": text})


def test_nothing_is_added_left_out_or_moved() -> None:
    given = command.parse("A=1 B=2 aws x y")

    assert given.takes(["x", "y"])
    assert given.has({"B": "2", "A": "1"})
    for arguments in ([], ["x"], ["y", "x"], ["x", "y", "z"], ["X", "y"]):
        assert not given.takes(arguments)
    for variables in ({}, {"A": "1"}, {"A": "1", "B": "1"}, {"A": "1", "B": "2", "C": "3"}):
        assert not given.has(variables)
