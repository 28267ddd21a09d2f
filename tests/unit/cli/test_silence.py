"""What is said where no dispatcher runs."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from jobferry.cli import silence
from jobferry.cli.hub import Hub
from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.objects import Obj
from tests.unit.cli.hub_objects import NOW, at

STALE = {"spec": {"renewTime": at(-600), "leaseDurationSeconds": 15}}
FRESH = {"spec": {"renewTime": at(-5), "leaseDurationSeconds": 15}}


def hub(answer: Obj | Exception) -> Hub:
    """A hub whose Lease is this, or that fails."""

    async def get(*_: object) -> Obj:
        if isinstance(answer, Exception):
            raise answer
        return answer

    client = SimpleNamespace(get=get, clock=SimpleNamespace(now=lambda: NOW))
    return cast("Hub", SimpleNamespace(client=client))


def test_a_lease_that_is_not_renewed_is_one_line_beside_the_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert asyncio.run(silence.warn(hub(STALE)))

    said = "No dispatcher seems to run: its Lease was last renewed 10m ago.\n"
    assert capsys.readouterr() == ("", said)


@pytest.mark.parametrize(
    "answer", [FRESH, {}, errors.NotFound("x"), errors.Forbidden("x"), Error("x")]
)
def test_else_nothing_is_said(
    answer: Obj | Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not asyncio.run(silence.warn(hub(answer)))

    assert capsys.readouterr() == ("", "")
