import pytest

from jobferry.objects.resource import Resource


@pytest.mark.parametrize(
    ("resource", "api_version", "text"),
    [
        (Resource("batch", "v1", "jobs", "Job"), "batch/v1", "jobs.batch"),
        (Resource("", "v1", "pods", "Pod"), "v1", "pods"),
    ],
)
def test_a_resource_says_how_it_is_written(
    resource: Resource, api_version: str, text: str
) -> None:
    assert resource.api_version == api_version
    assert str(resource) == text
