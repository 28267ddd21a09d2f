"""The command line as somebody uses it: a process, with a kubeconfig and a home of its own."""

import asyncio
import os
import signal
import sys
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import jobferry
from jobferry.local import contexts

SCRIPT = """#!{python}
import sys

sys.path.insert(0, {source!r})
from {module} import {function}

sys.exit({function}())
"""


def install(folder: Path) -> Path:
    """Make the programs that the wheel brings; return the folder to put on the PATH."""
    source = str(Path(jobferry.__file__).parents[1])
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    folder.mkdir()
    for name, entry in project["project"]["scripts"].items():
        module, function = entry.split(":")
        script = folder / name
        script.write_text(
            SCRIPT.format(
                python=sys.executable, source=source, module=module, function=function
            )
        )
        script.chmod(0o755)
    return folder


NOBODY = "nobody"
"""Somebody who may do nothing anywhere."""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of a command."""

    code: int
    out: str
    err: str


class Terminal:
    """Runs commands; `configs` are the kubeconfigs of its contexts, the first of which is current."""

    def __init__(self, folder: Path, configs: Mapping[str, str]) -> None:
        self.folder = folder
        self.kubeconfig = folder / "kubeconfig"
        if configs:
            contexts.write(self.kubeconfig, configs)
        self.environ = {
            **os.environ,
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder),
            "KUBECONFIG": str(self.kubeconfig) if configs else "",
        }

    async def run(self, *arguments: str, **environ: str) -> Ended:
        """Run a command to its end."""
        async with self.started(*arguments, **environ) as process:
            out, err = await process.communicate()
        assert process.returncode is not None
        return Ended(process.returncode, out.decode(), err.decode())

    async def out(self, *arguments: str, **environ: str) -> str:
        """Run a command that must end well; return what it prints."""
        ended = await self.run(*arguments, **environ)
        assert ended.code == 0, ended
        return ended.out

    async def refused(self, *arguments: str, code: int, **environ: str) -> str:
        """Run a command that must not end well, with a line and a hint at most; return those."""
        ended = await self.run(*arguments, **environ)
        assert ended.code == code, ended
        problem, *hint = ended.err.splitlines()
        assert problem.startswith("jobferry: "), ended
        assert len(hint) <= 1, ended
        assert all(line.startswith("hint: ") for line in hint), ended
        return ended.err

    @asynccontextmanager
    async def started(
        self, *arguments: str, **environ: str
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run a command during the block, as long as it lasts by itself."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "jobferry",
            *arguments,
            env={**self.environ, **environ},
            # What a shell runs in the background ignores Ctrl-C, and so does all that it starts.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def interrupted(self, process: asyncio.subprocess.Process) -> Ended:
        """Press Ctrl-C; return what is said from then on."""
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()
        assert process.returncode is not None
        return Ended(process.returncode, out.decode(), err.decode())
