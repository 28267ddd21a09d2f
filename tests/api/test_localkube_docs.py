"""docs/localkube.md does what it says: its commands are run as they stand there."""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobferry.testing import assets

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

PAGE = Path(__file__).parents[2] / "docs" / "localkube.md"
FOLDER = "/tmp/local"


def commands(folder: Path) -> dict[str, list[list[str]]]:
    """Return the commands of the page by program, with a folder of our own."""
    fences = re.findall(r"^```\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    text = "".join(fences).replace("\\\n", " ").replace(FOLDER, str(folder))
    found: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        program, *arguments = shlex.split(line)
        found.setdefault(program, []).append(arguments)
    return found


@contextmanager
def running(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run a program during the block."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as program:
        try:
            yield program
        finally:
            program.terminate()


def test_the_page_leads_to_a_pod(tmp_path: Path) -> None:
    folder = tmp_path / "local"
    page = commands(folder)
    server, manager = page["python"][0], page["kube-controller-manager"][0]
    environ = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}

    def kubectl(*arguments: str) -> str:
        command = [str(assets.need("kubectl")), f"--cache-dir={os.devnull}", *arguments]
        ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        return ran.stdout

    with running([sys.executable, *server]) as localkube:
        assert localkube.stdout is not None
        assert f"export KUBECONFIG={folder}/kubeconfig" in localkube.stdout.readline()
        printed = [kubectl(*arguments) for arguments in page["kubectl"]]
        assert re.search(r"demo +hello +Running +0/1", printed[-1])

        with running([str(assets.need("kube-controller-manager")), *manager]):
            while "Pending" not in kubectl("get", "pods", "-n", "demo"):
                time.sleep(0.1)
