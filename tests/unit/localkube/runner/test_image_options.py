from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.localkube.runner import image_options
from jobferry.localkube.runner.backend import CannotStart
from jobferry.localkube.runner.images import Engine, Host, Root, Venv


@pytest.mark.parametrize("given", [[], ["host"]])
def test_every_image_is_the_host_unless_somebody_says_otherwise(given: list[str]) -> None:
    images = image_options.read(given)

    assert images is not None
    assert images.find("python:3") == Host()


def test_a_cluster_may_have_no_node() -> None:
    assert image_options.read(["none"]) is None


def test_images_are_what_they_are_said_to_be_and_others_are_refused(tmp_path: Path) -> None:
    images = image_options.read(
        [
            f"a=root:{tmp_path}",
            f"b:*=venv:{tmp_path}",
            "c=engine",
            "d=engine:e:1",
            "f@sha256:x=host",
        ]
    )

    assert images is not None
    assert images.find("a") == Root(str(tmp_path))
    assert images.find("b:3.12") == Venv(str(tmp_path))
    assert images.find("c") == Engine("c")
    assert images.find("d") == Engine("e:1")
    assert images.find("f@sha256:x") == Host()
    with pytest.raises(CannotStart):
        images.find("z")


def test_entries_may_stand_in_one_text_and_the_longest_that_fits_counts(tmp_path: Path) -> None:
    images = image_options.read([f"*=host, py*=venv:{tmp_path}/", f"python=root:{tmp_path}"])

    assert images is not None
    assert images.find("go") == Host()
    assert images.find("python:3") == Venv(str(tmp_path))
    assert images.find("python") == Root(str(tmp_path))


def test_folders_are_found_from_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env").mkdir()

    images = image_options.read(["a=venv:env"])

    assert images is not None
    assert images.find("a") == Venv(str(tmp_path / "env"))


@pytest.mark.parametrize(
    "text", ["", "x", "a=host,", "=host", "a=root:", "a=venv", "a=host:x", "a=docker", "none"]
)
def test_what_says_nothing_about_images_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--images") as refused:
        image_options.read(["host", text])

    assert "IMAGE=root:DIR" in str(refused.value.hint)


def test_a_folder_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere is no folder"):
        image_options.read([f"a=root:{tmp_path / 'nowhere'}"])
