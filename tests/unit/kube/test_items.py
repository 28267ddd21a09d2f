import msgspec
import orjson
from hypothesis import given
from hypothesis import strategies as st

from jobferry.kube import items
from jobferry.kube.items import Head, Item, Key

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def body(json: bytes) -> bytes:
    return items.body(msgspec.json.decode(json, type=Head), json)


@given(
    spec=JSON,
    labels=st.dictionaries(st.text(), st.text()),
    managed=st.none() | st.lists(JSON, min_size=1),
    place=st.integers(0, 3),
    pretty=st.booleans(),
)
def test_only_managed_fields_are_taken_out(
    spec: object, labels: dict[str, str], managed: list[object] | None, place: int, pretty: bool
) -> None:
    meta = {"name": "a", "resourceVersion": "1", "labels": labels}
    members: list[tuple[str, object]] = list(meta.items())
    if managed is not None:
        members.insert(place, ("managedFields", managed))
    whole = {"kind": "X", "spec": spec, "metadata": dict(members)}

    kept = body(orjson.dumps(whole, option=orjson.OPT_INDENT_2 if pretty else 0))

    assert orjson.loads(kept) == {**whole, "metadata": meta}


def test_managed_fields_that_belong_to_the_user_are_kept() -> None:
    managed = [{"manager": "m"}]
    meta = {"name": "a", "resourceVersion": "1", "labels": {"managedFields": "x"}}
    copy = {"metadata": {"managedFields": managed}}
    whole = {"data": copy, "metadata": {**meta, "managedFields": managed}, "spec": copy}

    assert orjson.loads(body(orjson.dumps(whole))) == {**whole, "metadata": meta}


def test_nothing_keeps_the_buffer_alive_that_an_object_came_in() -> None:
    json = b'[{"metadata":{"name":"a","resourceVersion":"1","managedFields":[1]}}]'
    raw = msgspec.json.decode(json, type=list[msgspec.Raw])[0]
    head = msgspec.json.decode(raw, type=Head)

    assert type(items.body(head, raw)) is bytes
    assert bytes(head.metadata.managed_fields) == b""


def test_an_item_knows_its_key_identity_and_version() -> None:
    body = b'{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"12"},"x":1}'
    item = Item(msgspec.json.decode(body, type=Head), body)

    assert (item.key, item.uid, item.version) == (Key("n", "a"), "u", 12)
    assert item.object()["x"] == 1


def test_keys_read_as_kubectl_prints_them() -> None:
    assert str(Key("ns", "a")) == "ns/a"
    assert str(Key("", "node")) == "node"


def test_a_page_tells_where_the_next_one_begins() -> None:
    page = items.page(
        b'{"metadata":{"resourceVersion":"7","continue":"abc"},"items":[{"a":1}]}'
    )

    assert (page.version, page.resume, [bytes(raw) for raw in page.items]) == (
        7,
        "abc",
        [b'{"a":1}'],
    )


def test_a_bookmark_tells_whether_the_initial_events_are_over() -> None:
    plain = msgspec.Raw(
        b'{"kind":"Job","metadata":{"resourceVersion":"7","creationTimestamp":null}}'
    )
    end = msgspec.Raw(
        b'{"metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}'
    )

    assert items.bookmark(plain) == (7, False)
    assert items.bookmark(end) == (8, True)


def test_the_metadata_of_a_decoded_object_are_read_whatever_manages_its_fields() -> None:
    managed = [{"manager": "kubectl", "fieldsV1": {}}]
    decoded = {"metadata": {"name": "a", "resourceVersion": "7", "managedFields": managed}}

    assert items.metadata(decoded, items.Metadata) == items.Metadata("a", "7")
