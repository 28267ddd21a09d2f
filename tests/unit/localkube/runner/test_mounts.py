"""What a container sees, as a plan."""

from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.localkube.runner import mounts, volumes
from jobferry.localkube.runner.mounts import Bind, Make


@pytest.fixture
def base(tmp_path: Path) -> str:
    """A machine with /etc/hosts, /usr/bin and a link /run -> usr/run."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "hosts").touch()
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    (tmp_path / "usr" / "run").mkdir()
    (tmp_path / "run").symlink_to("usr/run")
    return str(tmp_path)


def test_everything_of_the_root_is_shown_beside_what_is_missing(base: str) -> None:
    plan = mounts.plan([Bind("/volume", "/data/in")], base)

    assert plan.has_own_root
    assert plan.steps == (
        Make("/etc"),
        Bind(f"{base}/etc", "/etc"),
        Make("/run", link="usr/run"),
        Make("/usr"),
        Bind(f"{base}/usr", "/usr"),
        Make("/data"),
        Make("/data/in", is_directory=False),
        Bind("/volume", "/data/in"),
    )


def test_links_are_followed_and_directories_opened_on_the_way(base: str) -> None:
    plan = mounts.plan([Bind("/", "/run/secrets")], base)

    assert Make("/usr") in plan.steps
    assert Bind(f"{base}/usr/bin", "/usr/bin") in plan.steps
    assert Bind(f"{base}/usr", "/usr") not in plan.steps
    assert plan.steps[-2:] == (Make("/usr/run/secrets"), Bind("/", "/usr/run/secrets"))


def test_a_path_that_the_machine_has_is_covered() -> None:
    plan = mounts.plan([Bind("/volume", "/etc")])

    assert plan == mounts.Plan((Bind("/volume", "/etc"),), has_own_root=False)


def test_a_volume_in_a_volume_is_mounted_after_it() -> None:
    plan = mounts.plan([Bind("/inner", "/etc/x"), Bind("/outer", "/etc")])

    assert plan.steps[0] == Bind("/outer", "/etc")
    assert plan.steps[-1] == Bind("/inner", "/etc/x")
    assert not plan.has_own_root


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/x", "a/.."])
def test_paths_out_of_a_volume_are_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="must be relative"):
        volumes.inside(str(tmp_path), path)


def test_a_link_out_of_a_volume_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")

    with pytest.raises(BadInput, match="leads out of its volume"):
        volumes.inside(str(tmp_path), "link/passwd")
    assert volumes.inside(str(tmp_path), "new/deep") == f"{tmp_path}/new/deep"


def test_where_a_path_of_a_container_is() -> None:
    where = volumes.where([Bind("/real/a", "/a"), Bind("/real/b", "/a/b")])

    assert where("/a/x") == "/real/a/x"
    assert where("/a/b/x") == "/real/b/x"
    assert where("/ab") == "/ab"
    assert where("/a/../etc") == "/etc"
