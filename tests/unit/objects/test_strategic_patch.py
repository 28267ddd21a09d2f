import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects import Obj, merge_keys, strategic_patch
from jobferry.objects.equality import same
from jobferry.objects.patch_errors import BadPatch, CannotMerge, DoesNotApply, Malformed

POD = merge_keys.fields_of("v1", "Pod")
BUDGET = merge_keys.fields_of("policy/v1", "PodDisruptionBudget")

A, B, C, D = ({"name": name} for name in "abcd")
AX = {"name": "a", "image": "x"}
REPLACE = {"$patch": "replace"}


def metadata(**members: Any) -> Obj:
    return {"metadata": members}


def finalizers(*names: str, **directives: Any) -> Obj:
    return metadata(finalizers=list(names), **directives)


def spec(*containers: Any, **members: Any) -> Obj:
    return {"spec": {"containers": list(containers), **members}}


def ordered(field: str, *items: Any) -> dict[str, Any]:
    return {f"$setElementOrder/{field}": list(items)}


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        # Objects are merged, null deletes, lists without a merge key are replaced.
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, None, {"a": 1}),
        (metadata(name="x", labels={"a": "1"}), metadata(labels={"b": "2"}), metadata(name="x", labels={"a": "1", "b": "2"})),
        (metadata(labels={"a": "1", "b": "2"}), metadata(labels={"a": None, "c": None}), metadata(labels={"b": "2"})),
        (metadata(labels={"a": "1"}), metadata(labels=None), metadata()),
        (metadata(), metadata(labels={"a": None, "b": "1"}), metadata(labels={"b": "1"})),
        (metadata(labels=None), metadata(labels={"b": "1"}), metadata(labels={"b": "1"})),
        (spec({**A, "args": ["x", "y"]}), spec({**A, "args": ["z"]}), spec({**A, "args": ["z"]})),
        ({"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"tolerations": [{"key": "b"}]}}, {"spec": {"tolerations": [{"key": "b"}]}}),
        # Lists of plain values are sets: what the patch names comes first, unless it was there.
        (finalizers("a", "b"), finalizers("c"), finalizers("c", "a", "b")),
        (finalizers("a", "b"), finalizers("b", "b"), finalizers("a", "b")),
        (finalizers("a", "b"), finalizers("b", "a"), finalizers("b", "a")),
        (finalizers(), finalizers(), finalizers()),
        (metadata(), finalizers("a"), finalizers("a")),
        # Lists of objects are merged by their key.
        (spec(A, B), spec(AX), spec(AX, B)),
        (spec(A, B), spec(C), spec(C, A, B)),
        (spec(A, B), spec(B, C), spec(A, B, C)),
        (spec(A, B), spec(B, A), spec(B, A)),
        (spec(A), spec(C, {**C, "image": "x"}), spec({**C, "image": "x"}, A)),
        (spec({**A, "ports": [{"containerPort": 1}]}), spec({**A, "ports": [{"containerPort": 1, "name": "p"}]}), spec({**A, "ports": [{"containerPort": 1, "name": "p"}]})),
        (spec({**A, "ports": [{"containerPort": 1}]}), spec({**A, "ports": [{"containerPort": 1.0}]}), spec({**A, "ports": [{"containerPort": 1.0}, {"containerPort": 1}]})),
        (spec(AX), spec({**A, "image": None}), spec(A)),
        # What replaces something of another type has its nulls and directives taken out.
        ({"spec": {"a": 1}}, {"spec": {"a": {"b": None, "c": [{"d": None}]}}}, {"spec": {"a": {"c": [{}]}}}),
        ({"spec": {"a": 1}}, {"spec": {"a": {"$patch": "delete"}}}, {"spec": {}}),
        ({}, {"spec": {"a": REPLACE, "b": [{"$patch": "delete"}, 1]}}, {"spec": {"b": [1]}}),
        # $patch
        (metadata(labels={"a": "1"}), metadata(labels={"b": "2", **REPLACE}), metadata(labels={"b": "2"})),
        (metadata(labels={"a": "1"}), metadata(labels={"b": "2", "$patch": "delete"}), metadata(labels={})),
        ({"a": 1}, {"$patch": "delete"}, {}),
        (spec(A, B), spec({**A, "$patch": "delete"}), spec(B)),
        (spec(A, B), spec({**C, "$patch": "delete"}), spec(A, B)),
        (spec(A, B), spec(D, C, REPLACE), spec(D, C)),
        (spec(A, B), spec(REPLACE), spec()),
        # $retainKeys
        (metadata(labels={"a": "1", "b": "2"}), metadata(labels={"$retainKeys": ["a", "c"], "c": "3"}), metadata(labels={"a": "1", "c": "3"})),
        (metadata(labels={"a": "1"}), metadata(labels={"$retainKeys": [], "b": None}), metadata(labels={})),
        ({"spec": {"volumes": [{**A, "emptyDir": {}}]}}, {"spec": {"volumes": [{**A, "$retainKeys": ["name", "hostPath"], "hostPath": {}}]}}, {"spec": {"volumes": [{**A, "hostPath": {}}]}}),
        # $deleteFromPrimitiveList
        (finalizers("a", "b"), {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "c"]}}, finalizers("b")),
        (finalizers("a"), {"metadata": {"$deleteFromPrimitiveList/finalizers": None}}, metadata()),
        (finalizers(), {"metadata": {"$deleteFromPrimitiveList/finalizers": []}}, finalizers()),
        (metadata(), {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}, metadata()),
        (finalizers("a", "b"), finalizers("c", **{"$deleteFromPrimitiveList/finalizers": ["a"]}), finalizers("c", "b")),
        # $setElementOrder
        (spec(A, B, C), {"spec": ordered("containers", C, A)}, spec(B, C, A)),
        (spec(A, B, C), {"spec": ordered("containers", C, B, A)}, spec(C, B, A)),
        (spec(A, B, C), {"spec": ordered("containers", B, A)}, spec(B, A, C)),
        (spec(A, B), spec(D, **ordered("containers", B, D)), spec(A, B, D)),
        (spec(A, B), spec(D, {**A, "$patch": "delete"}, **ordered("containers", D)), spec(B, D)),
        (spec(A, B), spec(REPLACE, D, C, **ordered("containers", D, C)), spec(D, C)),
        ({"spec": {}}, spec(A, B, {**C, "$patch": "delete"}, **ordered("containers", A, B)), spec(A, B)),
        ({"spec": {}}, spec({**A, "env": None}, **ordered("containers", A)), spec({**A, "env": None})),
        ({"spec": {}}, {"spec": ordered("containers", A)}, {"spec": {}}),
        (finalizers("a", "b"), {"metadata": ordered("finalizers", "b", "a", "c")}, finalizers("b", "a")),
        (finalizers("a", "b"), finalizers("c", **ordered("finalizers", "b", "c")), finalizers("a", "b", "c")),
    ],
)  # fmt: skip
def test_a_patch_is_applied(target: Any, patch: Any, result: Any) -> None:
    assert same(strategic_patch.apply(target, patch, POD), result)


def test_an_object_that_is_replaced_as_a_whole_is_not_merged() -> None:
    target = {"spec": {"selector": {"matchLabels": {"a": "1"}}, "minAvailable": 1}}
    patch = {"spec": {"selector": {"matchLabels": {"b": "2"}}}}

    result = strategic_patch.apply(target, patch, BUDGET)

    assert result == {"spec": {"selector": {"matchLabels": {"b": "2"}}, "minAvailable": 1}}


FULL = spec(A, B) | finalizers("a", "b")


@pytest.mark.parametrize(
    ("patch", "kind", "message"),
    [
        ([], Malformed, "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ({"$patch": "frob"}, CannotMerge, "unknown patch type: frob in map: map[$patch:frob]"),
        ({"$patch": "merge", "a": 1}, CannotMerge, "unknown patch type: merge in map: map[$patch:merge a:1]"),
        (spec({**A, "$patch": "frob"}), CannotMerge, "unknown patch type: frob in map: map[$patch:frob name:a]"),
        (spec({**A, "$patch": "merge"}), CannotMerge, "merging lists cannot yet be specified in the patch"),
        (spec({"image": "x"}), CannotMerge, "map: map[image:x] does not contain declared merge key: name"),
        (spec({"$patch": "delete"}), CannotMerge, "map: map[$patch:delete] does not contain declared merge key: name"),
        (spec("x"), CannotMerge, "list element types are not identical: [[map[name:a] map[name:b]] [x]]"),
        (spec({"name": {}}), Malformed, "map[] stands where a plain value is needed"),
        (finalizers(1), CannotMerge, "list element types are not identical: [[a b] [1]]"),  # type: ignore[arg-type]
        ({"$retainKeys": "x"}, Malformed, "invalid patch format of retainKeys"),
        ({"$retainKeys": ["a", {}], "b": 1}, Malformed, "invalid patch format of retainKeys"),
        ({"$deleteFromPrimitiveList": []}, Malformed, "invalid patch format of primitive list"),
        ({"$deleteFromPrimitiveLists/a": []}, Malformed, "invalid patch format of primitive list"),
        ({"$setElementOrder": []}, Malformed, "invalid patch format of setElementOrder list"),
        ({"$setElementOrder/a": "x"}, CannotMerge, "expected a []interface {}, but received a string"),
        ({"$setElementOrder/spec": []}, CannotMerge, "expected a []interface {}, but received a map[string]interface {}"),
        (metadata(finalizers=None, **ordered("finalizers")), CannotMerge, "expected a []interface {}, but received a %!s(<nil>)"),
        (spec("x", **ordered("containers", A)), CannotMerge, "expected a map[string]interface {}, but received a string"),
        (spec(B, A, **ordered("containers", A, B)), CannotMerge, "The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n"),
        (spec(A, REPLACE, **ordered("containers", A)), CannotMerge, "The order in patch list:\n[map[name:a] map[$patch:replace]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n"),
        (metadata(ownerReferences=[], **ordered("ownerReferences")), CannotMerge, "no elements in any of the given slices"),
    ],
)  # fmt: skip
def test_a_patch_that_cannot_be_merged_is_refused(
    patch: Any, kind: type[BadPatch], message: str
) -> None:
    with pytest.raises(kind) as refused:
        strategic_patch.apply(FULL, patch, POD)

    assert refused.value.answer == message


@pytest.mark.parametrize("item", [["a"], None])
def test_lists_of_lists_and_of_nulls_are_not_merged(item: Any) -> None:
    with pytest.raises(DoesNotApply):
        strategic_patch.apply(finalizers(), metadata(finalizers=[item]), POD)


names = st.sampled_from("abcd")
texts = st.sampled_from("xy")


def lists_of(key: str, identity: st.SearchStrategy[Any], **members: Any) -> Any:
    items = st.fixed_dictionaries({key: identity}, optional=members)
    return st.lists(items, max_size=4, unique_by=lambda item: item[key])


ports = lists_of("containerPort", st.integers(1, 3), name=names)
containers = lists_of("name", names, image=texts, args=st.lists(texts), ports=ports)
labels = st.dictionaries(names, texts)
finalizer_lists = st.lists(names, unique=True)
objects = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries({}, optional={"labels": labels, "finalizers": finalizer_lists}),
        "spec": st.fixed_dictionaries({}, optional={"containers": containers, "nodeSelector": labels}),
    },
)  # fmt: skip
deletions = st.fixed_dictionaries({"name": names, "$patch": st.just("delete")})
patches = st.fixed_dictionaries(
    {},
    optional={
        "metadata": st.fixed_dictionaries(
            {}, optional={"labels": st.dictionaries(names, texts | st.none()), "finalizers": finalizer_lists}
        ),
        "spec": st.fixed_dictionaries(
            {},
            optional={
                "containers": st.tuples(containers, st.lists(deletions, max_size=1)).map(lambda both: both[0] + both[1]),
                "nodeSelector": st.none() | st.fixed_dictionaries({"$patch": st.just("replace")}, optional={"a": texts}),
            },
        ),
    },
)  # fmt: skip


@given(objects, patches)
def test_inputs_are_left_alone(target: Obj, patch: Obj) -> None:
    before = copy.deepcopy([target, patch])

    strategic_patch.apply(target, patch, POD)

    assert same(before, [target, patch])


@given(objects, patches)
def test_applying_twice_is_applying_once(target: Obj, patch: Obj) -> None:
    once = strategic_patch.apply(target, patch, POD)

    assert same(strategic_patch.apply(once, patch, POD), once)


@given(finalizer_lists, finalizer_lists)
def test_a_merged_list_keeps_the_order_of_the_patch(
    target: list[str], patch: list[str]
) -> None:
    result = strategic_patch.apply(finalizers(*target), finalizers(*patch), POD)
    merged = result["metadata"]["finalizers"]

    assert sorted(merged) == sorted({*target, *patch})
    assert [name for name in merged if name in patch] == patch
    others = [name for name in target if name not in patch]
    assert [name for name in merged if name not in patch] == others


@given(finalizer_lists.filter(bool), st.permutations("abcd"))
def test_a_list_can_be_put_in_any_order(target: list[str], order: list[str]) -> None:
    patch = {"metadata": ordered("finalizers", *order)}

    result = strategic_patch.apply(finalizers(*target), patch, POD)

    assert result["metadata"]["finalizers"] == [name for name in order if name in target]


def test_what_is_not_changed_is_shared() -> None:
    target: Any = spec({**A, "args": ["x"]}, {**B, "args": ["y"]})

    result = strategic_patch.apply(target, spec({**A, "image": "x"}), POD)

    assert result["spec"]["containers"][1] is target["spec"]["containers"][1]
    assert result["spec"]["containers"][0]["args"] is target["spec"]["containers"][0]["args"]


def test_a_patch_that_is_nested_too_deeply_is_refused() -> None:
    patch: Any = {}
    for _ in range(100_000):
        patch = {"a": patch}

    with pytest.raises(Malformed, match="exceeded max depth"):
        strategic_patch.apply({}, patch, POD)
