"""Both servers beside each other: bodies in JSON, YAML and protobuf, well and badly formed."""

from typing import Any

import pytest

from jobferry.objects import Obj
from tests.api.test_twins_kinds import without_controllers
from tests.api.twins import JSON, PROTOBUF, YAML, Twins
from tests.api.types_places import PLACES
from tests.api.types_refused import REFUSED
from tests.api.types_rich import RICH
from tests.unit.localkube.apiserver.types import protobuf_writer

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

DRY = {"dryRun": "All"}
NOT_SERVED = (
    *("PodTemplate", "Deployment", "Ingress", "HorizontalPodAutoscaler"),
    *(
        "Service",
        "PersistentVolume",
        "ReplicationController",
        "DaemonSet",
        "ReplicaSet",
        "StatefulSet",
    ),
    *("PodDisruptionBudget", "StorageClass", "CSIDriver", "CSINode", "CSIStorageCapacity"),
    *("VolumeAttachment", "ResourceClaim", "ResourceSlice", "DeviceClass", "ClusterRole"),
)
"""Kinds that localkube does not have, or stores without rules; and one with an empty list."""


def maps(place: str, *parts: str) -> str:
    return "/".join((f"/api/v1/namespaces/{place}/configmaps", *parts))


def served(kind: str) -> bool:
    return kind in PLACES and kind not in NOT_SERVED


def titled(obj: Obj) -> Obj:
    return {**obj, "metadata": {"name": "rich", **obj.get("metadata", {})}}


async def test_odd_bodies_are_refused_in_the_same_words(twins: Twins) -> None:
    for kind, text in REFUSED:
        if not served(kind) or kind == "CustomResourceDefinition":
            continue
        path = PLACES[kind][1]
        for validation in ("Strict", "Warn"):
            query = {**DRY, "fieldValidation": validation}
            await twins.same(
                "POST", path, text, title=f"{kind} {text}"[:200], query=query,
                any_order=True, adapt=without_controllers,
            )  # fmt: skip


async def test_rich_objects_come_back_alike(twins: Twins) -> None:
    for kind, obj in RICH:
        if served(kind):
            await twins.same(
                "POST", PLACES[kind][1], titled(obj), title=kind, query=DRY,
                any_order=True, adapt=without_controllers,
            )  # fmt: skip


async def test_rich_objects_are_read_from_protobuf(twins: Twins) -> None:
    for kind, obj in RICH:
        if not served(kind):
            continue
        api_version, path = PLACES[kind]
        body = protobuf_writer.body(api_version, kind, titled(obj))
        await twins.same(
            "POST", path, body, title=kind, query=DRY, content_type=PROTOBUF,
            any_order=True, adapt=without_controllers,
        )  # fmt: skip


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"}", b"[]", b"null", b"1", b'"x"', b"true", b"{}{}", b"{},", b"\xff\xfe"),
        *(b"{'a': 1}", b'{"metadata":{"name":"a"},}', b'{"a":tru}', b'{"a":01}', b'{"a":1.}'),
        *(b'{"a":"\\x"}', b'{"a":"\\u12"}', b'{"a":"\n"}', b'{"a"', b'{"a":', b'{"a":1'),
        *(b"metadata:\n  name: a\n", b"a: [", b"a: b: c", b"\t", b"- a", b"&a a: b"),
        *(b'{"metadata":{"name":"a"},"data":{"a":"\\ud800"}}', b"{}\x00", b"\x00"),
        *(b"k8s\x00", b"k8s\x00\x0a\x00"),
        *(b'{"metadata":{"name":"a"},"data":{"a":"\xff"}}',),
        *(
            b"---\n---\n",
            b"---\nmetadata: {name: a}\n...\n",
            b"{a: b}",
        ),
        *(b"metadata: {name: a}\ndata: {a: 1}", b"metadata: {name: a}\ndata: {1: x}", b"? a"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("content_type", [JSON, YAML, PROTOBUF])
async def test_malformed_bodies_are_refused_alike(
    twins: Twins, place: str, body: bytes, content_type: str
) -> None:
    await twins.same("POST", maps(place), body, content_type=content_type, query=DRY)


@pytest.mark.parametrize(
    "content_type",
    [
        *(
            "text/plain",
            "application/xml",
            "application/json; charset=utf-8",
            "Application/JSON",
        ),
        *("application/json;x", "*/*", "application/*", "json", ",", "application/cbor"),
        *("application/x-www-form-urlencoded", "multipart/form-data; boundary=x"),
        "application/vnd.kubernetes.protobuf;type=x",
    ],
)
async def test_types_of_bodies_are_known_or_not(
    twins: Twins, place: str, content_type: str
) -> None:
    body = b'{"metadata":{"name":"a"}}'
    await twins.same("POST", maps(place), body, content_type=content_type, query=DRY)
    await twins.same("PUT", maps(place, "a"), body, content_type=content_type)
    await twins.same("DELETE", maps(place, "a"), b"{}", content_type=content_type)


async def test_yaml_is_read_as_json_is(twins: Twins, place: str) -> None:
    for text in (
        "metadata: {name: a, labels: {a: 'true', b: x}}\ndata:\n  k: |\n    a\n    b\n",
        "metadata: {name: b, labels: {a: true}}",
        "metadata: {name: c, labels: {a: 1.5}}",
        "metadata: {name: d}\ndata: {a: ~}",
        "metadata: {name: e}\ndata: {a: 2020-01-01}",
        "metadata: {name: f}\ndata: {on: off}",
        "metadata: {name: g}\ndata: &x {a: b}\nbinaryData: *x",
        "# nothing but a comment",
        "metadata: {name: h}\nimmutable: yes",
        "metadata: {name: i}\nimmutable: 'yes'",
        "metadata: {name: j}\ndata: {a: 0x10, b: 010, c: 1_000}",
        '{metadata: {name: k}, data: {a: "\\u00e9"}}',
        "%YAML 1.2\n---\nmetadata: {name: l}",
        "metadata: {name: m}\ndata: {a: b, a: c}\n---\nx: y",
        "metadata: {name: n}\ndata: {a: .inf}",
        "metadata: {name: o}\ndata: {~: a}",
        "metadata: {name: p}\ndata: *x",
        "metadata: {name: q}\ndata: !own {a: !own 1, b: !!binary //8=}",
        "metadata: {name: r}\ndata: {a: !!int x}",
        "metadata: {name: s}\ndata: [a, b",
        "kind: List\napiVersion: v1\nitems: []",
    ):
        await twins.same("POST", maps(place), text, content_type=YAML, title=text)


@pytest.mark.parametrize("query", [{}, {"pretty": "true"}, {"pretty": "0"}], ids=str)
@pytest.mark.parametrize("agent", ["curl/8.5.0", "kubectl/v1.35.8"])
async def test_answers_are_laid_out_alike(
    twins: Twins, place: str, query: dict[str, str], agent: str
) -> None:
    for path in (maps(place), maps(place, "none"), "/api/v1/nothing", "/api", "/apis/batch/v1"):
        both = await twins.ask("GET", path, query=query, headers={"User-Agent": agent})
        theirs, mine = (
            (each.body.count(b"\n"), each.body.endswith(b"\n"))
            for each in (both.real, both.ours)
        )
        assert mine == theirs, path


async def test_answers_say_which_request_they_answer(twins: Twins) -> None:
    for path in ("/api/v1/namespaces/default", "/api/v1/namespaces/none", "/healthz", "/none"):
        both = await twins.ask("GET", path, headers={"Audit-ID": "one-two"})
        known = {"audit-id", "date", "cache-control", "content-type", "x-content-type-options"}
        theirs, mine = (known & each.headers.keys() for each in (both.real, both.ours))
        assert mine == theirs, path
        assert both.ours.headers["audit-id"] == "one-two"


# -- limits -----------------------------------------------------------------------------------------


async def test_bodies_may_be_too_large(twins: Twins, place: str) -> None:
    limit = 3 * 1024 * 1024
    for size in (limit + 1, 2 * limit):
        await twins.same("POST", maps(place), b" " * size)
    await twins.ask("POST", maps(place), {"metadata": {"name": "a"}})
    big = {"data": {"a": "x" * (limit + 10)}}
    await twins.patch(maps(place, "a"), big)
    for size in (1 << 20, (1 << 20) + 1):
        body = {"metadata": {"name": f"b{size}"}, "data": {"a": "x" * (size - 1)}}
        await twins.post(maps(place), body, adapt=without_data)


def without_data(body: Any) -> None:
    if isinstance(body, dict) and body.get("data"):
        body["data"] = {key: len(value) for key, value in body["data"].items()}


@pytest.mark.parametrize("depth", [100, 190])
async def test_bodies_may_be_deep(twins: Twins, place: str, depth: int) -> None:
    nested = b'{"metadata":{"name":"a"},"x":' + b"[" * depth + b"]" * depth + b"}"
    await twins.same("POST", maps(place), nested, query=DRY)
    nested = b'{"metadata":{"name":"a"},"x":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}"
    await twins.same("POST", maps(place), nested, query=DRY)


async def test_bodies_that_are_far_too_deep_are_refused(twins: Twins, place: str) -> None:
    nested = b'{"metadata":{"name":"a"},"x":' + b"[" * 20_000 + b"]" * 20_000 + b"}"
    both = await twins.ask("POST", maps(place), nested, query=DRY)
    assert (both.real.code, both.ours.code) == (400, 400)
