"""A folder that somebody else made, or could write to, is no place for keys."""

import os
import stat
from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.localkube.apiserver.identity import private

NOT_ME = os.geteuid() + 4242


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def owned(path: Path, user: int) -> Path:
    """Give a path to somebody, which only root can do."""
    if os.geteuid() != private.ROOT:
        pytest.skip("only root can give files away")
    os.chown(path, user, -1, follow_symlinks=False)
    return path


def test_a_new_folder_is_ours_alone(tmp_path: Path) -> None:
    with private.claimed(tmp_path / "a" / "b"):
        assert mode(tmp_path / "a" / "b") == 0o700


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    owned(tmp_path, NOT_ME)
    with (
        pytest.raises(BadInput, match=f"belongs to another user .uid {NOT_ME}"),
        private.claimed(tmp_path),
    ):
        pass


def test_a_link_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(0o700)
    link = tmp_path / "link"
    link.symlink_to("mine")
    private.check_folder(link)
    owned(link, NOT_ME)
    with pytest.raises(BadInput, match="belongs to another user"):
        private.check_folder(link)


@pytest.mark.skipif(os.geteuid() == private.ROOT, reason="what is root's is ours")
def test_whose_a_folder_is_depends_on_who_asks(tmp_path: Path) -> None:
    private.check_folder(tmp_path)
    with pytest.raises(BadInput, match="belongs to another user"):
        private.check_folder(tmp_path, NOT_ME)


@pytest.mark.parametrize("others", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, others: int) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(others)
    (tmp_path / "link").symlink_to(folder)
    for path in (folder, tmp_path / "link"):
        with pytest.raises(BadInput, match="others can write to it") as refused:
            private.check_folder(path)
        assert f"chmod go-w {path}" in (refused.value.hint or "")


def test_a_folder_is_for_one_at_a_time(tmp_path: Path) -> None:
    with (
        private.claimed(tmp_path),
        pytest.raises(BadInput, match="is in use by another server"),
        private.claimed(tmp_path),
    ):
        pass
    with private.claimed(tmp_path):
        pass


def test_a_file_that_others_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.key").touch()
    (tmp_path / "ca.key").chmod(0o620)
    with pytest.raises(BadInput, match=r"ca\.key: others can write to it .its mode is 0620"):
        private.check_files([tmp_path / "ca.key"], secret=True)


def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.key").touch(0o600)
    owned(tmp_path / "ca.key", NOT_ME)
    with pytest.raises(BadInput, match=r"ca\.key: belongs to another user"):
        private.check_files([tmp_path / "ca.key"], secret=True)


def test_a_link_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    (tmp_path / "ca.key").symlink_to("elsewhere")
    with pytest.raises(BadInput, match=r"ca\.key: is a symbolic link"):
        private.check_files([tmp_path / "ca.key"], secret=True)


def test_secrets_that_others_could_read_are_taken_back(tmp_path: Path) -> None:
    for name in ("ca.key", "ca.crt"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    private.check_files([tmp_path / "ca.key", tmp_path / "none"], secret=True)
    private.check_files([tmp_path / "ca.crt"], secret=False)
    assert (mode(tmp_path / "ca.key"), mode(tmp_path / "ca.crt")) == (0o600, 0o644)


def test_what_is_written_is_ours_whatever_was_there(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.touch()
    old.chmod(0o644)
    private.write(old, b"new")
    assert (old.read_bytes(), mode(old)) == (b"new", 0o600)


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"theirs")
    for name in ("file", "file.new"):
        (tmp_path / name).symlink_to(victim)

    private.write(tmp_path / "file", b"ours")

    assert victim.read_bytes() == b"theirs"
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"ours"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "victim"]


def test_what_cannot_be_written_is_said_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="none/file: cannot be written: No such file"):
        private.write(tmp_path / "none" / "file", b"x")
