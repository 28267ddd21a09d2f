from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.errors import BadInput
from jobferry.kube import calls
from jobferry.kube.calls import Call, PatchKind, Scope, Start
from jobferry.kube.resources import CONFIG_MAPS, JOBS, NAMESPACES, NODES, PODS

JOBS_IN_ML = Scope(resource=JOBS, namespace="ml", labels="team in (a,b)", fields="status.x=1")
SELECTORS = {"labelSelector": "team in (a,b)", "fieldSelector": "status.x=1"}
MAP = {"metadata": {"name": "m", "namespace": "ml"}, "data": {"k": "v"}}
WHOLE_MAP = {"apiVersion": "v1", "kind": "ConfigMap", **MAP}
WATCH = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "60"}

TABLE: dict[str, tuple[Call, Call]] = {
    "get": (
        calls.get(CONFIG_MAPS, "m", "ml"),
        Call("GET", "/api/v1/namespaces/ml/configmaps/m"),
    ),
    "get, outside of namespaces": (
        calls.get(NODES, "n", "ml"),
        Call("GET", "/api/v1/nodes/n"),
    ),
    "get, a subresource": (
        calls.get(JOBS, "j", "ml", subresource="status"),
        Call("GET", "/apis/batch/v1/namespaces/ml/jobs/j/status"),
    ),
    "get, no more than metadata": (
        calls.get(CONFIG_MAPS, "m", "ml", is_metadata=True),
        Call(
            "GET",
            "/api/v1/namespaces/ml/configmaps/m",
            accept="application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        ),
    ),
    "list": (
        calls.list_(Scope(resource=JOBS)),
        Call("GET", "/apis/batch/v1/jobs", {"limit": "500"}, is_about_many=True),
    ),
    "list, further pages": (
        calls.list_(JOBS_IN_ML, limit=3, resume="abc", resource_version="7"),
        Call(
            "GET",
            "/apis/batch/v1/namespaces/ml/jobs",
            SELECTORS | {"limit": "3", "continue": "abc", "resourceVersion": "7"},
            is_about_many=True,
        ),
    ),
    "list, all in one go": (
        calls.list_(Scope(resource=NODES), limit=0),
        Call("GET", "/api/v1/nodes", is_about_many=True),
    ),
    "watch, from a version": (
        calls.watch(JOBS_IN_ML, "7", timeout=60),
        Call(
            "GET",
            "/apis/batch/v1/namespaces/ml/jobs",
            SELECTORS | WATCH | {"resourceVersion": "7"},
        ),
    ),
    "watch, from the beginning": (
        calls.watch(Scope(resource=NODES), Start.INITIAL_EVENTS, timeout=60),
        Call(
            "GET",
            "/api/v1/nodes",
            WATCH | {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
        ),
    ),
    "create": (
        calls.create(CONFIG_MAPS, MAP),
        Call("POST", "/api/v1/namespaces/ml/configmaps", {}, WHOLE_MAP),
    ),
    "create, in a namespace that the object does not name": (
        calls.create(CONFIG_MAPS, {"metadata": {"generateName": "m-"}}, namespace="ml"),
        Call(
            "POST",
            "/api/v1/namespaces/ml/configmaps",
            {},
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "m-"}},
        ),
    ),
    "create, outside of namespaces": (
        calls.create(NAMESPACES, {"metadata": {"name": "ml"}}),
        Call(
            "POST",
            "/api/v1/namespaces",
            {},
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}},
        ),
    ),
    "create, dry and strict": (
        calls.create(CONFIG_MAPS, MAP, dry_run=True, field_validation="Strict"),
        Call(
            "POST",
            "/api/v1/namespaces/ml/configmaps",
            {"dryRun": "All", "fieldValidation": "Strict"},
            WHOLE_MAP,
        ),
    ),
    "create, in a subresource": (
        calls.create(
            PODS, {"kind": "Eviction"}, namespace="ml", name="p", subresource="eviction"
        ),
        Call("POST", "/api/v1/namespaces/ml/pods/p/eviction", {}, {"kind": "Eviction"}),
    ),
    "update": (
        calls.update(CONFIG_MAPS, MAP),
        Call("PUT", "/api/v1/namespaces/ml/configmaps/m", {}, WHOLE_MAP),
    ),
    "update, the status, dry": (
        calls.update(NODES, {"metadata": {"name": "n"}}, subresource="status", dry_run=True),
        Call(
            "PUT",
            "/api/v1/nodes/n/status",
            {"dryRun": "All"},
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
        ),
    ),
    "patch": (
        calls.patch(JOBS, "j", {"spec": {}}, namespace="ml"),
        Call(
            "PATCH",
            "/apis/batch/v1/namespaces/ml/jobs/j",
            {},
            {"spec": {}},
            "application/merge-patch+json",
        ),
    ),
    "patch, the status": (
        calls.patch(JOBS, "j", {}, namespace="ml", subresource="status", dry_run=True),
        Call(
            "PATCH",
            "/apis/batch/v1/namespaces/ml/jobs/j/status",
            {"dryRun": "All"},
            {},
            "application/merge-patch+json",
        ),
    ),
    "patch, a list of operations": (
        calls.patch(NODES, "n", [], kind=PatchKind.JSON),
        Call("PATCH", "/api/v1/nodes/n", {}, [], "application/json-patch+json"),
    ),
    "patch, strategic": (
        calls.patch(NODES, "n", {}, kind=PatchKind.STRATEGIC, field_manager="me"),
        Call(
            "PATCH",
            "/api/v1/nodes/n",
            {"fieldManager": "me"},
            {},
            "application/strategic-merge-patch+json",
        ),
    ),
    "patch, applied": (
        calls.patch(NODES, "n", {}, kind=PatchKind.APPLY, field_manager="me"),
        Call(
            "PATCH",
            "/api/v1/nodes/n",
            {"fieldManager": "me"},
            {},
            "application/apply-patch+yaml",
        ),
    ),
    "patch, applied by force": (
        calls.patch(NODES, "n", {}, kind=PatchKind.APPLY, field_manager="me", force=True),
        Call(
            "PATCH",
            "/api/v1/nodes/n",
            {"fieldManager": "me", "force": "true"},
            {},
            "application/apply-patch+yaml",
        ),
    ),
    "delete": (
        calls.delete(JOBS, "j", "ml"),
        Call("DELETE", "/apis/batch/v1/namespaces/ml/jobs/j"),
    ),
    "delete, with every option": (
        calls.delete(
            JOBS,
            "j",
            "ml",
            propagation="Foreground",
            uid="u-1",
            resource_version="7",
            grace=0,
            dry_run=True,
        ),
        Call(
            "DELETE",
            "/apis/batch/v1/namespaces/ml/jobs/j",
            {"dryRun": "All"},
            {
                "propagationPolicy": "Foreground",
                "gracePeriodSeconds": 0,
                "preconditions": {"uid": "u-1", "resourceVersion": "7"},
            },
        ),
    ),
    "delete_collection": (
        calls.delete_collection(JOBS_IN_ML, propagation="Background", grace=5),
        Call(
            "DELETE",
            "/apis/batch/v1/namespaces/ml/jobs",
            SELECTORS,
            {"propagationPolicy": "Background", "gracePeriodSeconds": 5},
            is_about_many=True,
        ),
    ),
    "logs": (
        calls.logs(PODS, "p", "ml"),
        Call("GET", "/api/v1/namespaces/ml/pods/p/log", accept="*/*", is_about_many=True),
    ),
    "logs, with every option": (
        calls.logs(PODS, "p", "ml", container="c", follow=True, tail_lines=0, timestamps=True),
        Call(
            "GET",
            "/api/v1/namespaces/ml/pods/p/log",
            {"container": "c", "follow": "true", "tailLines": "0", "timestamps": "true"},
            accept="*/*",
            is_about_many=True,
        ),
    ),
    "raw": (
        calls.raw("/openapi/v3?timeout=5s", accept="application/vnd+x"),
        Call("GET", "/openapi/v3?timeout=5s", accept="application/vnd+x"),
    ),
}


@pytest.mark.parametrize(("built", "expected"), TABLE.values(), ids=TABLE)
def test_each_verb_builds_its_request(built: Call, expected: Call) -> None:
    assert built == expected


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "50%"])
def test_a_name_that_would_change_the_path_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="cannot be the name"):
        calls.get(CONFIG_MAPS, name, "ml")
    with pytest.raises(BadInput, match="cannot be the namespace"):
        calls.list_(Scope(resource=CONFIG_MAPS, namespace=name))


@given(st.text(min_size=1))
def test_any_other_name_stays_one_segment_of_printable_ascii(name: str) -> None:
    try:
        path = calls.get(CONFIG_MAPS, name, "ml").path
    except BadInput:
        return

    assert path.count("/") == "/api/v1/namespaces/ml/configmaps/x".count("/")
    assert path.isascii()
    assert path.isprintable()
    assert not set(path) & set(" ?#")


@given(st.dictionaries(st.text(), st.text()))
def test_a_query_is_read_as_it_was_meant(query: dict[str, str]) -> None:
    target = Call("GET", "/x", query).target

    assert target.isascii()
    assert target.isprintable()
    assert dict(parse_qsl(urlsplit(target).query, keep_blank_values=True)) == query


def test_a_colon_in_a_name_stays_readable() -> None:
    call = calls.get(NODES, "system:node")

    assert call.path == "/api/v1/nodes/system:node"


@pytest.mark.parametrize(
    "build",
    [
        lambda: calls.get(CONFIG_MAPS, "m"),
        lambda: calls.create(CONFIG_MAPS, {"metadata": {"name": "m"}}),
        lambda: calls.update(CONFIG_MAPS, {"metadata": {"name": "m"}}),
        lambda: calls.delete(CONFIG_MAPS, "m"),
    ],
    ids=["get", "create", "update", "delete"],
)
def test_an_object_in_no_namespace_is_refused_where_its_kind_lives_in_one(build: Any) -> None:
    with pytest.raises(BadInput, match=r"configmaps.* needs a namespace"):
        build()


@pytest.mark.parametrize("obj", [{}, {"metadata": {}}, {"metadata": {"namespace": "ml"}}])
def test_an_update_of_an_object_without_a_name_is_refused(obj: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"configmaps.* name"):
        calls.update(CONFIG_MAPS, obj)


@pytest.mark.parametrize("path", ["version", "", "/a b", "/a\r\nX: y", "/é"])
def test_a_raw_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(BadInput, match="not a path"):
        calls.raw(path)


def test_apply_needs_a_field_manager() -> None:
    with pytest.raises(BadInput, match="field_manager"):
        calls.patch(NODES, "n", {}, kind=PatchKind.APPLY)


@pytest.mark.parametrize("kind", [PatchKind.MERGE, PatchKind.JSON, PatchKind.STRATEGIC])
def test_force_is_for_apply_alone(kind: PatchKind) -> None:
    with pytest.raises(BadInput, match=kind.name):
        calls.patch(NODES, "n", {}, kind=kind, field_manager="me", force=True)


def test_what_the_object_says_of_its_type_is_kept() -> None:
    obj = {"apiVersion": "v2", "kind": "Other", "metadata": {"name": "n"}}

    assert calls.create(NODES, obj).body == obj


def test_the_object_given_is_not_changed() -> None:
    obj = {"metadata": {"name": "n"}}

    calls.create(NODES, obj)
    calls.update(NODES, obj)

    assert obj == {"metadata": {"name": "n"}}


@pytest.mark.parametrize(
    ("call", "is_idempotent"),
    [
        (calls.get(NODES, "n"), True),
        (calls.update(NODES, {"metadata": {"name": "n"}}), True),
        (calls.delete(NODES, "n"), True),
        (calls.create(NODES, {"metadata": {"name": "n"}}), False),
        (calls.patch(NODES, "n", {}), False),
    ],
    ids=lambda value: value.method if isinstance(value, Call) else None,
)
def test_what_may_be_sent_twice(call: Call, is_idempotent: bool) -> None:
    assert call.is_idempotent is is_idempotent


def test_a_call_is_shown_without_its_query() -> None:
    assert str(calls.list_(JOBS_IN_ML)) == "GET /apis/batch/v1/namespaces/ml/jobs"
