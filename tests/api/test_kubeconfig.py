"""Kubeconfigs read by us and by kubectl: both must agree."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from jobferry.clock import SystemClock
from jobferry.errors import BadInput
from jobferry.kube import kubeconfig
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane

pytestmark = pytest.mark.kube


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def kubectl(*arguments: str, environ: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    command = [str(assets.need("kubectl")), *arguments]
    return subprocess.run(command, env=environ, capture_output=True, check=False)


def several_files(plane: ControlPlane, folder: Path) -> dict[str, str]:
    """Write kubeconfigs that share names, and name files of their own folders; return where they are."""
    for name in ("one", "two"):
        (folder / name).mkdir()
        pair = plane.certificate(name)
        write(folder / name / "tls.crt", pair.certificate)
        write(folder / name / "tls.key", pair.key)
        write(folder / name / "ca.crt", plane.access().server.ca or b"")
        user = {"client-certificate": "tls.crt", "client-key": "../" + name + "/tls.key"}
        server = {"server": f"{plane.url}/{name}", "certificate-authority": "ca.crt"}
        content = {
            "clusters": [{"name": n, "cluster": server} for n in ("shared", name)],
            "users": [{"name": n, "user": user} for n in ("shared", name)],
            "contexts": [
                {
                    "name": name,
                    "context": {"cluster": "shared", "user": name, "namespace": name},
                },
                {"name": "shared", "context": {"cluster": name, "user": "shared"}},
            ],
            "current-context": "" if name == "one" else "two",
        }
        write(folder / name / "config", yaml.safe_dump(content))
    write(folder / "empty", "")
    write(folder / "last", json.dumps({"current-context": "one", "contexts": None}))
    files = [folder / name for name in ("empty", "one/config", "no", "two/config", "last")]
    return os.environ | {"KUBECONFIG": os.pathsep.join(map(str, files))}


async def test_kubectl_merges_a_list_of_files_in_the_same_way(
    plane: ControlPlane, tmp_path: Path
) -> None:
    environ = several_files(plane, tmp_path)
    clock = SystemClock()

    ours = kubeconfig.from_environment(environ)
    view = kubectl("config", "view", "--raw", "--flatten", "-o", "json", environ=environ)
    theirs = kubeconfig.from_bytes(view.stdout, "kubectl")

    assert ours.current_context == theirs.current_context == "two"
    assert set(ours.contexts) == set(theirs.contexts) == {"shared", "one", "two"}
    for name in ours.contexts:
        mine, other = ours.access(name, clock=clock), theirs.access(name, clock=clock)
        assert (mine.server, mine.namespace) == (other.server, other.namespace)
        assert await mine.credentials.identity() == await other.credentials.identity()


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "text",
        "current-context: 12",
        "current-context: yes",
        "clusters: {a: {server: x}}",
        "clusters: [{name: a}, {name: a}]",
        "kind: List",
        "apiVersion: v2",
        "a: b: c",
        "current-context: '\ufffe\ud83d",
    ],
)
def test_what_kubectl_cannot_read_we_refuse(content: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    write(file, content.encode("utf-8", "surrogatepass"))
    environ = {"KUBECONFIG": str(file)}

    assert kubectl("config", "view", environ=environ).returncode == 1
    with pytest.raises(BadInput):
        kubeconfig.from_environment(environ)


@pytest.mark.parametrize(
    "content",
    [
        "",
        " \n# nothing\n",
        "null",
        "clusters: null\nusers:\ncontexts: [null, {name: x, context: null}]\n",
        "current-context: a\ncurrent-context: b\n",
        "current-context: a\n---\ncurrent-context: b\n",
        "current-context: 2020-01-01",
        '{\n\t"current-context":\t"a"\n}',
        "\ufeffcurrent-context: a",
        "unknown: {key: 1}\nCurrent-Context: a\n",
    ],
)
def test_what_kubectl_can_read_we_read_in_the_same_way(content: str, tmp_path: Path) -> None:
    environ = {"KUBECONFIG": write(tmp_path / "config", content)}

    view = kubectl("config", "view", "--raw", "-o", "json", environ=environ)

    expected = json.loads(view.stdout)
    found = kubeconfig.from_environment(environ)
    assert found.current_context == expected["current-context"]
    assert set(found.contexts) == {entry["name"] for entry in expected["contexts"] or ()}
