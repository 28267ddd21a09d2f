import pytest

from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.types import titles


def test_what_a_body_does_not_say_is_what_the_endpoint_takes() -> None:
    assert titles.read({"apiVersion": None, "metadata": {}}) == ("", "")
    assert titles.read(None) == ("", "")
    titles.check("", "", "batch/v1", "Job")


@pytest.mark.parametrize("parsed", [[], "x", 5, {"kind": 5}, {"apiVersion": "a/b/c"}])
def test_a_body_may_be_unreadable(parsed: object) -> None:
    with pytest.raises(titles.Unreadable):
        titles.read(parsed)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (("v1", "Pod"), "converting (v1.Pod) to (batch.Job): unknown conversion"),
        (("", "Foo"), f'no kind "Foo" is registered for version "batch/v1" {titles.SCHEME}'),
    ],
)
def test_a_body_of_another_kind_is_refused(found: tuple[str, str], why: str) -> None:
    with pytest.raises(StatusError) as refused:
        titles.check(*found, "batch/v1", "Job")

    assert str(refused.value) == f'{found[1]} in version "v1" cannot be handled as a Job: {why}'
