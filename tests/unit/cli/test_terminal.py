"""What is shown where: pictures only where they can move, more than ASCII only where it can be read."""

import io

import pytest

from jobferry.cli import sights, terminal
from jobferry.cli.scene import Scene
from jobferry.cli.terminal import Lines, Show


class Output(io.StringIO):
    encoding = "utf-8"

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "environ", "is_live"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {"TERM": "dumb"}, False),
        (True, {}, False),
        (False, {"TERM": "xterm"}, False),
    ],
)
def test_pictures_move_in_terminals(
    is_terminal: bool, environ: dict[str, str], is_live: bool
) -> None:
    assert terminal.is_live(Output(is_terminal=is_terminal), environ) == is_live


@pytest.mark.parametrize(
    ("environ", "is_unicode"),
    [
        ({"LANG": "en_GB.UTF-8"}, True),
        ({"LANG": "C.UTF-8"}, True),
        ({"LANG": "C", "LC_ALL": "de_DE.utf8"}, True),
        ({"LC_CTYPE": "en_GB.UTF-8"}, True),
        ({"LANG": "en_GB.UTF-8", "LC_CTYPE": "C.UTF-8"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),  # as Python makes it of LANG=C
        ({"LC_CTYPE": "C.UTF-8"}, False),
        ({"LANG": "en_GB.UTF-8", "LC_ALL": "C"}, False),
        ({"LANG": "de_DE.ISO-8859-1"}, False),
        ({}, False),
    ],
)
def test_more_than_ascii_where_the_locale_says_so(
    environ: dict[str, str], is_unicode: bool
) -> None:
    assert terminal.is_unicode(Output(is_terminal=True), environ) == is_unicode


async def test_who_waits_hears_that_nobody_reads_on() -> None:
    class Closed(Lines):
        def tell(self, words: str) -> None:
            raise BrokenPipeError

    show = Show(Scene(("east",), 2.0), Closed())
    show.tell(sights.Ready(at=1.0))

    with pytest.raises(BrokenPipeError):
        await show.until(lambda scene: scene.all_ended)
