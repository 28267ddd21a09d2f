"""What images name."""

import shutil
import subprocess
from pathlib import Path

import pytest

from jobferry.localkube.runner import engines, image_options, namespaces
from jobferry.localkube.runner.backend import CannotStart
from jobferry.localkube.runner.images import Images
from jobferry.localkube.runner.mounts import Bind
from jobferry.objects import Obj
from tests.unit.localkube.runner.world import World, pod


async def test_a_pod_whose_image_is_unknown_says_how_to_map_it(cluster: World) -> None:
    def waits(pod: Obj) -> bool:
        statuses = pod["status"].get("containerStatuses") or [{"state": {}}]
        return bool(statuses[0]["state"].get("waiting", {}).get("reason") == "ImagePullBackOff")

    async with cluster.runner(images=Images()):
        await cluster.create(pod("pod", "true"))
        status = (await cluster.until("pod", waits))["status"]["containerStatuses"][0]

    assert "--images=any=host" in status["state"]["waiting"]["message"]
    assert status["restartCount"] == 0


async def test_a_virtual_environment_is_first_on_the_path(
    cluster: World, tmp_path: Path
) -> None:
    program = tmp_path / "venv" / "bin" / "greet"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho $VIRTUAL_ENV\n")
    program.chmod(0o755)
    async with cluster.runner(images=image_options.read([f"any=venv:{tmp_path}/venv"])):
        await cluster.run(pod("pod", "greet"))

        assert await cluster.log("pod") == f"{tmp_path}/venv\n"


@pytest.mark.skipif(not namespaces.can_mount(), reason="needs the right to mount")
async def test_a_directory_is_shown_as_the_root(cluster: World, tmp_path: Path) -> None:
    root = tmp_path / "image"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "hello").write_text("from the image\n")
    for program in ("sh", "cat"):
        _install(shutil.which(program) or program, root)
    async with cluster.runner(images=image_options.read([f"any=root:{root}"])):
        status = await cluster.run(pod("pod", "/bin/sh", "-c", "/bin/cat /etc/hello; echo /*"))

        assert status["phase"] == "Succeeded"
        assert (await cluster.log("pod")).startswith("from the image\n/bin /dev /etc")


def _install(program: str, root: Path) -> None:
    """Copy a program and the libraries that it needs."""
    asked = {"LD_TRACE_LOADED_OBJECTS": "1"}  # what ldd does, which not every machine has
    needed = subprocess.run([program], env=asked, stdout=subprocess.PIPE, text=True, check=True)
    for path in (word for word in needed.stdout.split() if word.startswith("/")):
        (root / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, root / path[1:])
    (root / "bin").mkdir(exist_ok=True)
    shutil.copy(program, root / "bin")


def test_the_command_line_of_an_engine() -> None:
    line = engines.run(
        "/usr/bin/podman",
        "name",
        "image:1",
        ["sh", "-c"],
        ["true"],
        env={"A": "b c"},
        binds=[Bind("/here", "/there", True)],
        directory="/work",
    )

    assert line == (
        "/usr/bin/podman",
        "run",
        "--rm",
        "--network=host",
        "--name=name",
        "--env=A=b c",
        "--volume=/here:/there:ro",
        "--workdir=/work",
        "--entrypoint=sh",
        "image:1",
        "-c",
        "true",
    )


async def test_an_engine_runs_a_container(cluster: World, tmp_path: Path) -> None:
    podman = tmp_path / "podman"
    podman.write_text('#!/bin/sh\n[ "$1" = run ] && for word; do echo "$word"; done; exit 5\n')
    podman.chmod(0o755)
    patch = pytest.MonkeyPatch()
    patch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    try:
        async with cluster.runner(images=image_options.read(["any=engine:real"])):
            status = await cluster.run(pod("pod", "greet"))
            log = (await cluster.log("pod")).splitlines()
    finally:
        patch.undo()

    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 5
    assert log[0] == "run"
    assert log[-2:] == ["--entrypoint=greet", "real"]


def test_a_machine_without_an_engine_says_so() -> None:
    with pytest.raises(CannotStart, match="none of podman, docker on the PATH"):
        engines.find("/nowhere")
