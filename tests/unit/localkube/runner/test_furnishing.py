"""Files that many pods have."""

from pathlib import Path

from jobferry.localkube.runner.furnishing import Shared


def test_what_is_the_same_is_written_once(tmp_path: Path) -> None:
    shared = Shared(tmp_path / "common")
    a, b, c, d = (tmp_path / name / "token" for name in "abcd")
    shared.write(str(a), b"same", 0o644)
    shared.write(str(b), b"same", 0o644)
    shared.write(str(c), b"same", 0o600)
    shared.write(str(d), b"other", 0o644)

    assert a.samefile(b)
    assert [path.stat().st_mode & 0o777 for path in (a, c)] == [0o644, 0o600]
    assert [path.read_bytes() for path in (b, c, d)] == [b"same", b"same", b"other"]


def test_a_file_that_an_attempt_left_is_replaced_and_nothing_else_changes(
    tmp_path: Path,
) -> None:
    shared = Shared(tmp_path / "common")
    a, b = tmp_path / "a", tmp_path / "b"
    for path in (a, b):
        shared.write(str(path), b"old", 0o644)

    shared.write(str(a), b"new", 0o644)

    assert (a.read_bytes(), b.read_bytes()) == (b"new", b"old")


def test_what_no_pod_has_any_more_is_dropped_at_the_next_start(tmp_path: Path) -> None:
    shared = Shared(tmp_path / "common")
    shared.write(str(tmp_path / "kept"), b"kept", 0o644)
    shared.write(str(tmp_path / "gone"), b"gone", 0o644)
    (tmp_path / "gone").unlink()

    Shared(tmp_path / "common")

    assert [path.read_bytes() for path in (tmp_path / "common").iterdir()] == [b"kept"]
