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
