"""The simulation has teeth: bugs that are planted on purpose are found; `make soak` plants all of them."""

import re

import pytest

from tests.simulation.planted import BUGS
from tests.simulation.teeth import MOST, PAGE, bite

QUICK = (
    "listener-breaks-informer",
    "same-status-again",
    "status-copied",
    "stale-mirrors-stay",
    "deposed-writes",
)
"""Some that are found at once."""

SOON = 10


@pytest.mark.parametrize("name", QUICK)
def test_a_planted_bug_is_found(name: str) -> None:
    assert bite(BUGS[name], SOON).histories


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", BUGS)
def test_every_planted_bug_is_found(name: str) -> None:
    assert bite(BUGS[name], MOST).histories


def test_the_page_tells_of_each_planted_bug_how_soon_it_is_found() -> None:
    rows = dict(re.findall(r"^\| \*\*(\S+)\*\*: .*? \| (\d+) \| `", PAGE.read_text(), re.M))

    assert rows.keys() == BUGS.keys()
    assert all(1 <= int(histories) <= MOST for histories in rows.values())
