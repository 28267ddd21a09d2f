"""What is asked of `python -m jobferry.testing.simulation` and makes no sense is one line, not a traceback."""

from pathlib import Path

import pytest

from jobferry.testing.simulation import __main__ as command


def test_a_history_that_is_not_there_or_is_none_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = tmp_path / "none.txt"
    for text, said in ((None, "No such file"), ("", "is no history"), ("x", "is no history")):
        if text is not None:
            none.write_text(text)
        with pytest.raises(SystemExit, match="2"):
            command.main(["--history", str(none)])
        assert said in capsys.readouterr().err
