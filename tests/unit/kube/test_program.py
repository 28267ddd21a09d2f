import asyncio
import os
import signal
import sys

import pytest

from jobferry.clock import SystemClock
from jobferry.kube import program


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
        "subprocess.Popen(['sh', '-c', 'sleep 0.2; echo last words >&2'], stdout=-3)\n"
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
        "import subprocess\n"
        "print(subprocess.Popen(['sleep', '60'], stdout=subprocess.DEVNULL).pid)"
    )

    assert finished.status == 0
    os.kill(int(finished.printed), signal.SIGKILL)


async def test_cancelled_it_takes_its_children_with_it() -> None:
    lines: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    async with await asyncio.start_server(
        lambda *line: lines.put_nowait(line), "127.0.0.1", 0
    ) as server:
        port = server.sockets[0].getsockname()[1]
        task = asyncio.create_task(
            run(
                "import os, socket, subprocess\n"
                f"line = socket.create_connection(('127.0.0.1', {port}))\n"
                "os.set_inheritable(line.fileno(), True)\n"
                "child = subprocess.Popen(['sleep', '60'], close_fds=False)\n"
                "line.send(b'started')\n"
                "child.wait()"
            )
        )
        reader, writer = await lines.get()
        await reader.readexactly(len("started"))

        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        # Only when parent and child are both gone does the connection end.
        assert await reader.read() == b""
        writer.close()
