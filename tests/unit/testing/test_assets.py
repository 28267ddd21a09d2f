"""Where programs are looked for, and what is said when they are not there."""

import json
from pathlib import Path

import pytest

from jobferry.testing import assets


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JOBFERRY_KUBE_CACHE", str(tmp_path))
    return tmp_path


def put(cache: Path, version: str, program: str, mode: int = 0o755) -> Path:
    path = cache / version / program
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    path.chmod(mode)
    return path


def test_the_cache_is_where_the_desktop_standard_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOBFERRY_KUBE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")

    assert assets.cache() == Path("/somewhere/jobferry/kube")


def test_the_cache_is_in_the_home_folder_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOBFERRY_KUBE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    assert assets.cache() == Path.home() / ".cache/jobferry/kube"


def test_a_program_is_found_by_its_version(cache: Path) -> None:
    path = put(cache, "1.29.15", "kube-apiserver")

    assert assets.find("kube-apiserver", "1.29.15") == path
    assert assets.find("kube-apiserver", "1.35.8") is None


def test_a_file_that_cannot_be_run_is_no_program(cache: Path) -> None:
    put(cache, "1.35.8", "etcd", mode=0o644)

    assert assets.find("etcd") is None


def test_what_is_missing_of_a_version_is_listed(cache: Path) -> None:
    put(cache, "1.29.15", "kube-apiserver")

    assert assets.missing("1.29.15") == ("kube-controller-manager",)


@pytest.mark.parametrize(
    ("version", "command"), [("1.35.8", "make kube"), ("1.36.4", "make kube-skew")]
)
def test_who_needs_a_missing_program_is_told_how_to_get_it(
    cache: Path, version: str, command: str
) -> None:
    with pytest.raises(assets.Missing) as caught:
        assets.need("kube-apiserver", version)

    assert f"`{command}`" in str(caught.value.hint)


def test_crds_come_without_the_webhooks_that_do_not_run(cache: Path) -> None:
    definition = {"spec": {"group": "x", "conversion": {"strategy": "Webhook"}}}
    (cache / "crds/tekton").mkdir(parents=True)
    (cache / "crds/tekton/tasks.tekton.dev.json").write_text(json.dumps(definition))

    assert assets.crds("tekton") == [{"spec": {"group": "x"}}]


def test_missing_crds_name_the_command_that_gets_them(cache: Path) -> None:
    with pytest.raises(assets.Missing, match="jobset") as caught:
        assets.crds("jobset")

    assert caught.value.hint == "`make kube` gets them."
