import pytest

from jobferry.objects import labels
from jobferry.workers.resource import finalizer


def test_each_dispatcher_has_a_finalizer_of_its_own() -> None:
    assert finalizer("jobferry.io/dispatcher") == "mirrors.jobferry.io/jobferry.io_dispatcher"
    assert finalizer("example.com/other") != finalizer("jobferry.io/dispatcher")


@pytest.mark.parametrize("name", ["example.com/a/b", f"{'x' * 50}.com/name~%!", "plain"])
def test_a_finalizer_is_a_qualified_name(name: str) -> None:
    domain, _, rest = finalizer(name).partition("/")

    assert domain == "mirrors.jobferry.io"
    assert rest
    assert not labels.value_problems(rest)
