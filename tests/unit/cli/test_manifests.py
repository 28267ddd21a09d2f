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


def test_the_rights_to_look_for_what_workloads_refer_to_can_be_had(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["manifests", "worker", "--references", "most"]) == 0
    most = capsys.readouterr().out
    assert main(["manifests", "worker", "--references", "Secret"]) == 0
    secret = capsys.readouterr().out

    assert "configmaps" in most
    assert "secrets" not in most
    assert "resources: [secrets]" in secret
    assert "pipelines" not in most


def test_what_kinds_refer_to_goes_with_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "hub", "--kinds", "PipelineRun"]) == 0
    hub = capsys.readouterr().out
    assert main(["manifests", "worker", "--kinds", "PipelineRun", "--references", "most"]) == 0
    worker = capsys.readouterr().out

    for each in ("pipelines", "tasks"):
        assert f"resources: [{each}]\n    verbs: [list, watch]" in hub
    for each in ("pipelines", "tasks", "stepactions"):
        assert f"resources: [{each}]\n    verbs: [get]" in worker


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["hub", "--references", "all"], "--references is for worker"),
        (["worker", "--references", "Boat"], "there is no kind 'Boat'"),
    ],
)
def test_references_that_make_no_sense_are_refused(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manifests", *arguments]) == 2

    assert problem in capsys.readouterr().err
