"""What a path and a method are about."""

import pytest

from jobferry.localkube.apiserver.requests import target
from jobferry.localkube.apiserver.requests.target import Target
from jobferry.localkube.apiserver.status import StatusError

JOBS = "/apis/batch/v1/namespaces/ml/jobs"


def about(method: str, path: str, **query: str) -> Target:
    return target.find(method, path, {name: [value] for name, value in query.items()})


@pytest.mark.parametrize(
    ("method", "path", "verb", "namespace", "name", "subresource"),
    [
        ("GET", JOBS, "list", "ml", "", ""),
        ("POST", JOBS, "create", "ml", "", ""),
        ("DELETE", JOBS, "deletecollection", "ml", "", ""),
        ("GET", f"{JOBS}/a", "get", "ml", "a", ""),
        ("PUT", f"{JOBS}/a/status", "update", "ml", "a", "status"),
        ("PATCH", f"{JOBS}/a/scale", "patch", "ml", "a", "scale"),
        ("DELETE", f"{JOBS}/a", "delete", "ml", "a", ""),
        ("GET", "/api/v1/namespaces/ml", "get", "ml", "ml", ""),
        ("PUT", "/api/v1/namespaces/ml/finalize", "update", "ml", "ml", "finalize"),
        ("GET", "/api/v1/nodes/n", "get", "", "n", ""),
        ("GET", "/api/v1/proxy/namespaces/ml/pods/a/b", "proxy", "ml", "a", ""),
        ("DELETE", "/api/v1/watch/namespaces/ml/pods", "watch", "ml", "", ""),
    ],
)
def test_paths_of_resources_are_read_as_authorisation_sees_them(
    method: str, path: str, verb: str, namespace: str, name: str, subresource: str
) -> None:
    found = about(method, path)

    assert found.is_resource
    assert (found.verb, found.namespace, found.name) == (verb, namespace, name)
    assert found.subresource == subresource


@pytest.mark.parametrize("path", ["/", "/api", "/apis", "/apis/batch", "/healthz", "/version"])
def test_other_paths_are_no_resources(path: str) -> None:
    found = about("GET", path)

    assert not found.is_resource
    assert (found.verb, found.path) == ("get", path)


def test_a_list_becomes_a_watch_unless_that_is_denied() -> None:
    assert about("GET", JOBS, watch="true").verb == "watch"
    assert about("GET", JOBS, watch="1").verb == "watch"
    assert about("GET", JOBS, watch="false").verb == "list"


def test_a_selector_for_one_name_counts_for_authorisation() -> None:
    found = about("GET", JOBS, fieldSelector="metadata.name=a")

    assert (found.verb, found.name, found.name_in_path) == ("list", "a", False)
    assert about("GET", JOBS, fieldSelector="metadata.name!=a").name == ""
    assert about("GET", JOBS, fieldSelector="nonsense").name == ""
    assert about("GET", JOBS, fieldSelector="metadata.name=a/b,metadata.name=c").name == ""


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", {}),
        ("a=b&a=c&d", {"a": ["b", "c"], "d": [""]}),
        ("a=b+c%20d&%61=e", {"a": ["b c d", "e"]}),
        ("a=%zz&b=%4&c=d;e&f=g", {"f": ["g"]}),
        ("a=b=c&=d", {"a": ["b=c"], "": ["d"]}),
    ],
)
def test_what_go_cannot_read_of_a_query_is_left_out(
    text: str, read: dict[str, list[str]]
) -> None:
    assert target.query_of(text) == read


def test_a_path_with_a_wrong_escape_is_refused() -> None:
    with pytest.raises(StatusError, match="400 Bad Request"):
        about("GET", "/api/v1/namespaces/%zz")
