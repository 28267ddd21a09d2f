"""Names of images: which tag they ask for."""

import pytest

from jobferry.localkube.apiserver.strategies import images

TAGS = {
    "a": "latest",
    "a:1.2": "1.2",
    "a:latest": "latest",
    "a/b/c:v1": "v1",
    "localhost/a": "latest",
    "example.com:5000/a": "latest",
    "example.com:5000/a:x": "x",
    "[::1]:5000/a:x": "x",
    "Example/a:x": "x",
    f"a@sha256:{'0' * 64}": "",
    f"a:1@sha256:{'0' * 64}": "1",
    # What cannot be understood asks for no tag.
    "": "",
    "A": "",
    "a:": "",
    "a b": "",
    "a//b": "",
    "0" * 64: "",
    f"a@sha256:{'0' * 63}": "",
    f"a@md5:{'0' * 32}": "",
    "a" * 256: "",
}


@pytest.mark.parametrize("image", TAGS)
def test_an_image_asks_for_a_tag(image: str) -> None:
    assert images.tag(image) == TAGS[image]


def test_only_the_latest_is_always_pulled() -> None:
    assert [images.pull_policy(image) for image in ("a", "a:latest", "a:1", "A")] == [
        *("Always", "Always", "IfNotPresent", "IfNotPresent")
    ]
