import contextlib

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.types import codec, protobuf, tables
from jobferry.localkube.apiserver.types.messages import Malformed
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.types import protobuf_writer
from tests.unit.localkube.apiserver.types.type_values import objects

KINDS = sorted(
    (version if version != "meta" else "v1", kind)
    for version, kind, _ in tables.kinds()
    if kind not in ("Patch", "WatchEvent")
)
POD: Obj = {
    "metadata": {
        "name": "x",
        "labels": {"a": "b"},
        "creationTimestamp": "2026-01-01T00:00:00Z",
    },
    "spec": {
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
        "containers": [
            {
                "name": "c",
                "resources": {"limits": {"cpu": "2"}},
                "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": -1},
            }
        ],
        "terminationGracePeriodSeconds": 0,
    },
}


def written(obj: Obj = POD, api_version: str = "v1", kind: str = "Pod") -> bytes:
    return protobuf_writer.body(api_version, kind, codec.decode(api_version, kind, obj).obj)


def test_an_object_reads_as_its_json_does() -> None:
    api_version, kind, obj = protobuf.decode(written())

    assert (api_version, kind) == ("v1", "Pod")
    assert codec.decode("v1", "Pod", obj) == codec.decode("v1", "Pod", POD)


@given(st.data(), st.sampled_from(KINDS))
def test_every_kind_reads_as_its_json_does(data: st.DataObject, kind: tuple[str, str]) -> None:
    sent = codec.decode(*kind, data.draw(objects(*kind))).obj

    decoded = protobuf.decode(protobuf_writer.body(*kind, sent))

    assert decoded[:2] == kind
    assert orjson.dumps(codec.decode(*kind, decoded.obj).obj) == orjson.dumps(sent)


def test_options_belong_to_every_version() -> None:
    options = {"propagationPolicy": "Foreground", "preconditions": {"uid": "u"}}

    decoded = protobuf.decode(protobuf_writer.body("batch/v1", "DeleteOptions", options))

    assert decoded == ("batch/v1", "DeleteOptions", options)


def test_fields_that_we_do_not_know_are_skipped() -> None:
    unknown = b"".join(
        (
            protobuf_writer.chunk(900, b"later"),
            protobuf_writer.scalar(901, "int64", 5),
            protobuf_writer.scalar(902, "float64", 0.5),
            protobuf_writer.varint(903 << 3 | 3)
            + protobuf_writer.text(1, "in a group")
            + protobuf_writer.varint(903 << 3 | 4),
        )
    )
    title = protobuf_writer.text(1, "v1") + protobuf_writer.text(2, "Namespace")
    body = protobuf_writer.chunk(1, title) + protobuf_writer.chunk(2, unknown)

    assert protobuf.decode(b"k8s\x00" + body).obj == {}


def test_numbers_may_be_packed() -> None:
    packed = protobuf_writer.chunk(3, b"\x01\x02\xff\x01")
    title = protobuf_writer.text(1, "batch/v1") + protobuf_writer.text(2, "Job")
    for number in (2, 1, 11, 2):  # onExitCodes, of a rule, of the podFailurePolicy, of the spec
        packed = protobuf_writer.chunk(number, packed)
    body = protobuf_writer.chunk(1, title) + protobuf_writer.chunk(2, packed)

    policy = protobuf.decode(b"k8s\x00" + body).obj["spec"]["podFailurePolicy"]

    assert policy["rules"][0]["onExitCodes"]["values"] == [1, 2, 255]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty data"),
        (b"k8s\x00", "empty body"),
        (
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (b"k8s\x00\x0a\xff", "unexpected EOF"),
        (b"k8s\x00" + b"\xff" * 11, "proto: integer overflow"),
        (b"k8s\x00\x0c", "proto: Unknown: wiretype end group for non-group"),
        (b"k8s\x00\x00\x00", "proto: Unknown: illegal tag 0 (wire type 0)"),
        (b"k8s\x00\x0f", "proto: wrong wireType = 7 for field TypeMeta"),
    ],
)
def test_what_is_no_object_is_refused_in_the_words_of_the_server(body: bytes, why: str) -> None:
    with pytest.raises(Malformed) as refused:
        protobuf.decode(body)

    assert (str(refused.value), refused.value.kind) == (why, "")


def test_a_refusal_names_the_kind_once_it_is_known() -> None:
    body = protobuf_writer.body("v1", "Pod", {"metadata": {"name": "x"}})
    wrong = body.replace(b"\x0a\x01x", b"\x08\x01x", 1)

    with pytest.raises(Malformed) as refused:
        protobuf.decode(wrong)

    assert str(refused.value) == "proto: wrong wireType = 0 for field Name"
    assert (refused.value.api_version, refused.value.kind) == ("v1", "Pod")


def test_a_kind_that_is_not_served_is_refused() -> None:
    title = protobuf_writer.text(1, "apps/v1") + protobuf_writer.text(2, "Rocket")

    with pytest.raises(Malformed, match='no kind "Rocket" is registered for version "apps/v1"'):
        protobuf.decode(b"k8s\x00" + protobuf_writer.chunk(1, title))


def test_schemas_within_schemas_have_an_end() -> None:
    schema: bytes = b""
    for _ in range(2000):
        schema = protobuf_writer.chunk(
            24, protobuf_writer.chunk(1, schema)
        )  # items, their schema
    crd = schema
    for number in (1, 4, 7, 2):  # the schema, of a version, in the spec
        crd = protobuf_writer.chunk(number, crd)
    title = protobuf_writer.text(1, "apiextensions.k8s.io/v1")
    title += protobuf_writer.text(2, "CustomResourceDefinition")
    body = protobuf_writer.chunk(1, title) + protobuf_writer.chunk(2, crd)

    with pytest.raises(Malformed, match="nested too deeply"):
        protobuf.decode(b"k8s\x00" + body)


@given(st.data())
def test_damaged_bodies_are_read_or_refused(data: st.DataObject) -> None:
    body = bytearray(written())
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(4, len(body) - 1))] = data.draw(st.integers(0, 255))
    del body[data.draw(st.integers(4, len(body))) :]

    with contextlib.suppress(Malformed):
        assert isinstance(protobuf.decode(bytes(body)).obj, dict)
