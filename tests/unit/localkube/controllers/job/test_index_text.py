import pytest

from jobferry.localkube.controllers.job import index_text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (None, ""),
        ("", ""),
        ("0-2,5", "0-2,5"),
        ("0,1,2", "0-2"),
        ("0-2,3-4", "0-4"),
        ("x,1,2-y,4", "1,4"),
        ("0-99", "0-9"),
        ("3,12,5", "3"),
        ("3,10,5", "3"),
        ("3-1,4", "4"),
        ("5,3", "3,5"),
        ("0-3,2", "0-3"),
        ("1,1", "1"),
    ],
)
def test_what_can_be_understood_is_read_up_to_the_limit(text: str | None, read: str) -> None:
    assert str(index_text.read(text, 10)) == read


def test_a_long_text_is_read_in_no_time() -> None:
    text = ",".join(str(index) for index in range(0, 100_000, 2))

    assert len(index_text.read(text, 100_000)) == 50_000
