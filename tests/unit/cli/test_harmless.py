"""What others may write into objects and pods, and what commands make of it."""

import pytest

from jobferry.cli import log_lines, render
from jobferry.errors import BadInput
from jobferry.objects import Obj


def pod(index: str) -> Obj:
    notes = {"batch.kubernetes.io/job-completion-index": index}
    return {"metadata": {"name": "a", "creationTimestamp": "", "annotations": notes}}


@pytest.mark.parametrize("nonsense", ["9" * 5000, "", "-1", "x"])
def test_pods_with_an_index_that_nobody_can_read_come_first(nonsense: str) -> None:
    assert (
        log_lines.order(pod(nonsense)) < log_lines.order(pod("0")) < log_lines.order(pod("10"))
    )


def test_what_is_said_of_objects_of_others_does_nothing_to_a_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = "a\x1b]0;title\x07\x1b[2Jb"

    render.error(BadInput(f"its managedBy is {name}", hint=f"Is {name} meant?\nAsk them."))
    render.note(f"{name}: gone")

    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\x07" not in said
    assert "meant?\nAsk them." in said
