"""Sets of fields beside plain sets of paths."""

from collections.abc import Set as AbstractSet

import orjson
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.managed import path_steps, sets
from jobferry.localkube.apiserver.managed.sets import FieldSet

Path = tuple[str, ...]

STEPS = ("f:a", "f:b", 'k:{"p":9}', 'k:{"p":80}', 'v:"x"')
some_paths = st.frozensets(st.lists(st.sampled_from(STEPS), min_size=1, max_size=3).map(tuple))


def tree(members: AbstractSet[Path]) -> FieldSet:
    result: FieldSet = {}
    for path in members:
        node: FieldSet = {}
        for step in reversed(path):
            node = {step: node}
        result = sets.union(result, node)
    return result


def flat(fields: FieldSet) -> set[Path]:
    return set(sets.members(fields))


def is_ordered(fields: FieldSet) -> bool:
    steps = list(fields)
    return steps == sorted(steps, key=path_steps.rank) and all(map(is_ordered, fields.values()))


def is_minimal(fields: FieldSet) -> bool:
    return all(list(node) != ["."] and is_minimal(node) for node in fields.values())


@given(some_paths)
def test_a_set_has_the_members_it_is_made_of(members: frozenset[Path]) -> None:
    fields = tree(members)

    assert flat(fields) == members
    assert is_ordered(fields)
    assert is_minimal(fields)


@given(some_paths, some_paths)
def test_sets_are_joined_cut_and_met_as_sets_of_paths_are(
    one: frozenset[Path], other: frozenset[Path]
) -> None:
    pairs = [
        (sets.union, one | other),
        (sets.difference, one - other),
        (sets.intersection, one & other),
    ]
    for operation, expected in pairs:
        result = operation(tree(one), tree(other))

        assert flat(result) == expected
        assert result == tree(expected)
        assert is_ordered(result)


@given(some_paths, some_paths)
def test_what_is_below_a_member_can_be_taken_away_with_it(
    one: frozenset[Path], other: frozenset[Path]
) -> None:
    kept = {path for path in one if not any(path[: len(gone)] == gone for gone in other)}

    result = sets.without(tree(one), tree(other))

    assert result == tree(kept)


@given(some_paths, some_paths)
def test_membership_is_told(members: frozenset[Path], asked: frozenset[Path]) -> None:
    fields = tree(members)

    assert all(sets.has(fields, path) == (path in members) for path in members | asked)


@given(some_paths)
def test_a_set_is_read_as_it_is_written(members: frozenset[Path]) -> None:
    fields = tree(members)
    backwards = {step: fields[step] for step in reversed(fields)}

    assert orjson.dumps(sets.read(backwards)) == orjson.dumps(fields)


def test_nothing_is_copied_where_nothing_is_taken_away() -> None:
    fields = tree({("f:a", "f:b")})

    assert sets.difference(fields, tree({("f:a",), ("f:b", "f:a")})) is fields
    assert sets.without(fields, tree({("f:b",)})) is fields


def test_what_only_a_later_version_knows_is_dropped_with_all_that_is_below_it() -> None:
    assert sets.read({"f:a": {}, "x:1": {"!": {}}}) == {"f:a": {}}
