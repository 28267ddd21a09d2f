"""`make kube`, with a stand-in for Go that is quick and does as it is told."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobferry.testing import assets

GET = Path(__file__).parents[3] / "tools/kube/get.py"

# Builds shell scripts that print a version, and "downloads" what `install_go` has laid out.
# Notes what it was asked for in calls.txt; reads from mood.txt what is to go wrong.
GO = """#!/bin/sh
here=${0%/*}
read -r mood < $here/mood.txt
echo "$@" >> $here/calls.txt
case $mood-$1 in
old-env) echo go1.20.3; echo local ;;
*-env) echo go1.99.0; echo local ;;
offline-*) echo "dial tcp: lookup registry: no such host" >&2; exit 1 ;;
*-build)
    while [ "$1" != -o ]; do shift; done
    printf '#!/bin/sh\\necho v1.2.3\\n' > $2
    if [ $mood = broken ]; then echo "no space left on device" >&2; exit 1; fi
    chmod +x $2 ;;
*-mod) cat $here/modules/${4%@*}/answer.json ;;
esac
"""
CRD = "kind: CustomResourceDefinition\nmetadata: {name: things}\nspec: {a: 1}\n"
WEBHOOKS = "kind: Secret\n---\nkind: MutatingWebhookConfiguration\nmetadata: {name: fills-in}\n"


@dataclass
class Machine:
    """A computer with a cache folder, and with Go or without."""

    folder: Path

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    def install_go(self, mood: str = "good") -> None:
        (self.folder / "go").write_text(GO)
        (self.folder / "go").chmod(0o755)
        (self.folder / "mood.txt").write_text(mood + "\n")
        for project in tomllib.loads(GET.with_name("projects.toml").read_text()).values():
            module = self.folder / "modules" / project["module"]
            for what, content in (("crds", CRD), ("webhooks", WEBHOOKS)):
                for pattern in project.get(what, ()):
                    file = module / pattern.replace("[!m]", "").replace("*", "things")
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(content)
            told = "h1:bad" if mood == "forged" else project["sum"]
            answer = json.dumps({"Dir": str(module), "Sum": told})
            (module / "answer.json").write_text(answer)

    def calls(self) -> list[str]:
        """What Go was asked to build or download since the last look."""
        file = self.folder / "calls.txt"
        calls = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [call for call in calls if not call.startswith("env")]

    def get(self, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
        settings = {
            "PATH": f"{self.folder}:/bin:/usr/bin",
            "HOME": os.environ["HOME"],
            "JOBFERRY_KUBE_CACHE": str(self.cache),
            **variables,
        }
        return subprocess.run(
            [sys.executable, GET, *options],
            env=settings,
            capture_output=True,
            text=True,
            check=False,
        )

    def get_all(self) -> None:
        """Get everything, and forget what Go was asked for."""
        result = self.get()
        assert result.returncode == 0, result.stderr
        self.calls()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def program(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\necho v1.30.1\n")
    path.chmod(0o755)


def test_everything_is_got_and_a_second_time_nothing(machine: Machine) -> None:
    machine.install_go()

    first = machine.get()
    built = machine.calls()
    second = machine.get()

    assert first.returncode == 0, first.stderr
    assert "[1/23] etcd 1.35.8 … " in first.stdout
    assert "a first build takes minutes" in first.stdout
    assert len(built) == 24
    assert machine.calls() == []
    assert second.stdout == f"All 23 are in {machine.cache}.\n"


def test_what_was_got_is_found(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.install_go()
    machine.get_all()
    monkeypatch.setenv("JOBFERRY_KUBE_CACHE", str(machine.cache))

    assert assets.missing(assets.CURRENT) == assets.missing(assets.OLDEST) == ()
    assert assets.crds("jobset")[0]["metadata"]["name"] == "things"
    assert [each["metadata"]["name"] for each in assets.webhooks("jobset")] == ["fills-in"]


def test_other_versions_come_on_request_only(machine: Machine) -> None:
    machine.install_go()
    machine.get_all()

    more = machine.get("--skew")

    assert more.returncode == 0, more.stderr
    built = [call for call in machine.calls() if "cmd/kube-apiserver" in call]
    assert len(built) == len(assets.SKEW)
    assert all(
        f"gitVersion=v{version}" in call
        for version, call in zip(assets.SKEW, built, strict=True)
    )


def test_the_operator_of_a_project_comes_on_request_only(machine: Machine) -> None:
    machine.install_go()

    assert machine.get("--operator", "tekton").returncode == 0

    built = [path.name for path in (machine.cache / "operators/tekton").glob("[!.]*")]
    assert sorted(built) == ["tekton-controller", "tekton-webhook"]


def test_all_operators_that_tests_run_come_together(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.install_go()

    assert machine.get("--operators").returncode == 0

    monkeypatch.setenv("JOBFERRY_KUBE_CACHE", str(machine.cache))
    assert all(map(assets.has_operator, assets.OPERATORS))


def test_an_unknown_operator_is_refused_with_those_there_are(machine: Machine) -> None:
    refused = machine.get("--operator", "nonesuch")

    assert refused.returncode == 1
    assert "'nonesuch'" in refused.stderr
    assert "jobset" in refused.stderr


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b"half a program"),
        lambda path: path.with_name(".kubectl.stamp").write_text("made from something else"),
    ],
    ids=["gone", "damaged", "other-pins"],
)
def test_what_is_not_as_it_should_be_is_made_again(
    machine: Machine, spoil: Callable[[Path], object]
) -> None:
    machine.install_go()
    machine.get_all()

    spoil(machine.cache / "1.35.8/kubectl")
    machine.get()

    assert [call.rsplit("/", 1)[-1] for call in machine.calls()] == ["kubectl"]


def test_a_failed_build_leaves_no_program_and_shows_the_end_of_what_go_said(
    machine: Machine,
) -> None:
    machine.install_go("broken")

    failed = machine.get()

    assert failed.returncode == 1
    assert "no space left on device" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert list((machine.cache / "1.35.8").iterdir()) == []


@pytest.mark.parametrize(
    ("mood", "message"),
    [
        ("offline", "the Go module registry cannot be reached"),
        ("old", "needs Go 1.25.0 or newer, but"),
    ],
)
def test_what_is_wrong_with_go_is_said(machine: Machine, mood: str, message: str) -> None:
    machine.install_go(mood)

    failed = machine.get()

    assert failed.returncode == 1
    assert message in failed.stderr
    assert "Traceback" not in failed.stderr


def test_without_go_it_is_said_what_to_do(machine: Machine) -> None:
    failed = machine.get(PATH=str(machine.folder))

    assert failed.returncode == 1
    assert "Go is not installed" in failed.stderr
    assert "KUBEBUILDER_ASSETS" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_module_that_is_not_the_pinned_one_is_refused(machine: Machine) -> None:
    machine.install_go("forged")

    failed = machine.get()

    assert failed.returncode == 1
    assert "has the hash h1:bad" in failed.stderr
    assert not (machine.cache / "crds/appwrapper").exists()


def test_kubebuilder_assets_save_building_the_current_version(machine: Machine) -> None:
    machine.install_go()
    ours = machine.folder / "assets"
    for name in assets.PROGRAMS[assets.CURRENT]:
        program(ours / name)

    used = machine.get(KUBEBUILDER_ASSETS=str(ours))

    assert f"Using Kubernetes 1.30.1 in {ours}" in used.stdout
    assert (machine.cache / "1.35.8/etcd").resolve() == ours / "etcd"
    assert not [call for call in machine.calls() if "gitVersion=v1.35.8" in call]


def test_without_go_kubebuilder_assets_are_used_all_the_same(machine: Machine) -> None:
    ours = machine.folder / "assets"
    for name in assets.PROGRAMS[assets.CURRENT]:
        program(ours / name)

    failed = machine.get(KUBEBUILDER_ASSETS=str(ours), PATH="/bin:/usr/bin")

    assert failed.returncode == 1
    assert (machine.cache / "1.35.8/kube-apiserver").resolve() == ours / "kube-apiserver"


def test_incomplete_kubebuilder_assets_are_not_used(machine: Machine) -> None:
    machine.install_go()
    for name in ("etcd", "kube-apiserver", "kubectl"):
        program(machine.folder / "assets" / name)

    used = machine.get(KUBEBUILDER_ASSETS=str(machine.folder / "assets"))

    assert "lacks kube-controller-manager, kube-scheduler" in used.stdout
    assert not (machine.cache / "1.35.8/etcd").is_symlink()


def test_kubebuilder_assets_that_are_our_own_cache_are_no_harm(machine: Machine) -> None:
    machine.install_go()
    machine.get_all()

    again = machine.get(KUBEBUILDER_ASSETS=str(machine.cache / "1.35.8"))

    assert again.returncode == 0
    assert machine.calls() == []
