"""docs/commands.md does what it says: its commands are run as they stand there, on a fleet of `jobferry up`."""

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobferry.cli.main import COMMANDS
from jobferry.cli.workers import SUBCOMMANDS
from jobferry.clock import SystemClock
from jobferry.kube import kubeconfig
from jobferry.kube.client import connect
from jobferry.kube.resources import JOBS
from jobferry.local import contexts
from jobferry.local.layout import HUB
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane
from jobferry.workers.resource import WORKERS
from tests.system.alone.test_up import Up, job, up
from tests.system.jobs import ready
from tests.system.terminal import install
from tests.system.world import named, until_one

pytestmark = pytest.mark.timeout(120)

PAGE = Path(__file__).parents[3] / "docs" / "commands.md"


class Reader:
    """Somebody who has a fleet running, and nothing else."""

    def __init__(self, fleet: Up, folder: Path) -> None:
        self.fleet = fleet
        self.folder = folder
        path = os.pathsep.join([str(install(folder / "bin")), os.environ["PATH"]])
        self.environ = {
            **os.environ,
            "PATH": path,
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder),
        }
        self.environ.pop("KUBECONFIG", None)

    def shell(self, script: str, *, code: int = 0, **environ: str) -> str:
        """Run a script in bash; return what it prints."""
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            env={**self.environ, **environ},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done
        return done.stdout


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Start the fleet that the page asks for, in its usual place."""
    folder = tmp_path_factory.mktemp("reader")
    with up(folder / "jobferry") as fleet:
        yield Reader(fleet, folder)


def blocks() -> list[str]:
    """Return the commands of the page, a block at a time."""
    text = PAGE.read_text()
    return re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_every_command_is_on_the_page() -> None:
    text = PAGE.read_text()

    for name in COMMANDS:
        assert re.search(rf"`(jobferry )?{name}[ `\[]|jobferry {name}\b", text), name
    for name in SUBCOMMANDS:
        assert name == "list" or f"`workers {name} NAME" in text, name


def test_its_commands_do_what_they_say(reader: Reader) -> None:
    tried, *others = [block for block in blocks() if "--from-context" not in block]

    said = reader.shell(tried)

    for part in ("sweep is complete on worker-", "part 3\n", "made on the hub", "has ended on"):
        assert part in said
    assert "sweep is cancelled" in said
    for block in others:
        reader.shell(block)


async def test_a_cluster_is_added_as_it_says(reader: Reader) -> None:
    (add,) = [block for block in blocks() if "--from-context" in block]
    layout, clock = reader.fleet.layout, SystemClock()
    names = (HUB, "worker-1", "worker-2")
    configs = {name: (layout.cluster(name) / "kubeconfig").read_text() for name in names}
    async with ControlPlane(version=assets.LOCALKUBE) as east:
        config = reader.folder / "with-east"
        contexts.write(config, {**configs, "east": east.kubeconfig()})

        said = await asyncio.to_thread(reader.shell, add, KUBECONFIG=str(config))

        assert "Worker east is added" in said
        access = kubeconfig.from_file(config).access(clock=clock)
        async with connect(access, name=HUB, clock=clock) as hub:
            await until_one(hub, named(WORKERS, "east"), ready)
        assert "east" in await asyncio.to_thread(reader.shell, "jobferry workers")
        assert "removed" in await asyncio.to_thread(
            reader.shell, "jobferry workers remove east"
        )


def test_logs_are_followed_to_the_end_of_a_job(reader: Reader) -> None:
    # Pods have the PATH of the test: on a fresh machine there is little on it.
    script = (
        'import time; [(print(f"line {i}", flush=True), time.sleep(0.2)) for i in (1, 2, 3)]'
    )

    said = reader.shell(
        f"""
        jobferry submit --name talks -- python3 -c '{script}'
        jobferry wait talks --for running
        jobferry logs -f talks
        jobferry logs --tail 1 --timestamps talks
        """
    )

    lines = [line for line in said.splitlines() if "line" in line]
    assert lines[:3] == ["line 1", "line 2", "line 3"]
    assert re.fullmatch(r"\d{4}-.*Z line 3", lines[3])


async def test_logs_of_a_pod_with_several_containers_say_which_printed_what(
    reader: Reader,
) -> None:
    made = job("pair", "echo one")
    pod = made["spec"]["template"]["spec"]
    pod["containers"] += [{**pod["containers"][0], "name": "aside"}]
    async with reader.fleet.clients() as clients:
        await clients[HUB].create(JOBS, made, namespace="default")

    said = await asyncio.to_thread(
        reader.shell, "jobferry wait pair --for running; jobferry logs -f pair"
    )
    again = await asyncio.to_thread(reader.shell, "jobferry logs pair")

    lines = ["aside  one", "main  one"]
    assert sorted(said.splitlines()[1:]) == lines
    assert sorted(again.splitlines()) == lines


def test_logs_without_a_context_for_the_worker_say_what_to_do(reader: Reader) -> None:
    renamed = reader.folder / "renamed"
    contexts.write(
        renamed, {"other": (reader.fleet.layout.cluster(HUB) / "kubeconfig").read_text()}
    )

    reader.shell("jobferry submit --name quiet --wait -- sh -c 'exit 0'")
    done = reader.shell("jobferry logs quiet 2>&1", code=2, KUBECONFIG=str(renamed))

    assert "has no context of that name" in done
    assert "hint: Add a context worker-" in done


def test_a_cluster_that_is_no_hub_is_told(reader: Reader) -> None:
    worker = reader.fleet.layout.cluster("worker-1") / "kubeconfig"

    for command in ("workers", "top", "submit -- true"):
        said = reader.shell(f"jobferry {command} 2>&1", code=2, KUBECONFIG=str(worker))
        assert "this cluster is no hub" in said


def test_bash_completes_names_of_objects(reader: Reader) -> None:
    script = """
    source <(jobferry completion bash)
    complete() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _jobferry; echo "${COMPREPLY[*]}"; }
    complete jobferry workers drain w
    complete jobferry jobs --context wor
    complete jobferry wo
    """

    said = reader.shell(script)

    assert said.splitlines() == ["worker-1 worker-2", "worker-1 worker-2", "workers"]


@pytest.mark.kube
def test_it_is_a_plugin_of_kubectl(reader: Reader) -> None:
    kubectl = assets.need("kubectl")
    path = os.pathsep.join([str(kubectl.parent), reader.environ["PATH"]])
    config = str(reader.fleet.layout.kubeconfig)

    listed = reader.shell("kubectl ferry workers -o name", PATH=path, KUBECONFIG=config)
    helped = reader.shell("kubectl ferry jobs --help", PATH=path, KUBECONFIG=config)
    completed = reader.shell(
        "kubectl __complete ferry workers drain w", PATH=path, KUBECONFIG=config
    )

    assert listed == "worker.jobferry.io/worker-1\nworker.jobferry.io/worker-2\n"
    assert helped.startswith("usage: kubectl ferry jobs ")
    assert completed.split() == ["worker-1", "worker-2", ":4"]
