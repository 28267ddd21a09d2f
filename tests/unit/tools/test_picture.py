"""The picture in the README is that of the demo as it is now."""

from tools import picture


def test_the_picture_is_current() -> None:
    drawn = picture.picture(picture.recorded())

    assert picture.PICTURE.read_text() == drawn, "run: make picture"


def test_it_is_self_contained_and_shows_the_move() -> None:
    drawn = picture.PICTURE.read_text()

    assert "url(http" not in drawn
    assert "moves&#160;to&#160;worker-" in drawn
