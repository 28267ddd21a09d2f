"""Both servers beside each other: lists, pages, selectors, versions, tables and partial objects."""

from typing import Any

import pytest

from jobferry.objects import Obj
from tests.api.twins import PARTIAL, PARTIAL_LIST, TABLE, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

CORE = "/api/v1"


def maps(place: str, *parts: str) -> str:
    return "/".join((f"{CORE}/namespaces/{place}/configmaps", *parts))


async def fill(twins: Twins, place: str, count: int = 5) -> None:
    for number in range(count):
        labels = {"app": "x" if number % 2 else "y", "number": str(number)}
        if number == 0:
            labels = {}
        body = {"metadata": {"name": f"m{number}", "labels": labels}, "data": {"a": "b"}}
        await twins.ask("POST", maps(place), body)


# -- selectors --------------------------------------------------------------------------------------

LABEL_SELECTORS = (
    *("", "app", "!app", "app=x", "app==x", "app!=x", "app in (x,y)", "app notin (x)"),
    *("app in (x),number=1", "app,!number", "number>1", "number<3", "number>x", "none"),
    *("app in (", "app in x", "=x", "app=x=y", "app=,number", "a b", "app,,number", ","),
    *("app=x,", "-a", "a=-", "app notin ()", "app in ()", "!app=x", "!", "app=" + "x" * 64),
    *("x.y/z=1", "X/y/z", "app>", "app > 1", "a in (b,,c)", "a in (b", "in=notin", "a=é"),
)
FIELD_SELECTORS = (
    *("", "metadata.name=m1", "metadata.name!=m1", "metadata.name==m2", "metadata.name=none"),
    *("metadata.namespace=default", "metadata.name", "metadata.name=", "=x", "spec.x=1"),
    *("metadata.name=m1,metadata.name=m2", "metadata.uid=1", "metadata.name=a\\,b"),
    *("metadata.labels.app=x", "metadata.name=m1,", "metadata.name=a\\b", "metadata.name=a=b"),
)
POD_FIELDS = (
    *("status.phase=Pending", "status.phase!=Pending", "spec.nodeName=", "spec.nodeName=n"),
    *("spec.restartPolicy=Always", "spec.schedulerName=default-scheduler", "status.podIP=1"),
    *("spec.serviceAccountName=default", "status.nominatedNodeName=", "spec.hostNetwork=false"),
    *("spec.hostNetwork=true", "status.podIPs=x", "spec.priority=0", "status.podIP="),
)


async def test_labels_select(twins: Twins, place: str) -> None:
    await fill(twins, place)
    for selector in LABEL_SELECTORS:
        await twins.get(maps(place), labelSelector=selector)


async def test_fields_select(twins: Twins, place: str) -> None:
    await fill(twins, place)
    for selector in FIELD_SELECTORS:
        await twins.get(maps(place), fieldSelector=selector)
        await twins.get(maps(place), fieldSelector=selector, labelSelector="app=x")


async def test_fields_of_pods_select(twins: Twins, place: str) -> None:
    path = f"{CORE}/namespaces/{place}/pods"
    spec = {"containers": [{"name": "a", "image": "a"}]}
    for name in ("a", "b"):
        await twins.post(path, {"metadata": {"name": name}, "spec": spec})
    node = {"apiVersion": "v1", "kind": "Node", "name": "n"}
    await twins.post(f"{path}/b/binding", {"metadata": {"name": "b"}, "target": node})
    for selector in POD_FIELDS:
        await twins.get(path, fieldSelector=selector)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/apis/batch/v1/jobs", ("status.successful=0", "status.successful!=0", "spec.x=1")),
        ("/apis/batch/v1/cronjobs", ("metadata.name=a", "status.x=1")),
        (f"{CORE}/secrets", ("type=Opaque", "type!=Opaque", "metadata.name=a")),
        (f"{CORE}/namespaces", ("status.phase=Active", "name=default", "name!=default")),
        (f"{CORE}/nodes", ("spec.unschedulable=true", "spec.x=1")),
        (
            f"{CORE}/events",
            ("involvedObject.kind=Pod", "reason=x", "type=Normal", "source=a", "x=1"),
        ),
        ("/apis/events.k8s.io/v1/events", ("regarding.kind=Pod", "reason=x", "type=a", "x=1")),
        (f"{CORE}/services", ("spec.clusterIP=None", "spec.type=ClusterIP", "spec.x=1")),
        (f"{CORE}/persistentvolumeclaims", ("metadata.name=a", "name=a", "status.phase=x")),
        (f"{CORE}/resourcequotas", ("metadata.name=a", "x=1")),
        (f"{CORE}/limitranges", ("metadata.name=a", "x=1")),
        (f"{CORE}/serviceaccounts", ("metadata.name=a", "x=1")),
        ("/apis/coordination.k8s.io/v1/leases", ("metadata.name=a", "x=1")),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", ("metadata.name=none", "value=1")),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", ("metadata.name=none", "x=1")),
        ("/apis/rbac.authorization.k8s.io/v1/rolebindings", ("metadata.name=none", "x=1")),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            ("metadata.name=none", "x=1", "spec.group=none"),
        ),
        ("/apis/apps/v1/replicasets", ("metadata.name=none", "status.replicas=1", "x=1")),
        ("/apis/apps/v1/daemonsets", ("metadata.name=none", "x=1")),
        (f"{CORE}/replicationcontrollers", ("status.replicas=1", "x=1")),
        ("/apis/policy/v1/poddisruptionbudgets", ("metadata.name=none", "x=1")),
        ("/apis/storage.k8s.io/v1/storageclasses", ("metadata.name=none", "x=1")),
        (
            "/apis/resource.k8s.io/v1/resourceslices",
            ("spec.nodeName=x", "spec.driver=y", "x=1"),
        ),
        (f"{CORE}/persistentvolumes", ("metadata.name=none", "name=x", "x=1")),
    ],
)
async def test_every_kind_has_the_same_fields(
    twins: Twins, path: str, fields: tuple[str, ...]
) -> None:
    for selector in fields:
        query = {"fieldSelector": selector, "labelSelector": "none=none"}
        await twins.same("GET", path, query=query)


# -- pages ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ["1", "2", "3", "5", "6"])
@pytest.mark.parametrize("labels", ["", "app=x", "app"])
async def test_pages_follow_each_other(
    twins: Twins, place: str, limit: str, labels: str
) -> None:
    await fill(twins, place)
    page = await twins.get(maps(place), limit=limit, labelSelector=labels)
    await twins.ask("POST", maps(place), {"metadata": {"name": "m9", "labels": {"app": "x"}}})
    await twins.ask("DELETE", maps(place, "m3"))
    pages = 1
    while page.object["metadata"].get("continue") and pages < 9:
        resume = page.each("metadata", "continue")
        query = {"limit": limit, "labelSelector": labels, "continue": resume}
        page = await twins.same("GET", maps(place), query=query)
        pages += 1
    assert pages > 1 or limit in ("3", "5", "6")


@pytest.mark.parametrize(
    "query",
    [
        {"limit": "0"},
        {"limit": "-1"},
        {"limit": "x"},
        {"limit": "99999999999999999999"},
        {"continue": "xx"},
        {"continue": "%%"},
        {"continue": ""},
        {"continue": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTF9"},
        {"continue": "e30"},
        {"continue": "eyJ2IjoieCJ9"},
        {"continue": "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6OTk5OTk5OTksInN0YXJ0IjoibTEifQ"},
        {"resourceVersion": "0"},
        {"resourceVersion": "abc"},
        {"resourceVersion": "-1"},
        {"resourceVersion": "99999999"},
        {"resourceVersion": "0", "limit": "2"},
        {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        {"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "0", "resourceVersionMatch": "NotOlderThan", "limit": "2"},
        {"resourceVersion": "99999999", "resourceVersionMatch": "Exact"},
        {"resourceVersion": "1", "resourceVersionMatch": "Odd"},
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "NotOlderThan"},
        {"resourceVersion": "1", "continue": "e30"},
        {"sendInitialEvents": "true"},
        {"timeoutSeconds": "1"},
        {"timeoutSeconds": "x"},
        {"watch": "false"},
        {"watch": "0"},
        {"allowWatchBookmarks": "true"},
        {"pretty": "true"},
        {"includeObject": "Odd"},
    ],
    ids=str,
)
async def test_options_of_lists_are_read_alike(twins: Twins, place: str, query: Obj) -> None:
    await fill(twins, place, 3)
    await twins.same("GET", maps(place), query=query)


async def test_lists_of_the_past_are_what_was_there(twins: Twins, place: str) -> None:
    await fill(twins, place, 3)
    listed = await twins.get(maps(place))
    version = listed.each("metadata", "resourceVersion")
    await twins.ask("DELETE", maps(place, "m1"))
    await twins.ask("PUT", maps(place, "m2"), {"metadata": {"name": "m2"}, "data": {"n": "m"}})
    for match in ("Exact", "NotOlderThan"):
        query: dict[str, Any] = {"resourceVersion": version, "resourceVersionMatch": match}
        await twins.same("GET", maps(place), query=query)
        await twins.same("GET", maps(place), query={**query, "limit": "1"})
    await twins.same("GET", maps(place), query={"resourceVersion": version})
    await twins.same("GET", maps(place, "m2"), query={"resourceVersion": version})
    await twins.same("GET", maps(place, "m2"), query={"resourceVersion": "0"})
    await twins.same("GET", maps(place, "m2"), query={"resourceVersion": "x"})
    await twins.same("GET", maps(place, "m2"), query={"resourceVersion": "99999999"})


async def test_a_page_of_a_version_goes_on_at_that_version(twins: Twins, place: str) -> None:
    await fill(twins, place, 4)
    version = (await twins.get(maps(place))).each("metadata", "resourceVersion")
    await twins.ask("DELETE", maps(place, "m2"))
    query: dict[str, Any] = {
        "resourceVersion": version,
        "resourceVersionMatch": "Exact",
        "limit": "1",
    }
    page = await twins.same("GET", maps(place), query=query)
    for _ in range(3):
        resume = page.each("metadata", "continue")
        page = await twins.same("GET", maps(place), query={"limit": "1", "continue": resume})
    assert "continue" not in page.object["metadata"]


async def test_every_page_may_have_another_selector(twins: Twins, place: str) -> None:
    await fill(twins, place, 4)
    page = await twins.get(maps(place), limit="1")
    resume = page.each("metadata", "continue")
    for query in (
        {"labelSelector": "app=x"},
        {"fieldSelector": "metadata.name=m3"},
        {"resourceVersion": "1"},
        {"resourceVersionMatch": "Exact", "resourceVersion": "1"},
        {"limit": "0"},
    ):
        await twins.same("GET", maps(place), query={"continue": resume, **query})
    other = await twins.namespace()
    await twins.same("GET", maps(other), query={"continue": resume})
    await twins.same("GET", f"{CORE}/namespaces", query={"continue": resume, "limit": "1"})


# -- forms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "accept",
    [
        TABLE,
        PARTIAL_LIST,
        TABLE.replace("v1", "v1beta1"),
        PARTIAL_LIST.replace("v1", "v1beta1"),
        TABLE.replace("v1", "v2"),
        TABLE.replace("meta.k8s.io", "x"),
        PARTIAL,
        f"{TABLE},application/json",
        "application/json;as=Odd;v=v1;g=meta.k8s.io,application/json",
        "application/json;as=Odd;v=v1;g=meta.k8s.io",
        "text/plain",
        "text/plain, */*",
        "*/*",
        "application/*",
        "application/json;q=0.5,application/yaml;q=0.4",
        "",
        "x",
        "application/json;stream=watch",
        "application/json;pretty=1",
    ],
)
async def test_forms_of_answers_are_chosen_alike(twins: Twins, place: str, accept: str) -> None:
    await fill(twins, place, 2)
    await twins.get(maps(place), accept=accept)
    await twins.get(maps(place, "m1"), accept=accept)
    await twins.get(maps(place, "none"), accept=accept)
    await twins.post(maps(place), {"metadata": {"name": "n"}}, accept=accept)
    await twins.same("DELETE", maps(place, "n"), accept=accept)
    may_look = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    await twins.post(reviews, may_look, accept=accept)
    binding = {"metadata": {"name": "none"}, "target": {"name": "n"}}
    await twins.post(f"{CORE}/namespaces/{place}/pods/none/binding", binding, accept=accept)


@pytest.mark.parametrize("include", ["None", "Metadata", "Object", "Odd", ""])
async def test_tables_hold_as_much_as_is_asked_for(
    twins: Twins, place: str, include: str
) -> None:
    await fill(twins, place, 2)
    await twins.get(maps(place), accept=TABLE, includeObject=include)
    await twins.get(maps(place, "m1"), accept=TABLE, includeObject=include)
    await twins.get(maps(place), accept=TABLE, includeObject=include, limit="1")


READABLE = (
    *("/api/v1/namespaces", "/api/v1/nodes", "/api/v1/pods", "/api/v1/secrets"),
    *("/api/v1/serviceaccounts", "/api/v1/events", "/api/v1/persistentvolumeclaims"),
    *("/api/v1/resourcequotas", "/api/v1/limitranges", "/apis/batch/v1/jobs"),
    *("/apis/batch/v1/cronjobs", "/apis/coordination.k8s.io/v1/leases"),
    *("/apis/events.k8s.io/v1/events", "/apis/scheduling.k8s.io/v1/priorityclasses"),
    *("/apis/rbac.authorization.k8s.io/v1/roles",),
    *("/apis/rbac.authorization.k8s.io/v1/rolebindings",),
    *("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",),
    *("/apis/apiextensions.k8s.io/v1/customresourcedefinitions",),
)


@pytest.mark.parametrize("path", READABLE)
async def test_every_kind_has_the_same_empty_lists_and_columns(twins: Twins, path: str) -> None:
    nothing = {"labelSelector": "none=none"}
    await twins.same("GET", path, query=nothing)
    await twins.same("GET", path, query=nothing, accept=TABLE)
    await twins.same("GET", path, query=nothing, accept=PARTIAL_LIST)
    await twins.same("GET", path, query={**nothing, "limit": "1"})


def without_owners(body: Any) -> None:
    body["metadata"].pop("managedFields")


async def test_fresh_servers_have_the_same_objects(twins: Twins) -> None:
    for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
        await twins.get(f"{CORE}/namespaces/{name}")
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    for name in ("system-cluster-critical", "system-node-critical"):
        await twins.get(f"{classes}/{name}", adapt=lambda body: body.pop("description"))
    for name in ("cluster-admin", "admin", "edit", "view", "system:basic-user"):
        # Here the server itself puts aggregated roles together, there a controller does.
        await twins.get(f"{roles}/{name}", accept=PARTIAL, adapt=without_owners)
