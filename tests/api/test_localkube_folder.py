"""Folders, files and ports that localkube cannot use: it says so in a line, and ends."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from jobferry.clock import SystemClock
from jobferry.kube import kubeconfig
from jobferry.kube.client import connect
from jobferry.kube.resources import NAMESPACES
from jobferry.localkube.apiserver.server import Settings, serve
from jobferry.localkube.apiserver.storage import store
from tests.api import fuzz_server
from tests.api.fuzz_server import Ask, FuzzServer
from tests.unit.localkube.apiserver.storage.faulty_disk import FaultyDisk

CLOCK = SystemClock()
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
def running(folder: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    program = [sys.executable, "-m", "jobferry.localkube.apiserver"]
    command = [*program, f"--folder={folder}", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert b" is ready: " in process.stdout.readline()
        yield process
    finally:
        process.terminate()
        _, said = process.communicate(timeout=WITHIN)
    assert process.returncode == 0, said
    assert not said


def copied(used: Path, to: Path) -> Path:
    shutil.copytree(used, to)
    return to


def test_a_folder_that_is_in_use(used: Path) -> None:
    with running(used):
        assert "is in use" in refused(used)


def test_of_two_that_begin_in_a_new_folder_one_has_it(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "jobferry.localkube.apiserver", f"--folder={tmp_path}"]
    both = [
        subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    # The one that is refused ends; the other is ready, and ends when it is told.
    ready = [each for each in both if each.stdout and each.stdout.readline()]
    for each in ready:
        each.terminate()
    said = sorted(each.communicate(timeout=WITHIN)[1] for each in both)
    assert len(ready) == 1
    assert said[0] == ""
    assert f"error: {tmp_path}: is in use" in said[1]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_what_makes_keys_stays_out_of_the_memory_of_the_server(tmp_path: Path) -> None:
    with running(tmp_path) as process:
        loaded = Path(f"/proc/{process.pid}/maps").read_text()
    assert "apsw" in loaded
    assert "cryptography" not in loaded


def test_a_folder_that_others_can_write_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    said = refused(tmp_path)
    assert f"error: {tmp_path}: others can write to it" in said
    assert f"chmod go-w {tmp_path}" in said


def test_given_keys_that_others_can_write(used: Path, tmp_path: Path) -> None:
    keys = copied(used, tmp_path / "keys")
    (keys / "ca.crt").chmod(0o666)
    assert "ca.crt: others can write to it" in refused(tmp_path / "folder", f"--keys={keys}")


def test_a_link_in_the_place_of_the_journal(used: Path, tmp_path: Path) -> None:
    folder = copied(used, tmp_path / "folder")
    journal = folder / "state.db-wal"
    journal.unlink(missing_ok=True)
    journal.symlink_to("elsewhere")
    assert f"{journal}: is a symbolic link" in refused(folder)


def test_a_kubeconfig_is_never_written_through_a_link(used: Path, tmp_path: Path) -> None:
    folder = copied(used, tmp_path / "folder")
    (tmp_path / "victim").write_text("theirs")
    (folder / "kubeconfig").unlink()
    (folder / "kubeconfig").symlink_to(tmp_path / "victim")
    assert "kubeconfig: is a symbolic link" in refused(folder)
    assert (tmp_path / "victim").read_text() == "theirs"


def test_secrets_that_others_could_read_are_taken_back(used: Path, tmp_path: Path) -> None:
    folder = copied(used, tmp_path / "folder")
    secrets = ("kubeconfig", "ca.key", "state.db")
    for name in secrets:
        (folder / name).chmod(0o644)
    with running(folder):
        assert {(folder / name).stat().st_mode & 0o777 for name in secrets} == {0o600}


def test_the_port_stays_from_one_start_to_the_next(tmp_path: Path) -> None:
    kubeconfigs = []
    for flags in ((), (), ("--port=0",)):
        with running(tmp_path, *flags):
            kubeconfigs.append((tmp_path / "kubeconfig").read_text())
    assert kubeconfigs[0] == kubeconfigs[1]
    assert kubeconfigs[1] != kubeconfigs[2]


def test_a_kept_port_that_somebody_else_has_by_now(used: Path) -> None:
    port = int((used / "port").read_text())
    with socket.create_server(("127.0.0.1", port)):
        said = refused(used)
    assert f"127.0.0.1:{port}: cannot listen: Address already in use" in said
    assert f"The server of {used} had this port before" in said
    assert "--port" in said


def test_admission_plugins_that_are_none(tmp_path: Path) -> None:
    said = refused(tmp_path, "--disable-admission-plugins=Priority,Escalation")
    assert "error: Escalation: no admission plugin" in said
    assert "NamespaceLifecycle, LimitRanger" in said


@pytest.mark.parametrize("host", ["127.0.0.2", "::1", "localhost"])
async def test_a_server_is_known_by_its_host(tmp_path: Path, host: str) -> None:
    try:
        socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        ).close()
    except OSError as error:
        pytest.skip(f"this machine has no {host}: {error.strerror}")
    async with serve(Settings(folder=tmp_path, in_memory=True, host=host), CLOCK) as server:
        found = kubeconfig.from_bytes(server.admin_kubeconfig().encode(), "it")
        access = found.access(clock=CLOCK)
        assert host in access.server.url
        async with connect(access, name="it", clock=CLOCK) as client:
            assert await client.get(NAMESPACES, "default")


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
    whole = store._sqlite
    monkeypatch.setattr(
        store, "_sqlite", lambda path, how, _, **more: whole(path, how, disk.name, **more)
    )
    settings = Settings(folder=tmp_path)
    async with serve(settings, CLOCK) as server:
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
