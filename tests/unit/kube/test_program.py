import asyncio
import os
import signal
import socket
import sys

import pytest

from jobferry.clock import SystemClock
from jobferry.kube import program

IDLE = [sys.executable, "-ISc", "import signal; signal.pause()"]

WITH_CHILD = """
import os, socket, subprocess
line = socket.create_connection(('127.0.0.1', {port}))
os.set_inheritable(line.fileno(), True)
child = subprocess.Popen({idle}, close_fds=False)
line.send(b'started')
child.wait()
"""


async def run(script: str, **environ: str) -> program.Finished:
    command = (sys.executable, "-c", script)
    return await program.run(command, os.environ | environ, clock=SystemClock(), within=10)


async def test_a_program_ends_with_a_status_and_what_it_printed() -> None:
    finished = await run(
        "import os, sys; print(os.environ['A']); print('oh', file=sys.stderr)", A="b"
    )

    assert (finished.status, finished.printed) == (0, b"b\n")


async def test_of_many_complaints_the_last_are_kept() -> None:
    finished = await run("import sys; sys.exit('x' * 10_000 + 'last words')")

    assert finished.status == 1
    assert finished.complaints.endswith(b"last words\n")
    assert len(finished.complaints) <= 4096


async def test_a_program_that_fails_is_heard_out() -> None:
    finished = await run(
        "import subprocess, sys\n"
        "last = 'import sys, time; time.sleep(0.2); sys.exit(\"last words\")'\n"
        "subprocess.Popen([sys.executable, '-ISc', last], stdout=-3)\n"
        "sys.exit(1)"
    )

    assert finished.complaints == b"last words\n"


async def test_a_program_that_is_killed_has_a_negative_status() -> None:
    assert (await run("import os; os.kill(os.getpid(), 15)")).status == -15


async def test_a_program_that_is_not_there_cannot_start() -> None:
    with pytest.raises(FileNotFoundError):
        await program.run(("no-such-program",), {}, clock=SystemClock(), within=10)


async def test_a_program_reads_nothing() -> None:
    assert (await run("import sys; print(repr(sys.stdin.read()))")).printed == b"''\n"


async def test_a_program_that_prints_without_end_is_stopped() -> None:
    finished = await run("while True: print('x' * 10_000)")

    assert finished.status is None
    assert len(finished.printed) < 2 * program.MAX_OUTPUT


async def test_a_helper_left_behind_that_holds_standard_error_does_not_matter() -> None:
    finished = await run(
        f"import subprocess\nprint(subprocess.Popen({IDLE}, stdout=subprocess.DEVNULL).pid)"
    )

    assert finished.status == 0
    os.kill(int(finished.printed), signal.SIGKILL)


async def test_cancelled_it_takes_its_children_with_it() -> None:
    lines: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    async with await asyncio.start_server(
        lambda *line: lines.put_nowait(line), "127.0.0.1", 0
    ) as server:
        port = server.sockets[0].getsockname()[1]
        task = asyncio.create_task(run(WITH_CHILD.format(port=port, idle=IDLE)))
        reader, writer = await lines.get()
        await reader.readexactly(len("started"))

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        # Only when parent and child are both gone does the connection end.
        assert await reader.read() == b""
        writer.close()


async def test_cancelled_while_it_starts_it_takes_its_children_with_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        port = server.getsockname()[1]
        task = asyncio.create_task(run(WITH_CHILD.format(port=port, idle=IDLE)))
        for _ in range(3):
            await asyncio.sleep(0)
        # The loop stands still meanwhile: the program is there, but who started it has not heard of that.
        line, _ = server.accept()
        line.settimeout(10)
        assert line.recv(7, socket.MSG_WAITALL) == b"started"

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        with line:
            assert await asyncio.to_thread(line.recv, 1) == b""
