import builtins
import io
from dataclasses import replace

import pytest

from jobferry.cli import worker_add
from jobferry.cli.worker_add import Asked
from jobferry.errors import BadInput, Error
from jobferry.kube.access import Access, Server

ASKED = Asked(
    name="east", context="kind-east", access=Access(server=Server(url="https://east"))
)


class Person(io.StringIO):
    """Somebody at a terminal."""

    def isatty(self) -> bool:
        return True


def answering(monkeypatch: pytest.MonkeyPatch, answer: str | None) -> list[str]:
    asked: list[str] = []

    def ask(question: str) -> str:
        asked.append(question)
        if answer is None:
            raise EOFError
        return answer

    monkeypatch.setattr("sys.stdin", Person())
    monkeypatch.setattr(builtins, "input", ask)
    return asked


@pytest.mark.parametrize("answer", ["y", "Y", "yes", " yes "])
def test_who_agrees_goes_on(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    asked = answering(monkeypatch, answer)

    worker_add._agree(ASKED)

    assert "kind-east" in asked[0]


@pytest.mark.parametrize("answer", ["", "n", "no", "maybe", None])
def test_who_does_not_agree_has_nothing_made(
    monkeypatch: pytest.MonkeyPatch, answer: str | None
) -> None:
    answering(monkeypatch, answer)

    with pytest.raises(Error, match="nothing was made"):
        worker_add._agree(ASKED)


def test_a_name_that_is_not_the_context_is_warned_of() -> None:
    assert "called east, not kind-east" in worker_add.naming(ASKED)
    assert worker_add.naming(replace(ASKED, context="east")) == ""


def test_where_nobody_can_be_asked_it_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))

    with pytest.raises(BadInput) as caught:
        worker_add._agree(ASKED)

    assert caught.value.hint == "--yes makes it without asking."
