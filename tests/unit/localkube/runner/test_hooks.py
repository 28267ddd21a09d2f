"""What a container wants done after its start and before its end."""

from pathlib import Path

from jobferry.objects import Obj
from tests.unit.localkube.runner.world import SLEEP, WAIT, Gate, World, ended, is_running, shell


def hook(*command: str) -> Obj:
    return {"exec": {"command": list(command)}}


async def test_a_hook_runs_before_the_end(node: World, tmp_path: Path) -> None:
    order, gate = tmp_path / "order", Gate(tmp_path)
    script = (
        f"trap 'echo asked >> {order}; exit 0' TERM; echo > {gate}; tail -f /dev/null & wait"
    )
    lifecycle = {"preStop": hook("sh", "-c", f"{SLEEP} 0.2; echo hook >> {order}")}
    await node.create(shell("pod", script, container={"lifecycle": lifecycle}))
    await gate.read()
    await node.until("pod", is_running)

    await node.delete("pod")
    await node.until_gone("pod")

    assert order.read_text() == "hook\nasked\n"


async def test_a_hook_runs_after_the_start(node: World, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    lifecycle = {"postStart": hook("sh", "-c", f"echo begun > {gate}")}
    await node.create(shell("pod", WAIT, container={"lifecycle": lifecycle}))

    assert await gate.read() == "begun\n"


async def test_a_container_whose_first_hook_fails_is_ended(node: World) -> None:
    lifecycle = {"postStart": hook("sh", "-c", "exit 1")}

    status = await node.run(shell("pod", WAIT, container={"lifecycle": lifecycle}))

    assert ended(status)["exitCode"] == 143
