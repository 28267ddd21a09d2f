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
FOLDER = "~/localkube"


def commands(folder: Path) -> dict[str, list[list[str]]]:
    """Return the commands of the page by program, with a folder of our own."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    text = (
        "".join(text for language, text in fences if not language)
        .replace("\\\n", " ")
        .replace(FOLDER, str(folder))
    )
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


def kubectl(folder: Path, *arguments: str) -> str:
    """Run kubectl as somebody who has the kubeconfig of the page."""
    command = [str(assets.need("kubectl")), f"--cache-dir={os.devnull}", *arguments]
    environ = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}
    return subprocess.run(
        command, env=environ, capture_output=True, text=True, check=True
    ).stdout


def test_the_page_leads_to_a_job_that_ran(tmp_path: Path) -> None:
    folder = tmp_path / "local"
    page = commands(folder)

    with running([sys.executable, *page["python"][0]]) as localkube:
        assert localkube.stdout is not None
        assert f"export KUBECONFIG={folder}/kubeconfig" in localkube.stdout.readline()
        printed = [kubectl(folder, *arguments) for arguments in page["kubectl"]]

    assert printed[-1] == "hello\n"


def test_real_controllers_work_on_the_api_server_alone(tmp_path: Path) -> None:
    folder = tmp_path / "local"
    page = commands(folder)
    server = ["-m", "jobferry.localkube.apiserver", f"--folder={folder}"]
    manager = page["kube-controller-manager"][0]

    with running([sys.executable, *server]) as localkube:
        assert localkube.stdout is not None
        localkube.stdout.readline()
        for arguments in page["kubectl"][:2]:
            kubectl(folder, *arguments)
        with running([str(assets.need("kube-controller-manager")), *manager]):
            while "Pending" not in kubectl(folder, "get", "pods", "-n", "demo"):
                time.sleep(0.1)
