"""Tables beside a real API server: the same objects, the same columns and cells."""

from collections.abc import Iterator
from datetime import UTC, datetime
from secrets import token_hex

import pytest

from jobferry.clock import SystemClock
from jobferry.localkube.apiserver.printing import catalog, tables
from jobferry.testing.control_plane import ControlPlane
from tests.api.looks import (
    CONTAINERS,
    OBJECT,
    assert_same,
    moments_around,
    without_descriptions,
)
from tests.api.raw_http import TABLE, RawHttp

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def http(plane: ControlPlane) -> Iterator[RawHttp]:
    with RawHttp(plane.url, plane.folder) as connection:
        yield connection


@pytest.fixture(scope="module")
def space(http: RawHttp) -> Iterator[str]:
    """A namespace with a service account, as pods need it."""
    name = f"printing-{token_hex(4)}"
    http.post("/api/v1/namespaces", {"metadata": {"name": name}})
    path = f"/api/v1/namespaces/{name}"
    http.post(f"{path}/serviceaccounts", {"metadata": {"name": "default"}})
    yield path
    http.ask("DELETE", path)


# -- every kind -----------------------------------------------------------------------------------

CORE, BATCH = "/api/v1", "/apis/batch/v1"
RBAC, SCHEDULING = "/apis/rbac.authorization.k8s.io/v1", "/apis/scheduling.k8s.io/v1"
KINDS = {
    ("", "ConfigMap"): f"{CORE}/configmaps",
    ("", "Event"): f"{CORE}/events",
    ("", "LimitRange"): f"{CORE}/limitranges",
    ("", "Namespace"): f"{CORE}/namespaces",
    ("", "Node"): f"{CORE}/nodes",
    ("", "PersistentVolume"): f"{CORE}/persistentvolumes",
    ("", "PersistentVolumeClaim"): f"{CORE}/persistentvolumeclaims",
    ("", "Pod"): f"{CORE}/pods",
    ("", "ResourceQuota"): f"{CORE}/resourcequotas",
    ("", "Secret"): f"{CORE}/secrets",
    ("", "Service"): f"{CORE}/services",
    ("", "ServiceAccount"): f"{CORE}/serviceaccounts",
    ("apiextensions.k8s.io", "CustomResourceDefinition"): (
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    ),
    ("batch", "CronJob"): f"{BATCH}/cronjobs",
    ("batch", "Job"): f"{BATCH}/jobs",
    ("coordination.k8s.io", "Lease"): "/apis/coordination.k8s.io/v1/leases",
    ("events.k8s.io", "Event"): "/apis/events.k8s.io/v1/events",
    ("rbac.authorization.k8s.io", "ClusterRole"): f"{RBAC}/clusterroles",
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): f"{RBAC}/clusterrolebindings",
    ("rbac.authorization.k8s.io", "Role"): f"{RBAC}/roles",
    ("rbac.authorization.k8s.io", "RoleBinding"): f"{RBAC}/rolebindings",
    ("scheduling.k8s.io", "PriorityClass"): f"{SCHEDULING}/priorityclasses",
}


@pytest.mark.parametrize(("group", "kind"), KINDS)
def test_columns_and_cells_are_those_of_a_real_api_server(
    http: RawHttp, group: str, kind: str
) -> None:
    path, columns = KINDS[group, kind], catalog.columns_for(group, kind)

    answered, moments = moments_around(http, "GET", path, accept=TABLE, query=OBJECT)

    theirs = answered.body["columnDefinitions"]
    assert without_descriptions(theirs) == without_descriptions(columns.definitions)
    assert_same({**answered.body, "rows": answered.body["rows"] or []}, columns, moments)


@pytest.mark.parametrize("include", ["Metadata", "Object", "None"])
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_whole_tables_are_those_of_a_real_api_server(
    http: RawHttp, include: str, version: str
) -> None:
    accept = f"application/json;as=Table;v={version};g=meta.k8s.io"
    query = {"includeObject": include, "limit": "2"}
    listed = http.ask("GET", f"{RBAC}/clusterroles", query={"limit": "2"}).body
    for item in listed["items"]:
        item |= {"kind": "ClusterRole", "apiVersion": "rbac.authorization.k8s.io/v1"}

    theirs = http.ask("GET", f"{RBAC}/clusterroles", accept=accept, query=query).body

    list_meta = {**listed["metadata"], "continue": theirs["metadata"]["continue"]}
    columns = catalog.columns_for("rbac.authorization.k8s.io", "ClusterRole")
    ours = tables.table(
        listed["items"],
        columns,
        now=datetime(2026, 1, 1, tzinfo=UTC),
        include=include,
        list_meta=list_meta,
        version=version,
    )
    theirs["columnDefinitions"] = without_descriptions(theirs["columnDefinitions"])
    ours["columnDefinitions"] = without_descriptions(ours["columnDefinitions"])
    assert ours == theirs


@pytest.mark.parametrize("kind", [("", "Pod"), ("", "LimitRange")])
def test_empty_tables_are_those_of_a_real_api_server(
    http: RawHttp, kind: tuple[str, str]
) -> None:
    path = f"{CORE}/namespaces/nowhere/{KINDS[kind].rpartition('/')[2]}"

    theirs = http.ask("GET", path, accept=TABLE).body

    now = datetime(2026, 1, 1, tzinfo=UTC)
    meta = theirs["metadata"]
    ours = tables.table([], catalog.columns_for(*kind), now=now, list_meta=meta)
    ours["columnDefinitions"] = without_descriptions(ours["columnDefinitions"])
    theirs["columnDefinitions"] = without_descriptions(theirs["columnDefinitions"])
    assert ours == theirs


def test_metadata_alone_is_what_a_real_api_server_gives(http: RawHttp) -> None:
    accept = "application/json;as=PartialObjectMetadata{};v=v1;g=meta.k8s.io"
    path = f"{CORE}/namespaces/default"
    whole, nobody = http.ask("GET", path).body, f"{CORE}/namespaces/nowhere/pods"
    namespaces = http.ask("GET", f"{CORE}/namespaces").body

    one = http.ask("GET", path, accept=accept.format("")).body
    several = http.ask("GET", f"{CORE}/namespaces", accept=accept.format("List")).body
    none = http.ask("GET", nobody, accept=accept.format("List")).body

    assert tables.partial_metadata(whole) == one
    ours = tables.partial_metadata_list(namespaces["items"], several["metadata"])
    assert ours == several
    assert tables.partial_metadata_list([], none["metadata"]) == none


def test_a_watch_names_the_columns_once_and_shows_its_bookmarks_too(
    plane: ControlPlane, space: str
) -> None:
    query = {
        "watch": "true",
        "sendInitialEvents": "true",
        "allowWatchBookmarks": "true",
        "resourceVersionMatch": "NotOlderThan",
        "timeoutSeconds": "1",
    }
    for include in ("Metadata", "None"):
        with RawHttp(plane.url, plane.folder) as http:
            for name in ("one", "two"):
                body = {"metadata": {"name": name}, "spec": {"containers": CONTAINERS}}
                http.ask("POST", f"{space}/pods", body)
            events = http.stream(
                f"{space}/pods", accept=TABLE, query={**query, "includeObject": include}
            )
        assert [each["type"] for each in events[-3:]] == ["ADDED", "ADDED", "BOOKMARK"]
        for index, event in enumerate(events):
            theirs = event["object"]
            row = theirs["rows"][0]
            name = row["cells"][0]
            if name:
                with RawHttp(plane.url, plane.folder) as http:
                    obj = http.ask("GET", f"{space}/pods/{name}").body
            else:
                obj = {"metadata": row["object"]["metadata"]}
            ours = tables.event_table(
                obj,
                catalog.columns_for("", "Pod"),
                now=SystemClock().now(),
                include=include,
                first=index == 0,
            )
            if index == 0:
                for table in (ours, theirs):
                    table["columnDefinitions"] = without_descriptions(
                        table["columnDefinitions"]
                    )
            ours["rows"][0]["cells"][4] = row["cells"][4]
            assert ours == theirs
