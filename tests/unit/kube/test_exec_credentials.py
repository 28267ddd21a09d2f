import asyncio
import json
import os
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jobferry.errors import Transient
from jobferry.kube import exec_credentials
from jobferry.kube.exec_credentials import ExecCredentials
from jobferry.kube.exec_plugin import Plugin
from jobferry.testing.clock import ManualClock

V1 = "client.authentication.k8s.io/v1"

# Counts its runs in the file that it is given, then prints what it is given, the count put in.
COUNTING = """
import sys
with open(sys.argv[1], "a+") as runs:
    runs.write("x")
    print(sys.argv[2].replace("COUNT", str(runs.tell())))
"""


def credential(**status: Any) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status})


def script(text: str, *arguments: str) -> Plugin:
    return Plugin(
        place="config: users[name=ci].user.exec",
        command=sys.executable,
        arguments=("-c", text, *arguments),
        environ=os.environ,
        api_version=V1,
    )


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


Issuing = Callable[..., ExecCredentials]


@pytest.fixture
def issuing(clock: ManualClock, runs: Path) -> Issuing:
    """Make credentials of a plugin that counts its runs."""

    def made(**status: Any) -> ExecCredentials:
        return ExecCredentials(script(COUNTING, str(runs), credential(**status)), clock)

    return made


def count(runs: Path) -> int:
    return runs.stat().st_size if runs.exists() else 0


async def test_without_an_end_a_credential_is_kept(
    issuing: Issuing, runs: Path, clock: ManualClock
) -> None:
    credentials = issuing(token="abc")

    await credentials.identity()
    clock.advance(1e6)
    await credentials.identity()

    assert count(runs) == 1


@pytest.mark.parametrize(("lifetime", "kept"), [(3600, 3570), (60, 48)])
async def test_a_credential_is_kept_until_shortly_before_its_end(
    lifetime: int, kept: int, issuing: Issuing, runs: Path, clock: ManualClock
) -> None:
    end = (clock.now() + timedelta(seconds=lifetime)).isoformat()
    credentials = issuing(token="t-COUNT", expirationTimestamp=end)
    first = await credentials.identity()

    clock.advance(kept - 1)
    same = await credentials.identity()
    clock.advance(1)
    renewed = await credentials.identity()

    assert same is first
    assert renewed.authorization == "Bearer t-2"
    assert count(runs) == 2


async def test_many_who_ask_at_once_make_one_run(issuing: Issuing, runs: Path) -> None:
    credentials = issuing(token="abc")

    answers = await asyncio.gather(*(credentials.identity() for _ in range(50)))

    assert {who.authorization for who in answers} == {"Bearer abc"}
    assert count(runs) == 1


async def test_a_refused_credential_is_renewed_once_for_all_who_hold_it(
    issuing: Issuing, runs: Path
) -> None:
    credentials = issuing(token="t-COUNT")
    refused = await credentials.identity()

    assert all(credentials.reject(refused) for _ in range(50))
    answers = await asyncio.gather(*(credentials.identity() for _ in range(50)))

    assert {who.authorization for who in answers} == {"Bearer t-2"}
    assert count(runs) == 2


async def test_a_late_refusal_of_an_old_credential_leaves_the_new_one_alone(
    issuing: Issuing, runs: Path, clock: ManualClock
) -> None:
    credentials = issuing(token="t-COUNT")
    old = await credentials.identity()
    credentials.reject(old)
    new = await credentials.identity()
    clock.advance(exec_credentials.REFRESH_PAUSE)

    assert credentials.reject(old)
    assert await credentials.identity() is new
    assert count(runs) == 2


async def test_a_plugin_that_keeps_giving_what_is_refused_is_not_run_in_a_loop(
    issuing: Issuing, runs: Path, clock: ManualClock
) -> None:
    credentials = issuing(token="wrong")

    assert credentials.reject(await credentials.identity())
    assert not credentials.reject(await credentials.identity())
    assert count(runs) == 2

    clock.advance(exec_credentials.REFRESH_PAUSE)
    assert credentials.reject(await credentials.identity())


async def test_a_failure_answers_all_who_wait_and_then_it_is_tried_again(
    clock: ManualClock, runs: Path
) -> None:
    failing = script(f"{COUNTING}\nsys.exit(1)", str(runs), "")
    credentials = ExecCredentials(failing, clock)

    answers = await asyncio.gather(
        *(credentials.identity() for _ in range(20)), return_exceptions=True
    )
    assert all(isinstance(answer, Transient) for answer in answers)
    assert count(runs) == 1

    clock.advance(exec_credentials.FAILURE_STANDS)
    with pytest.raises(Transient):
        await credentials.identity()
    assert count(runs) == 2


async def test_one_who_gives_up_waiting_does_not_spoil_it_for_the_next(
    clock: ManualClock,
) -> None:
    runs: asyncio.Queue[asyncio.StreamWriter] = asyncio.Queue()
    async with await asyncio.start_server(
        lambda _, writer: runs.put_nowait(writer), "127.0.0.1", 0
    ) as server:
        address = server.sockets[0].getsockname()
        hanging = f"import socket; socket.create_connection({address!r}).recv(1)"
        answering = script(f"{hanging}; print({credential(token='abc')!r})")
        credentials = ExecCredentials(answering, clock)
        impatient = asyncio.create_task(credentials.identity())
        patient = asyncio.create_task(credentials.identity())
        first_run = await runs.get()

        impatient.cancel()
        with pytest.raises(asyncio.CancelledError):
            await impatient
        second_run = await runs.get()
        second_run.close()

        assert (await patient).authorization == "Bearer abc"
        first_run.close()
