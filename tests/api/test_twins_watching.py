"""Both servers beside each other: watches of all forms."""

import asyncio
from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from tests.api.twins import PARTIAL, TABLE, Each, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]

WATCH_LIST = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}


def maps(place: str, *parts: str) -> str:
    return "/".join((f"/api/v1/namespaces/{place}/configmaps", *parts))


async def make(twins: Twins, place: str, name: str, **labels: str) -> None:
    await twins.ask("POST", maps(place), {"metadata": {"name": name, "labels": labels}})


async def watched(twins: Twins, path: str, query: dict[str, Any], **more: Any) -> None:
    """Compare all events of a watch that lasts for a second."""
    await twins.same(
        "GET", path, query={"watch": "true", "timeoutSeconds": "1", **query}, **more
    )


async def history(twins: Twins, place: str) -> Each:
    """Let things happen; returns the version from before."""
    await make(twins, place, "old", app="x")
    listed = await twins.get(maps(place))
    await make(twins, place, "a", app="x")
    await make(twins, place, "b", app="y")
    await twins.patch(maps(place, "a"), {"data": {"k": "v"}})
    await twins.patch(maps(place, "a"), {"metadata": {"labels": {"app": "y"}}})
    await twins.patch(maps(place, "b"), {"metadata": {"labels": {"app": "x"}}})
    await twins.patch(maps(place, "b"), {"data": {"k": "v"}})
    await twins.same("DELETE", maps(place, "a"))
    await twins.same("DELETE", maps(place, "b"))
    await twins.same("DELETE", maps(place, "old"))
    await make(twins, place, "c", app="x")
    return listed.each("metadata", "resourceVersion")


async def all_watched(
    twins: Twins, path: str, queries: Iterable[dict[str, Any]], **more: Any
) -> None:
    """Compare several watches at once: each takes a second."""
    async with asyncio.TaskGroup() as tasks:
        for query in queries:
            tasks.create_task(watched(twins, path, query, **more))


CHANGES: tuple[dict[str, str], ...] = (
    {},
    {"labelSelector": "app=x"},
    {"labelSelector": "app=y"},
    {"labelSelector": "app!=x"},
    {"fieldSelector": "metadata.name=a"},
    {"fieldSelector": "metadata.name!=a"},
    {"labelSelector": "app=x", "fieldSelector": "metadata.name=b"},
    {"labelSelector": "none"},
)


async def test_changes_since_a_version_are_events(twins: Twins, place: str) -> None:
    version = await history(twins, place)
    queries = [{"resourceVersion": version, **query} for query in CHANGES]
    await all_watched(twins, maps(place), queries)


@pytest.mark.parametrize("accept", [TABLE, PARTIAL, "application/json;stream=watch"])
async def test_events_come_in_the_form_that_is_asked_for(
    twins: Twins, place: str, accept: str
) -> None:
    version = await history(twins, place)
    queries: list[dict[str, Any]] = []
    for selector in ("", "app=x"):
        query = {"resourceVersion": version, "labelSelector": selector}
        queries += [query, {"labelSelector": selector}, {**WATCH_LIST, **query}]
    await all_watched(twins, maps(place), queries, accept=accept)


OPTIONS: tuple[dict[str, str], ...] = (
    {},
    {"resourceVersion": ""},
    {"resourceVersion": "0"},
    {"resourceVersion": "x"},
    {"resourceVersion": "-1"},
    {"limit": "1"},
    {"continue": "x"},
    {"labelSelector": "app in ("},
    {"fieldSelector": "spec.x=1"},
    {"fieldSelector": "metadata.name=b"},
    {"timeoutSeconds": "x"},
    {"resourceVersionMatch": "Exact"},
    {"resourceVersionMatch": "NotOlderThan"},
    {"sendInitialEvents": "true"},
    {"sendInitialEvents": "false"},
    {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
    {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"},
    {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"},
    {**WATCH_LIST},
    {**WATCH_LIST, "resourceVersion": "0"},
    {**WATCH_LIST, "resourceVersion": "x"},
    {**WATCH_LIST, "labelSelector": "app=x"},
    {**WATCH_LIST, "fieldSelector": "metadata.name=b"},
    {**WATCH_LIST, "limit": "1"},
    {**WATCH_LIST, "resourceVersion": "99999999"},
    {"allowWatchBookmarks": "true"},
    {"allowWatchBookmarks": "true", "resourceVersion": "0"},
    {"allowWatchBookmarks": "true", "labelSelector": "app=z"},
    {**WATCH_LIST, "continue": "x"},
    {"watch": "1"},
    {"watch": "x"},
    {"watch": ""},
    {"includeObject": "Odd"},
    {"pretty": "true"},
)


async def test_options_of_watches_are_read_alike(twins: Twins, place: str) -> None:
    await make(twins, place, "a", app="x")
    await make(twins, place, "b", app="y")
    await all_watched(twins, maps(place), OPTIONS)


async def test_an_empty_namespace_has_nothing_to_see(twins: Twins, place: str) -> None:
    await watched(twins, maps(place), {})
    await watched(twins, maps(place), WATCH_LIST)
    await watched(twins, maps("nowhere"), {})


async def test_one_object_may_be_watched_by_its_path(twins: Twins, place: str) -> None:
    await make(twins, place, "a", app="x")
    await make(twins, place, "b", app="x")
    await watched(twins, maps(place, "a"), {})
    old_way = maps(place, "a").replace("/v1/", "/v1/watch/")
    await watched(twins, old_way, {})
    await watched(twins, maps(place).replace("/v1/", "/v1/watch/"), {})


async def test_watches_see_what_happens_while_they_last(twins: Twins, place: str) -> None:
    await make(twins, place, "a", app="x")
    query = {"watch": "true", "timeoutSeconds": "2", "labelSelector": "app=x"}
    async with asyncio.TaskGroup() as tasks:
        watch = tasks.create_task(twins.ask("GET", maps(place), query=query))
        await asyncio.sleep(0.5)
        await make(twins, place, "b", app="y")
        await twins.patch(maps(place, "b"), {"metadata": {"labels": {"app": "x"}}})
        await twins.patch(maps(place, "a"), {"metadata": {"labels": None}})
        await twins.same("DELETE", maps(place, "a"))
        await twins.same("DELETE", maps(place, "b"))
    both = watch.result()
    types = [
        [orjson.loads(line)["type"] for line in each.body.splitlines()]
        for each in (both.real, both.ours)
    ]
    assert types[0] == types[1] == ["ADDED", "ADDED", "DELETED", "DELETED"]


async def test_deletes_tell_of_the_last_state(twins: Twins, place: str) -> None:
    pods = f"/api/v1/namespaces/{place}/pods"
    listed = await twins.get(pods)
    spec = {"containers": [{"name": "a", "image": "a"}], "nodeName": "n"}
    await twins.post(pods, {"metadata": {"name": "p"}, "spec": spec})
    await twins.same("DELETE", f"{pods}/p")
    await twins.same("DELETE", f"{pods}/p", {"gracePeriodSeconds": 0})
    version = listed.each("metadata", "resourceVersion")
    await watched(twins, pods, {"resourceVersion": version})
    await watched(twins, pods, {"resourceVersion": version}, accept=TABLE)
    await watched(twins, pods, {"resourceVersion": version, "fieldSelector": "spec.nodeName=n"})


async def test_finalizers_are_events_of_their_own(twins: Twins, place: str) -> None:
    listed = await twins.get(maps(place))
    body = {"metadata": {"name": "f", "finalizers": ["a.b/c"]}}
    await twins.post(maps(place), body)
    await twins.same("DELETE", maps(place, "f"))
    await twins.patch(maps(place, "f"), {"metadata": {"finalizers": None}})
    version = listed.each("metadata", "resourceVersion")
    await watched(twins, maps(place), {"resourceVersion": version})


async def test_namespaces_and_events_are_watched(twins: Twins, place: str) -> None:
    selected = {"fieldSelector": f"metadata.name={place}"}
    await watched(twins, "/api/v1/namespaces", selected)
    events = f"/api/v1/namespaces/{place}/events"
    body = {"metadata": {"name": "e"}, "involvedObject": {"namespace": place, "name": "x"}}
    listed = await twins.get(events)
    await twins.post(events, body)
    version = listed.each("metadata", "resourceVersion")
    newer = events.replace("/api/v1", "/apis/events.k8s.io/v1")
    for path in (events, newer):
        await watched(twins, path, {"resourceVersion": version})
        await watched(twins, path, {"resourceVersion": version}, accept=TABLE)
