import contextlib

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.types import codec, tables
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.types.type_values import objects

KINDS = sorted((version, kind) for version, kind, _ in tables.kinds() if version != "meta")


def job(**spec: object) -> Obj:
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec}


def refused(body: Obj, text: bytes | None = None) -> str:
    with pytest.raises(StatusError) as error:
        codec.decode("batch/v1", "Job", body, text)
    assert (error.value.code, error.value.reason) == (400, "BadRequest")
    start = 'Job in version "v1" cannot be handled as a Job: '
    assert str(error.value).startswith(start)
    return str(error.value).removeprefix(start)


def test_fields_come_in_gos_order_with_the_zero_values_that_go_prints() -> None:
    sent = job(template={"spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}})

    decoded = codec.decode("batch/v1", "Job", dict(reversed(sent.items())))

    assert orjson.dumps(decoded.obj).decode() == (
        '{"kind":"Job","apiVersion":"batch/v1","metadata":{"name":"x"},'
        '"spec":{"template":{"metadata":{},"spec":{"containers":[{"name":"c","resources":{}}],'
        '"restartPolicy":"Never"}}},"status":{}}'
    )


def test_a_struct_that_is_missing_is_printed_empty_and_new_each_time() -> None:
    first, second = (codec.decode("batch/v1", "Job", {}).obj for _ in range(2))

    assert first["spec"] == {"template": {"metadata": {}, "spec": {"containers": None}}}
    assert first["spec"]["template"] is not second["spec"]["template"]


def test_a_body_that_does_not_say_its_kind_gets_it() -> None:
    obj = codec.decode("v1", "ConfigMap", {"metadata": {"name": "x"}}).obj

    assert list(obj.items())[:2] == [("kind", "ConfigMap"), ("apiVersion", "v1")]


def test_null_and_empty_values_are_dropped_but_what_is_pointed_to_stays() -> None:
    sent = job(parallelism=0, completions=None, suspend=False, selector={}, template={})
    sent["metadata"] |= {"labels": {}, "finalizers": [], "generateName": "", "generation": 0}

    obj = codec.decode("batch/v1", "Job", sent).obj

    assert obj["metadata"] == {"name": "x"}
    assert list(obj["spec"]) == ["parallelism", "selector", "template", "suspend"]


def test_a_time_that_is_always_printed_is_null_when_it_is_not_given() -> None:
    pod = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}

    condition = codec.decode("v1", "Pod", pod).obj["status"]["conditions"][0]

    assert condition == {
        "type": "Ready",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": None,
    }


def test_null_within_a_list_or_map_is_a_zero_value() -> None:
    sent = {
        "metadata": {"labels": {"a": None}, "finalizers": [None], "ownerReferences": [None]}
    }

    metadata = codec.decode("v1", "ConfigMap", sent).obj["metadata"]

    assert metadata["labels"] == {"a": ""}
    assert metadata["finalizers"] == [""]
    assert metadata["ownerReferences"] == [
        {"apiVersion": "", "kind": "", "name": "", "uid": ""}
    ]


def test_an_empty_list_that_go_always_prints_comes_back_as_null() -> None:
    sent: Obj = {"rules": []}

    obj = codec.decode("rbac.authorization.k8s.io/v1", "ClusterRole", sent).obj

    assert obj["rules"] is None


def test_maps_are_sorted_and_quantities_and_times_are_canonical() -> None:
    sent = {
        "metadata": {"creationTimestamp": "2026-01-31T02:00:00.9+02:00"},
        "spec": {"hard": {"pods": 10, "cpu": "1000m", "memory": "1024Mi"}},
    }

    obj = codec.decode("v1", "ResourceQuota", sent).obj

    assert obj["metadata"]["creationTimestamp"] == "2026-01-31T00:00:00Z"
    assert list(obj["spec"]["hard"].items()) == [
        ("cpu", "1"),
        ("memory", "1Gi"),
        ("pods", "10"),
    ]


def test_bytes_may_be_base64_with_line_breaks_or_a_list_of_numbers() -> None:
    sent = {"data": {"a": "Y\nWJ\r\nj", "b": [97, 98, 99], "c": "YR=="}}

    assert codec.decode("v1", "Secret", sent).obj["data"] == {
        "a": "YWJj",
        "b": "YWJj",
        "c": "YQ==",
    }


def test_unknown_fields_are_dropped_and_reported_with_their_path() -> None:
    sent = job(foo=1, template={"spec": {"containers": [{"name": "c", "bar": {}}]}})
    sent["metadata"]["labels"] = {"a.b": "c"}

    decoded = codec.decode("batch/v1", "Job", sent)

    assert decoded.strict == [
        'unknown field "spec.foo"',
        'unknown field "spec.template.spec.containers[0].bar"',
    ]
    assert "foo" not in decoded.obj["spec"]


def test_the_input_is_not_changed_and_shared_where_nothing_changes() -> None:
    sent = codec.decode("batch/v1", "Job", job(suspend=True)).obj
    before = orjson.dumps(sent)
    again = codec.decode("batch/v1", "Job", sent).obj
    with_more = codec.decode("batch/v1", "Job", {**sent, "foo": 1}).obj

    assert again is sent
    assert with_more["spec"]["template"] == sent["spec"]["template"]
    assert orjson.dumps(sent) == before


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            job(parallelism="3"),
            "cannot unmarshal string into Go struct field JobSpec.spec.parallelism of type int32",
        ),
        (
            job(parallelism=2**31),
            "cannot unmarshal number 2147483648 into Go struct field JobSpec.spec.parallelism of type int32",
        ),
        (
            job(template={"spec": {"volumes": [{"emptyDir": "x"}]}}),
            (
                "cannot unmarshal string into Go struct field "
                "Volume.spec.template.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource"
            ),
        ),
        (
            job(template={"spec": {"containers": {}}}),
            (
                "cannot unmarshal object into Go struct field "
                "PodSpec.spec.template.spec.containers of type []v1.Container"
            ),
        ),
        (
            {"metadata": {"creationTimestamp": 5}},
            (
                "cannot unmarshal number into Go struct field "
                "ObjectMeta.metadata.creationTimestamp of type string"
            ),
        ),
    ],
)
def test_values_of_the_wrong_type_are_refused(body: Obj, why: str) -> None:
    assert refused(body) == f"json: {why}"


def test_the_first_mistake_in_the_text_is_reported() -> None:
    assert "JobSpec.spec.suspend of type bool" in refused(job(suspend="x", parallelism="y"))


def test_a_type_that_reads_its_own_json_has_the_last_word() -> None:
    body = job(suspend="x") | {"metadata": {"creationTimestamp": "x"}}

    assert refused(body).startswith('parsing time "x" as "2006-01-02T15:04:05Z07:00"')


def test_a_number_is_quoted_as_it_was_written() -> None:
    text = b'{"spec": {"parallelism": 1.50e0}}'

    assert "number 1.50e0 into" in refused(orjson.loads(text), text)


def test_a_quantity_that_is_a_number_is_read_as_it_was_written() -> None:
    text = b'{"spec":{"hard":{"cpu":1e3,"memory":1.50}}}'

    obj = codec.decode("v1", "ResourceQuota", orjson.loads(text), text).obj

    assert obj["spec"]["hard"] == {"cpu": "1e3", "memory": "1500m"}


def test_a_kind_that_is_not_built_in_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(LookupError):
        codec.decode("example.com/v1", "Widget", {})


@given(st.data(), st.sampled_from(KINDS))
def test_what_was_read_once_is_read_again_as_it_is(
    data: st.DataObject, kind: tuple[str, str]
) -> None:
    once = codec.decode(*kind, data.draw(objects(*kind))).obj
    shuffled = orjson.loads(orjson.dumps(once, option=orjson.OPT_SORT_KEYS))

    assert codec.decode(*kind, once).obj is once
    assert codec.decode(*kind, shuffled).obj == once


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 2**40)
    | st.floats(allow_nan=False)
    | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["metadata", "spec", "name", "template", "labels"]), inner
        )
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from(KINDS))
def test_any_json_is_read_or_refused(value: object, kind: tuple[str, str]) -> None:
    with contextlib.suppress(StatusError):
        assert isinstance(codec.decode(*kind, value).obj, dict)
