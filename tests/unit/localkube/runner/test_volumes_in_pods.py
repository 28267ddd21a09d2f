"""Volumes and credentials as containers find them."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from jobferry.kube.resources import CONFIG_MAPS, SECRETS
from jobferry.localkube.runner import namespaces
from jobferry.objects import Obj
from tests.unit.localkube.runner.world import World, ended, shell

mounts = pytest.mark.skipif(not namespaces.can_mount(), reason="needs the right to mount")


def mounted(path: str, script: str, volume: Obj, **mount: Any) -> Obj:
    """Return a pod with one volume."""
    mounts = [{"name": "v", "mountPath": path, **mount}]
    return shell(
        "pod", script, container={"volumeMounts": mounts}, volumes=[{"name": "v", **volume}]
    )


async def config_map(world: World, **data: str) -> None:
    meta = {"name": "map", "namespace": "default"}
    await world.client.create(CONFIG_MAPS, {"metadata": meta, "data": data})


async def secret(world: World, **data: str) -> None:
    meta = {"name": "hidden", "namespace": "default"}
    packed = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    await world.client.create(SECRETS, {"metadata": meta, "data": packed})


@mounts
async def test_a_config_map_appears_at_a_path_that_the_machine_does_not_have(
    node: World,
) -> None:
    await config_map(node, greeting="hello")
    script = "cat /no-such-folder/x/greeting; ls /no-such-folder/x; echo >/no-such-folder/x/y"

    status = await node.run(
        mounted("/no-such-folder/x", script, {"configMap": {"name": "map"}})
    )

    assert await node.log("pod") == (
        "hellogreeting\nsh: 1: cannot create /no-such-folder/x/y: Read-only file system\n"
    )
    assert ended(status)["exitCode"] == 2
    assert "no-such-folder" not in os.listdir("/")


@mounts
async def test_an_empty_dir_is_shared_by_the_containers_of_a_pod(node: World) -> None:
    pod = mounted("/data", "cat /data/x", {"emptyDir": {}})
    first = {
        "name": "first",
        "image": "any",
        "command": ["sh", "-c", "echo from first > /other/x"],
        "volumeMounts": [{"name": "v", "mountPath": "/other"}],
    }
    pod["spec"]["initContainers"] = [first]

    await node.run(pod)

    assert await node.log("pod") == "from first\n"


@mounts
async def test_a_host_path_is_that_of_the_machine(node: World, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    volume = {"hostPath": {"path": str(tmp_path / "shared"), "type": "Directory"}}

    await node.run(mounted("/mnt/deep/er", "echo made > /mnt/deep/er/file", volume))

    assert (tmp_path / "shared" / "file").read_text() == "made\n"


@mounts
async def test_secrets_and_fields_are_projected_with_their_modes(node: World) -> None:
    await secret(node, password="x")
    sources = [
        {
            "secret": {
                "name": "hidden",
                "items": [{"key": "password", "path": "a/p", "mode": 256}],
            }
        },
        {
            "downwardAPI": {
                "items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]
            }
        },
    ]
    script = "cd /etc/given && cat name a/p && ls -l a/p | sed 's/ .*//'"

    await node.run(mounted("/etc/given", script, {"projected": {"sources": sources}}))

    assert await node.log("pod") == "podx-r--------\n"


@mounts
async def test_a_sub_path_is_mounted_alone(node: World) -> None:
    await config_map(node, one="1", two="2")
    volume = {"configMap": {"name": "map"}}

    await node.run(mounted("/etc/just-one", "cat /etc/just-one", volume, subPath="one"))

    assert await node.log("pod") == "1"


@mounts
async def test_a_sub_path_that_leads_out_of_its_volume_is_refused(node: World) -> None:
    pod = mounted("/data", "ls /data", {"emptyDir": {}}, subPath="x/etc")
    pod["spec"]["initContainers"] = [
        {
            "name": "evil",
            "image": "any",
            "command": ["ln", "-s", "/", "/v/x"],
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        }
    ]
    await node.create(pod)

    def is_refused(pod: Obj) -> bool:
        states = [each["state"] for each in pod["status"].get("containerStatuses") or ()]
        return any(
            "leads out of its volume" in state.get("waiting", {}).get("message", "")
            for state in states
        )

    await node.until("pod", is_refused)
    await node.delete("pod")


async def test_a_pod_waits_for_a_config_map_that_is_not_there_yet(node: World) -> None:
    env = [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "map", "key": "a"}}},
        {
            "name": "B",
            "valueFrom": {"secretKeyRef": {"name": "no", "key": "b", "optional": True}},
        },
    ]
    await node.create(shell("pod", "echo $A", container={"env": env}))

    def waits(pod: Obj) -> bool:
        states = pod["status"].get("containerStatuses") or [{"state": {}}]
        waiting: Obj = states[0]["state"].get("waiting", {})
        return waiting.get("message") == 'configmap "map" not found'

    await node.until("pod", waits)
    await config_map(node, a="found")
    await node.until_over("pod")

    assert await node.log("pod") == "found\n"


async def test_last_words_are_in_the_status(node: World) -> None:
    status = await node.run(shell("pod", "echo -n because > /dev/termination-log; exit 1"))

    assert ended(status)["message"] == "because"


async def test_the_end_of_the_log_may_stand_for_last_words(node: World) -> None:
    policy = {"terminationMessagePolicy": "FallbackToLogsOnError"}
    status = await node.run(shell("pod", "echo oh no; exit 1", container=policy))

    assert ended(status)["message"] == "oh no\n"


async def test_without_mounts_paths_are_rewritten(cluster: World) -> None:
    await config_map(cluster, greeting="hello")
    async with cluster.runner(private_mounts=False):
        script = "cat /no-such-folder/greeting; echo -n bye > /dev/termination-log"
        volume = {"configMap": {"name": "map"}}
        status = await cluster.run(mounted("/no-such-folder", script, volume))

        assert await cluster.log("pod") == "hello"
        assert ended(status)["message"] == "bye"


@pytest.mark.parametrize(
    "volume",
    [
        {"hostPath": {"path": "/no/such/folder/file", "type": "FileOrCreate"}},
        {"hostPath": {"path": "/a\0b"}},
        {"configMap": {"name": "map", "items": [{"key": "one", "path": "p" * 300}]}},
        {"configMap": {"name": "map", "items": [{"key": "one", "path": "p/" * 3000 + "p"}]}},
    ],
    ids=["no parent", "zero byte", "long", "deep"],
)
async def test_a_volume_that_cannot_be_made_is_told(node: World, volume: Obj) -> None:
    await config_map(node, one="1")
    await node.create(mounted("/data", "true", volume))

    def is_told(pod: Obj) -> bool:
        states = pod["status"].get("containerStatuses") or [{}]
        waiting = states[0].get("state", {}).get("waiting") or {}
        return "MountVolume.SetUp failed" in waiting.get("message", "")

    await node.until("pod", is_told)
