"""The audit log never stands in the way of an answer."""

import errno
import io
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.resources import CONFIG_MAPS
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.requests.call import Call
from jobferry.localkube.apiserver.requests.target import Target
from jobferry.localkube.apiserver.server import Settings, serve
from jobferry.localkube.apiserver.serving.app import IN_PROCESS
from jobferry.localkube.apiserver.serving.audit import Audit
from jobferry.localkube.in_process import ADMIN
from jobferry.testing.clock import ManualClock

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class SmallDisk(io.RawIOBase):
    """A file on a disk with room for so many bytes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.content = b""

    def write(self, data: Any) -> int:
        taken = bytes(data)[: self.room]
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.content += taken
        self.room -= len(taken)
        return len(taken)


def write(audit: Audit, number: str) -> None:
    call = Call("GET", {}, {}, b"", Target("get", "/api"), User("ann"))
    audit.write(call, number, "/api", 200, NOW)


def numbers(content: bytes) -> list[str]:
    """Read the lines that are whole."""
    found = []
    for line in content.splitlines():
        try:
            found.append(orjson.loads(line)["auditID"])
        except orjson.JSONDecodeError:
            found.append("torn")
    return found


def test_what_broke_off_spoils_no_other_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    disk = SmallDisk(room=10_000)
    audit = Audit(disk, ManualClock())
    write(audit, "1")
    disk.room = 50
    for number in ("2", "3"):
        write(audit, number)
    disk.room = 10_000
    for number in ("4", "5"):
        write(audit, number)

    assert numbers(disk.content) == ["1", "torn", "4", "5"]
    assert [each.getMessage() for each in caplog.records] == [
        "The audit log cannot be written",
        "The audit log is written again",
    ]


def test_who_takes_nothing_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    class Full(io.RawIOBase):
        def write(self, _data: Any) -> None:
            return None

    write(Audit(Full(), ManualClock()), "1")
    assert len(caplog.records) == 1


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no full disk to try"
)
async def test_a_full_disk_changes_no_answer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    settings = Settings(folder=tmp_path, in_memory=True, audit_log=Path("/dev/full"))
    async with serve(settings, clock) as server:
        transport = InProcessTransport(server.app, clock, {IN_PROCESS: ADMIN})
        async with Client(transport, name="it", clock=clock) as client:
            for name in ("a", "b"):
                meta = {"name": name, "namespace": "default"}
                made = await client.create(CONFIG_MAPS, {"metadata": meta})
                assert await client.get(CONFIG_MAPS, name, "default") == made
    assert [each.getMessage() for each in caplog.records] == ["The audit log cannot be written"]
