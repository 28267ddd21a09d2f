"""Both servers beside each other: what they say they serve."""

from typing import Any

import orjson
import pytest

from tests.api.twins import Both, Each, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
NOT_SERVED = frozenset(
    (
        *("admissionregistration.k8s.io", "apiregistration.k8s.io", "autoscaling"),
        *("certificates.k8s.io", "discovery.k8s.io", "flowcontrol.apiserver.k8s.io"),
        *("networking.k8s.io", "node.k8s.io"),
    )
)
"""Groups that localkube does not have: see docs/localkube.md."""

WHOLE = (
    *(
        "/apis/batch",
        "/apis/batch/v1",
        "/apis/coordination.k8s.io/v1",
        "/apis/events.k8s.io/v1",
    ),
    *("/apis/scheduling.k8s.io", "/apis/rbac.authorization.k8s.io/v1"),
    *("/apis/authentication.k8s.io/v1", "/apis/authorization.k8s.io/v1"),
    *("/apis/apiextensions.k8s.io", "/apis/apiextensions.k8s.io/v1"),
)
PARTLY = ("/api/v1", "/apis/apps/v1", "/apis/policy/v1", "/apis/storage.k8s.io/v1")


def sides(both: Both) -> tuple[Any, Any]:
    return orjson.loads(both.real.body), orjson.loads(both.ours.body)


@pytest.mark.parametrize("path", ["/api", *WHOLE])
async def test_groups_that_are_served_whole_are_described_alike(
    twins: Twins, path: str
) -> None:
    await twins.get(path)


@pytest.mark.parametrize("path", PARTLY)
async def test_resources_that_are_served_are_described_alike(twins: Twins, path: str) -> None:
    theirs, mine = sides(await twins.ask("GET", path))
    assert [each for each in theirs if each != "resources"] == [
        each for each in mine if each != "resources"
    ]
    known = {each["name"]: each for each in theirs["resources"]}
    for each in mine["resources"]:
        assert each == known[each["name"]]
    assert [each for each in known if each in {one["name"] for one in mine["resources"]}] == [
        each["name"] for each in mine["resources"]
    ]


async def test_groups_come_in_the_same_order(twins: Twins) -> None:
    theirs, mine = sides(await twins.ask("GET", "/apis"))
    custom = {
        each["name"] for each in theirs["groups"] if each["name"].endswith(".example.com")
    }
    skipped = NOT_SERVED | custom
    builtin = [each for each in mine["groups"] if each["name"] not in custom]
    assert builtin == [each for each in theirs["groups"] if each["name"] not in skipped]


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_aggregated_discovery_says_the_same(twins: Twins, path: str) -> None:
    both = await twins.ask("GET", path, accept=f"{AGGREGATED},application/json")
    assert both.ours.headers["content-type"] == both.real.headers["content-type"]
    theirs, mine = sides(both)
    groups = {each["metadata"].get("name", ""): each for each in theirs["items"]}
    for group in mine["items"]:
        name = group["metadata"].get("name", "")
        if name.endswith(".example.com"):
            continue
        known = {each["version"]: each for each in groups[name]["versions"]}
        for version in group["versions"]:
            listed = {each["resource"]: each for each in known[version["version"]]["resources"]}
            for resource in version["resources"]:
                their = listed[resource["resource"]]
                mine_names = {each["subresource"] for each in resource.get("subresources", ())}
                subresources = [
                    each
                    for each in their.get("subresources", ())
                    if each["subresource"] in mine_names
                ]
                assert resource.get("subresources", []) == subresources
                ignored = ("subresources",)
                assert {k: v for k, v in resource.items() if k not in ignored} == {
                    k: v for k, v in their.items() if k not in ignored
                }


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "*/*",
        "",
        f"{AGGREGATED},application/json",
        AGGREGATED,
        AGGREGATED.replace("v2", "v2beta1"),
        AGGREGATED.replace("v2", "v3"),
        AGGREGATED.replace("apidiscovery.k8s.io", "x"),
        "text/html",
    ],
)
async def test_forms_of_discovery_are_chosen_alike(twins: Twins, accept: str) -> None:
    for path in ("/apis", "/api"):
        both = await twins.ask("GET", path, accept=accept)
        assert both.ours.code == both.real.code
        if both.code == 200:
            assert both.ours.headers["content-type"] == both.real.headers["content-type"]
    await twins.same("GET", "/apis/batch", accept=accept)


async def test_discovery_is_kept_by_its_tag(twins: Twins) -> None:
    first = await twins.ask("GET", "/apis", accept=AGGREGATED)
    tags = [each.headers["etag"] for each in (first.real, first.ours)]
    assert all(tags)
    again = await twins.ask(
        "GET", "/apis", accept=AGGREGATED, headers={"If-None-Match": Each(*tags)}
    )
    assert (again.real.code, again.ours.code) == (304, 304)


async def test_openapi_lists_documents_of_the_same_form(twins: Twins) -> None:
    theirs, mine = sides(await twins.ask("GET", "/openapi/v3"))
    assert theirs.keys() == mine.keys()
    for path, entry in mine["paths"].items():
        if ".example.com" not in path:
            assert entry.keys() == theirs["paths"][path].keys()


@pytest.mark.parametrize("path", ["api/v1", "apis/batch/v1", "apis/coordination.k8s.io/v1"])
async def test_openapi_describes_the_same_fields(twins: Twins, path: str) -> None:
    theirs, mine = sides(await twins.ask("GET", f"/openapi/v3/{path}"))
    schemas, known = (each["components"]["schemas"] for each in (mine, theirs))
    for name, schema in schemas.items():
        if name not in known:
            continue
        assert set(schema.get("properties", ())) == set(known[name].get("properties", ())), name
        assert schema.get("required", []) == known[name].get("required", []), name
        kinds = "x-kubernetes-group-version-kind"
        if kinds in schema and ".apimachinery." not in name:
            assert all(each in known[name][kinds] for each in schema[kinds]), name
    for route in mine["paths"]:
        if route in theirs["paths"]:
            verbs = {each for each in mine["paths"][route] if each != "parameters"}
            assert verbs <= set(theirs["paths"][route]), route


@pytest.mark.parametrize(
    "path",
    [
        *("/healthz", "/livez", "/readyz", "/healthz/ping", "/livez/ping", "/readyz/ping"),
        *(
            "/version/",
            "/openapi/v3/apis/nowhere/v1",
            "/openapi/v4",
            "/openapi",
            "/openapi/v3/",
        ),
        *("/healthz/", "/healthz/none", "/livez/ping/x", "/metrics/"),
    ],
)
async def test_other_paths_are_answered_alike(twins: Twins, path: str) -> None:
    if path == "/version/":
        theirs, mine = sides(await twins.ask("GET", path))
        assert theirs.keys() == mine.keys()
        assert (theirs["major"], theirs["minor"]) == (mine["major"], mine["minor"])
    else:
        await twins.get(path)
