"""Folders, files and ports that localkube cannot use: it says so in a line, and ends."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import pytest

from jobferry.clock import SystemClock
from jobferry.localkube.apiserver.server import Settings, serve
from jobferry.localkube.apiserver.storage import store
from tests.api import fuzz_server
from tests.api.fuzz_server import Ask, FuzzServer
from tests.unit.localkube.apiserver.storage.faulty_disk import FaultyDisk

WITHIN = 60
JSON = (("Content-Type", "application/json"),)
MAPS = "/api/v1/namespaces/default/configmaps"


def refused(folder: Path, *more: str) -> str:
    """Run the program and return what it says when it ends."""
    command = [
        sys.executable,
        "-m",
        "jobferry.localkube.apiserver",
        f"--folder={folder}",
        *more,
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN, check=False)
    assert ended.returncode == 1
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    assert len(ended.stderr.splitlines()) <= 2
    return ended.stderr


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that a server has used."""
    folder = tmp_path_factory.mktemp("used") / "folder"
    with running(folder):
        pass
    return folder


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "jobferry.localkube.apiserver", f"--folder={folder}"]
    (folder / "kubeconfig").unlink(missing_ok=True)
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    try:
        while not (folder / "kubeconfig").exists():
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.05)
            assert process.returncode is None
        yield process
    finally:
        process.terminate()
        _, said = process.communicate(timeout=WITHIN)
    assert process.returncode == 0, said
    assert not said


def copied(used: Path, to: Path) -> Path:
    to.mkdir()
    for each in used.iterdir():
        (to / each.name).write_bytes(each.read_bytes())
    return to


def test_a_folder_that_is_in_use(used: Path) -> None:
    with running(used):
        assert "is in use" in refused(used)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert f"error: {tmp_path / 'file'}: cannot be used: File exists" in refused(
        tmp_path / "file"
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(used: Path, tmp_path: Path) -> None:
    folder = copied(used, tmp_path / "folder")
    for each in (*folder.iterdir(), folder):
        each.chmod(0o500)
    assert "error: " in refused(folder)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def scramble(path: Path) -> None:
    path.write_bytes(b"\xff" * 9000)


def foreign(path: Path) -> None:
    path.unlink()
    apsw.Connection(str(path)).execute("CREATE TABLE x (a)")


@pytest.mark.parametrize(
    ("damage", "words"),
    [(cut, "is damaged"), (scramble, "is not a database"), (foreign, "of another program")],
)
def test_a_database_that_cannot_be_used(
    used: Path, tmp_path: Path, damage: Callable[[Path], None], words: str
) -> None:
    folder = copied(used, tmp_path / "folder")
    damage(folder / "state.db")
    assert words in refused(folder)


@pytest.mark.parametrize("name", ["ca.crt", "server.crt", "server.key"])
def test_keys_that_cannot_be_used(used: Path, tmp_path: Path, name: str) -> None:
    folder = copied(used, tmp_path / "folder")
    (folder / name).write_text("x")
    assert "the keys cannot be used" in refused(folder)


def test_keys_that_are_not_there(tmp_path: Path) -> None:
    said = refused(tmp_path / "folder", f"--keys={tmp_path / 'none'}")
    assert "the keys cannot be used: No such file" in said


def test_an_audit_log_that_cannot_be_written(tmp_path: Path) -> None:
    assert "cannot be written" in refused(tmp_path / "folder", f"--audit-log={tmp_path}")


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        said = refused(tmp_path / "folder", f"--port={taken.getsockname()[1]}")
    assert "cannot listen: Address already in use" in said


def test_a_port_that_is_none(tmp_path: Path) -> None:
    assert "99999: ports are" in refused(tmp_path / "folder", "--port=99999")


async def test_a_full_disk_refuses_writes_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FaultyDisk()
    whole = store._journal
    monkeypatch.setattr(
        store, "_journal", lambda path, durability, _: whole(path, durability, disk.name)
    )
    settings = Settings(folder=tmp_path)
    async with serve(settings, SystemClock()) as server:
        fuzzed = FuzzServer(server, fuzz_server.Complaints())
        disk.is_full = True
        reply = await fuzzed.ask(Ask("POST", MAPS, b'{"metadata":{"name":"a"}}', JSON))
        assert reply.code >= 500
        assert reply.object()["kind"] == "Status"
        assert "full" in reply.object()["message"]
        assert (await fuzzed.ask(Ask("GET", f"{MAPS}/a"))).code == 404
        assert (await fuzzed.ask(Ask("GET", "/api/v1/namespaces"))).code == 200
        disk.is_full = False
        reply = await fuzzed.ask(Ask("POST", MAPS, b'{"metadata":{"name":"a"}}', JSON))
        assert reply.code == 201
