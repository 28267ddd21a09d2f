"""Programs that start, fail to start, and stop."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobferry.testing.component import Component, PortTaken, StartFailed, free_port

IDLE = f"exec {sys.executable} -ISc 'import signal; signal.pause()'"


@pytest.fixture
def component(tmp_path: Path) -> Iterator[Component]:
    component = Component("server", tmp_path / "server.log", os.getpgid(0))
    yield component
    component.kill()


def script(text: str) -> list[str]:
    return ["/bin/sh", "-c", text]


def never() -> bool:
    return False


def test_what_a_program_prints_is_in_its_log(component: Component) -> None:
    component.start(script(f"echo hello; echo trouble >&2; {IDLE}"))

    component.wait_until(lambda: "trouble" in component.log.read_text(), within=10)

    assert component.log.read_text() == "hello\ntrouble\n"


def test_a_program_that_ends_while_starting_is_reported_with_the_end_of_its_log(
    component: Component,
) -> None:
    count = "i=0; while [ $i != 100 ]; do i=$((i + 1)); echo line $i; done"
    component.start(script(f"{count}; exit 3"))

    with pytest.raises(StartFailed, match="server ended with code 3 while starting") as caught:
        component.wait_until(never, within=10)

    [tail] = caught.value.__notes__
    assert tail.splitlines()[0] == "line 71"
    assert tail.splitlines()[-1] == "line 100"


def test_a_program_that_takes_too_long_is_reported(component: Component) -> None:
    component.start(script(IDLE))

    with pytest.raises(StartFailed, match=r"not ready within 0\.05 s"):
        component.wait_until(never, within=0.05)


def test_a_taken_port_is_told_from_other_failures(component: Component) -> None:
    component.start(script("echo 'listen tcp: bind: address already in use'; exit 1"))

    with pytest.raises(PortTaken):
        component.wait_until(never, within=10)


def test_a_component_that_was_never_started_can_be_killed_but_not_frozen(
    component: Component,
) -> None:
    component.kill()

    with pytest.raises(StartFailed, match="never started"):
        component.freeze()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_frozen_program_stands_still_until_thawed(component: Component) -> None:
    component.start(script(IDLE))

    def state() -> str:
        return Path(f"/proc/{component.pid}/stat").read_text().rsplit(")")[1].split()[0]

    component.freeze()
    component.wait_until(lambda: state() == "T", within=10)
    component.thaw()
    component.wait_until(lambda: state() == "S", within=10)


def test_a_free_port_can_be_listened_on() -> None:
    port = free_port("127.0.0.1")

    with socket.create_server(("127.0.0.1", port)):
        assert port < 32768
        # Taken now: nobody is given it.
        with pytest.raises(OSError, match="in use"):
            socket.create_server(("127.0.0.1", port))


def test_a_killed_program_is_gone_at_once(component: Component) -> None:
    component.start(script(IDLE))
    pid = component.pid

    component.kill()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
