import pytest

from jobferry.cli.main import main
from jobferry.dispatch import manifests


@pytest.mark.parametrize("name", manifests.NAMES)
def test_manifests_are_printed_and_nothing_else(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manifests", name]) == 0

    shown = capsys.readouterr()
    assert (shown.out, shown.err) == (manifests.text(name), "")


def test_help_explains_each_set_of_manifests(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["manifests", "--help"])

    lines = capsys.readouterr().out.splitlines()
    for name in manifests.NAMES:
        assert any(line.startswith(f"  {name} ") for line in lines)


def test_the_rights_on_a_worker_can_be_had_for_some_namespaces(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["manifests", "worker", "--namespaces", "ml,vision"]) == 0

    assert capsys.readouterr().out == manifests.text("worker", ["ml", "vision"])


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["worker", "--namespaces", ""], "--namespaces: '' is not the name of a namespace"),
        (["worker", "--namespaces", "a,B"], "--namespaces: 'B' is not the name of a namespace"),
        (["hub", "--namespaces", "a"], "--namespaces is for worker"),
    ],
)
def test_namespaces_that_make_no_sense_are_refused(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manifests", *arguments]) == 2

    assert problem in capsys.readouterr().err
