"""docs/up.md does what it says of a JobSet: its real operator runs beside a worker of `jobferry up`."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobferry.testing import assets
from tests.system.alone.test_up import up
from tests.system.terminal import install

pytestmark = [pytest.mark.kube, pytest.mark.operator("jobset"), pytest.mark.timeout(180)]

PAGE = Path(__file__).parents[3] / "docs" / "up.md"


def block(of: str, part: str) -> str:
    """Return the block of the page that has a part."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (only,) = [text for language, text in found if language == of and part in text]
    return str(only)


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Somebody whose home has a fleet that runs, and what `make kube` got."""
    (tmp_path / ".cache" / "jobferry").mkdir(parents=True)
    (tmp_path / ".cache" / "jobferry" / "kube").symlink_to(assets.cache())
    path = (str(install(tmp_path / "bin")), str(assets.need("kubectl").parent))
    with up(tmp_path / ".local" / "state" / "jobferry") as fleet:
        yield {
            **{key: each for key, each in os.environ.items() if not key.startswith("XDG_")},
            "PATH": os.pathsep.join((*path, os.environ["PATH"])),
            "HOME": str(tmp_path),
            "KUBECONFIG": str(fleet.layout.kubeconfig),
        }


@contextmanager
def running(script: str, environ: dict[str, str]) -> Iterator[None]:
    """Run what ends in a program that stays, during the block."""
    process = subprocess.Popen(["bash", "-e", "-c", script], env=environ, cwd=environ["HOME"])
    try:
        yield
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_job_set_runs_as_it_says(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "greet.yaml").write_text(block("yaml", "kind: JobSet"))
    # Whoever types has the CRD on both by the time of the next command.
    crd = "kubectl --context worker-1 wait crd/jobsets.jobset.x-k8s.io --timeout=60s --for"
    script = f"{crd}=create\n{crd}=condition=Established\n{block('', 'greet.yaml')}"

    with running(block("", "operators/jobset"), environ):
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            env=environ,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.returncode == 0, done
    for part in ("greet has ended: Complete", "worker-1", "hello from greet-workers-1-0"):
        assert part in done.stdout
    assert "greet is cancelled" in done.stdout
