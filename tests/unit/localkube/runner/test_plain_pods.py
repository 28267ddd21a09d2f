"""Pods run as processes: start, exit codes, logs, environment, end."""

import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.kube.resources import LEASES, NODES, PODS
from jobferry.localkube.apiserver.nodes import LogOptions
from jobferry.localkube.runner import journal, machines
from jobferry.localkube.runner.journal import Start
from jobferry.objects import Obj
from tests.unit.localkube.runner.world import (
    WAIT,
    Gate,
    World,
    ended,
    is_gone,
    is_running,
    pod,
    shell,
    until_ended,
)


async def test_a_pod_that_ends_well_has_succeeded(node: World) -> None:
    status = await node.run(pod("good", "ls"))

    assert status["phase"] == "Succeeded"
    assert ended(status)["exitCode"] == 0
    assert ended(status)["reason"] == "Completed"


async def test_a_pod_that_ends_badly_has_failed_with_its_exit_code(node: World) -> None:
    status = await node.run(shell("bad", "exit 42"))

    assert status["phase"] == "Failed"
    assert ended(status)["exitCode"] == 42
    assert ended(status)["reason"] == "Error"


async def test_a_process_that_is_killed_by_a_signal_says_so(node: World) -> None:
    status = await node.run(shell("killed", "kill -9 $$$$"))

    assert ended(status)["exitCode"] == 137
    assert await node.log("killed") == ""


async def test_what_a_container_writes_is_its_log(node: World) -> None:
    await node.run(shell("talks", "echo one; echo two >&2"))

    assert await node.log("talks") == "one\ntwo\n"
    assert await node.log("talks", tail_lines=1) == "two\n"


async def test_lines_have_times(node: World) -> None:
    status = await node.run(shell("talks", "echo one; echo two"))

    lines = (await node.log("talks", timestamps=True)).splitlines()

    assert [line.split(" ", 1)[1] for line in lines] == ["one", "two"]
    assert all(line[:16] == ended(status)["finishedAt"][:16] for line in lines)


async def test_a_log_is_followed_until_its_container_ends(node: World, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    await node.create(shell("talks", f"echo first; read line < {gate}; echo $line"))
    await node.until("talks", is_running)
    with gate.open() as write:
        write("second\n")

        assert await node.log("talks", follow=True) == "first\nsecond\n"


async def test_a_pod_has_its_own_environment_and_nothing_of_ours(
    node: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "x")
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)2 $(C) $$(A)"},
        {"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    await node.run(pod("env", "env", container={"env": env}))

    lines = dict(line.split("=", 1) for line in (await node.log("env")).splitlines())

    assert lines["A"] == "1"
    assert lines["B"] == "12 $(C) $(A)"
    assert lines["ME"] == "env"
    assert lines["PATH"] == os.environ["PATH"]
    assert lines["KUBERNETES_SERVICE_HOST"] == "127.0.0.1"
    assert "SECRET_OF_OURS" not in lines


async def test_what_is_no_variable_of_a_shell_is_in_the_environment_too(node: World) -> None:
    names = ["my.key", "1st", "-x", "with space", "plain"]
    env = [{"name": name, "value": f"{name}!"} for name in names]
    await node.run(pod("odd", "env", container={"env": env}))

    lines = (await node.log("odd")).splitlines()

    assert {f"{name}={name}!" for name in names} <= {*lines}


async def test_arguments_may_refer_to_the_environment(node: World) -> None:
    container = {"args": ["$(A)", "$$(A)"], "env": [{"name": "A", "value": "x y"}]}
    await node.run(pod("args", "sh", "-c", 'printf "%s|" "$@"', "sh", container=container))

    assert await node.log("args") == "x y|$(A)|"


async def test_a_command_that_does_not_exist_is_named(node: World) -> None:
    status = await node.run(pod("typo", "no-such-program"))

    assert status["phase"] == "Failed"
    assert ended(status)["exitCode"] == 127
    assert ended(status)["reason"] == "StartError"
    assert ended(status)["message"] == (
        'exec: "no-such-program": executable file not found in $PATH'
    )
    assert await node.log("typo") == ""


async def test_a_deleted_pod_is_asked_to_end_and_goes(node: World) -> None:
    script = "trap 'echo bye; exit 0' TERM; echo ready; tail -f /dev/null & wait"
    created = await node.create(shell("stops", script))
    await node.until("stops", is_running)

    await node.delete("stops")
    await node.until_gone("stops")

    assert not (node.folder / "pods" / created["metadata"]["uid"]).exists()


@pytest.mark.parametrize(
    "image", ["pause", "example.org:5000/pause:3.10.1", "any/pause:3@sha256:0"]
)
async def test_the_image_called_pause_needs_no_command(node: World, image: str) -> None:
    waits = pod("waits", container={"image": image, "command": []})
    waits["metadata"]["finalizers"] = ["example.org/look-at-it"]
    await node.create(waits)
    await node.until("waits", is_running)

    await node.delete("waits")

    # A shell that is asked to end before it has read what to do ends as others do.
    assert ended(await node.until_over("waits"))["exitCode"] in {0, 128 + signal.SIGTERM}


async def test_the_images_that_are_a_shell_run_one(node: World) -> None:
    status = await node.run(pod("shell", container={"image": "busybox:1", "command": []}))

    assert status["phase"] == "Succeeded"  # there is nobody to give it commands


async def test_other_images_need_a_command(node: World) -> None:
    status = await node.run(pod("empty", container={"image": "pausex", "command": []}))

    assert ended(status)["exitCode"] == 127
    assert ended(status)["message"].startswith("no command specified: ")


async def test_a_process_that_ignores_sigterm_is_killed(node: World, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    script = f"trap '' TERM; echo $$$$ > {gate}; {WAIT}"
    await node.create(shell("stubborn", script))
    pid = int(await gate.read())

    await node.delete("stubborn", grace=1)
    await node.until_gone("stubborn")

    assert is_gone(pid)


async def test_a_pod_that_is_removed_at_once_is_killed_at_once(
    node: World, tmp_path: Path
) -> None:
    gate = Gate(tmp_path)
    await node.create(shell("forced", f"echo $$$$ > {gate}; {WAIT}"))
    pid = int(await gate.read())
    # A status that is written just now would be the write by which the API server removes it.
    await node.until("forced", is_running)

    await node.delete("forced", grace=0)

    await until_ended(pid)


async def test_a_node_is_registered_and_kept_alive(node: World) -> None:
    made = await node.client.get(NODES, "here")
    lease = await node.client.get(LEASES, "here", "kube-node-lease")

    assert made["status"]["capacity"]["cpu"] == str(os.cpu_count())
    assert made["metadata"]["labels"]["kubernetes.io/hostname"] == "here"
    assert lease["spec"]["holderIdentity"] == "here"


async def test_a_folder_has_one_runner_at_a_time(node: World) -> None:
    with pytest.raises(BadInput, match="another runner is at work here"):
        async with node.runner():
            pass


async def test_a_pod_that_was_deleted_while_nobody_looked_is_ended(
    cluster: World, tmp_path: Path
) -> None:
    gate = Gate(tmp_path)
    async with cluster.runner():
        await cluster.create(shell("pod", f"echo $$$$ > {gate}; {WAIT}"))
        pid = int(await gate.read())
        await cluster.until("pod", is_running)
    assert not is_gone(pid)
    await cluster.delete("pod", grace=0)

    async with cluster.runner():
        await until_ended(pid)


async def recorded(cluster: World, name: str) -> Path:
    """Be a runner that is killed once it has written down that it starts a pod; returns the folder of the run."""
    uid: str = (await cluster.create(pod(name, "ls")))["metadata"]["uid"]
    run = cluster.folder / "pods" / uid / "main.0"
    run.mkdir(parents=True)
    boot = machines.look(cluster.folder, private_mounts=False).boot
    with journal.opened(cluster.folder / "starts", lambda _: True) as starts:
        await starts.record(Start(uid, "main", 0, datetime(2026, 1, 1, tzinfo=UTC), boot))
    return run


async def test_what_was_written_down_but_never_begun_is_started(cluster: World) -> None:
    await recorded(cluster, "pod")

    async with cluster.runner():
        status = await cluster.until_over("pod")

    assert status["phase"] == "Succeeded"
    assert status["containerStatuses"][0]["restartCount"] == 0


async def test_what_may_have_begun_is_not_started_again(cluster: World) -> None:
    run = await recorded(cluster, "pod")
    (run / "record").touch()

    async with cluster.runner():
        status = await cluster.until_over("pod")

    assert ended(status)["exitCode"] == 137
    assert ended(status)["reason"] == "ContainerStatusUnknown"


async def test_what_could_not_be_started_is_not_tried_again_by_the_next_runner(
    cluster: World, tmp_path: Path
) -> None:
    gate, late = Gate(tmp_path), tmp_path / "late"
    made = shell("pod", f"read line < {gate}")
    command = [str(late), "x"]
    made["spec"]["containers"].append({"name": "typo", "image": "any", "command": command})
    async with cluster.runner():
        await cluster.create(made)
        await cluster.until("pod", is_running)
    late.write_text(f"#!/bin/sh\ntouch {tmp_path}/begun\n")
    late.chmod(0o755)

    with gate.open() as write:
        async with cluster.runner():
            write("end\n")
            status = await cluster.until_over("pod")

    assert ended(status, 1)["reason"] == "StartError"
    assert not (tmp_path / "begun").exists()


async def test_a_pod_is_killed_by_its_deadline(node: World) -> None:
    status = await node.run(shell("late", WAIT, activeDeadlineSeconds=1))

    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert ended(status)["exitCode"] == 143


async def test_the_log_of_the_run_before_can_be_read(node: World) -> None:
    pod = shell("again", "echo $$$$; exit 1", restartPolicy="Always")
    await node.create(pod)
    await node.until("again", lambda pod: _restarts(pod) == 1)
    connector = node.nodes.get("here")
    assert connector is not None
    current = await node.until("again", lambda pod: True)

    async with connector.logs(current, "main", LogOptions(previous=True)) as parts:
        before = b"".join([part async for part in parts]).decode()

    assert before != await node.log("again")
    await node.delete("again")


def _restarts(pod: Obj) -> int:
    statuses = pod["status"].get("containerStatuses") or [{"restartCount": 0}]
    count: int = statuses[0]["restartCount"]
    return count


async def test_a_word_that_no_process_can_be_given_is_told(node: World) -> None:
    status = await node.run(pod("zero", "ls", "a\0b"))

    assert status["phase"] == "Failed"
    assert ended(status)["exitCode"] == 128
    assert ended(status)["message"] == "cannot start ls: embedded null byte"


async def test_a_pod_with_all_the_time_in_the_world_can_be_deleted(node: World) -> None:
    forever = 2**63 - 1
    await node.create(shell("slow", WAIT, terminationGracePeriodSeconds=forever))
    await node.until("slow", is_running)

    await node.client.delete(PODS, "slow", "default")
    await node.until_gone("slow")
