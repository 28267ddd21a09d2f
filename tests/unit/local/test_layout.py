import os
from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.local import ending
from jobferry.local.layout import AlreadyRunning, Layout, default_folder


def test_a_folder_that_nobody_has_can_be_had(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "fleet")

    with layout.owned():
        assert layout.owner() == os.getpid()

    assert layout.owner() is None


def test_who_comes_second_is_told_who_has_it(tmp_path: Path) -> None:
    layout = Layout(tmp_path)

    with layout.owned():
        with (
            pytest.raises(AlreadyRunning, match=f"running already in .*process {os.getpid()}"),
            layout.owned(),
        ):
            pass
        with pytest.raises(AlreadyRunning):
            layout.expect_free()
        assert layout.owner() == os.getpid()
    layout.expect_free()


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "fleet").write_text("")

    with (
        pytest.raises(BadInput, match="cannot be used") as raised,
        Layout(tmp_path / "fleet").owned(),
    ):
        pass

    assert raised.value.hint == "Choose another folder with --data."


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "fleet"
    folder.mkdir()
    folder.chmod(0o777)

    with pytest.raises(BadInput, match="others can write to it"), Layout(folder).owned():
        pass
    with pytest.raises(BadInput, match="others can write to it"):
        ending.end(Layout(folder))

    assert list(folder.iterdir()) == []


def test_a_folder_that_all_share_is_not_to_be_taken_from_them(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)

    with pytest.raises(BadInput, match="others can write to it") as raised:
        Layout(tmp_path).expect_free()

    assert raised.value.hint == "Name a folder of your own, as in --data ~/fleet."


def test_a_new_folder_is_ours_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        with Layout(tmp_path / "state" / "fleet").owned():
            assert (tmp_path / "state" / "fleet").stat().st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


def test_clusters_are_known_by_their_folders(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert layout.names() == []

    for name in ("worker-1", "hub"):
        layout.cluster(name).mkdir(parents=True)

    assert layout.names() == ["hub", "worker-1"]


def test_the_folder_is_in_the_users_own_state() -> None:
    assert default_folder({"XDG_STATE_HOME": "/state"}) == Path("/state/jobferry")
    assert default_folder({}) == Path.home() / ".local/state/jobferry"
