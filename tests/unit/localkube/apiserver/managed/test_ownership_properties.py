"""What holds whatever is written."""

import contextlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.localkube.apiserver.managed import comparing, footprints, sets
from jobferry.localkube.apiserver.managed.conflicts import Conflicts
from jobferry.localkube.apiserver.managed.entries import trusted
from tests.unit.localkube.apiserver.managed.managed_object import SPEC, ManagedObject

names = st.sampled_from("abc")
texts = st.sampled_from(["x", "y"])


def parts(**choices: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=choices)


deep = parts(x=texts, y=texts)
items = st.dictionaries(names, parts(value=texts, deep=deep), max_size=3).map(
    lambda found: [{"name": name, **item} for name, item in found.items()]
)
free = st.recursive(
    texts | st.none() | st.lists(texts, max_size=2),
    lambda inner: st.dictionaries(names, inner, max_size=2),
    max_leaves=4,
)
specs = parts(
    text=texts,
    whole=free,
    set=st.lists(names, unique=True, max_size=3),
    list=items,
    map=st.dictionaries(names, texts),
    structs=st.dictionaries(names, parts(value=texts, deep=deep)),
    nested=parts(inner=deep),
    free=st.dictionaries(names, free),
)
managers = st.sampled_from(["one", "two", "three"])
writes = st.lists(st.tuples(managers, st.booleans(), specs), max_size=4)


def after(history: list[tuple[str, bool, Any]]) -> ManagedObject:
    thing = ManagedObject()
    thing.update("maker", {"text": "x"})
    for manager, applies, spec in history:
        if applies:
            thing.apply(manager, spec, force=True)
        else:
            thing.update(manager, spec)
    return thing


@settings(max_examples=60)
@given(writes, specs)
def test_applying_twice_is_applying_once(history: Any, spec: Any) -> None:
    thing = after(history)

    thing.apply("me", spec, force=True)
    once = thing.stored
    thing.apply("me", spec, force=True)

    assert thing.stored == once


@settings(max_examples=60)
@given(writes, specs)
def test_what_is_applied_by_force_is_there(history: Any, spec: Any) -> None:
    thing = after(history)

    thing.apply("me", spec, force=True)

    said = footprints.footprint(SPEC, spec)
    there = footprints.with_parents(SPEC, footprints.footprint(SPEC, thing.spec))
    assert not sets.difference(said, there)


@given(specs)
def test_what_only_i_applied_goes_when_i_apply_it_no_more(spec: Any) -> None:
    thing = ManagedObject()
    thing.apply("me", spec)

    thing.apply("me", {})

    # Nobody owns an empty list, so those stay.
    assert footprints.footprint(SPEC, thing.spec) == {}


@settings(max_examples=60)
@given(writes, specs)
def test_letting_go_of_everything_leaves_the_fields_of_others(history: Any, spec: Any) -> None:
    thing = after(history)
    thing.apply("me", spec, force=True)
    others = [
        entry.fields for known, entry in trusted(thing.entries).items() if known.name != "me"
    ]

    thing.apply("me", {}, force=True)

    there = footprints.with_parents(SPEC, footprints.footprint(SPEC, thing.spec))
    for fields in others:
        owned = fields.get("f:spec", {})
        assert not sets.difference(_leaves(owned), there)


def _leaves(fields: sets.FieldSet) -> sets.FieldSet:
    """Leave out members with something below them: an empty list or map is owned, but says nothing."""
    below = {step: _leaves(node) for step, node in fields.items() if node}
    return {step: node for step, node in below.items() if node}


@settings(max_examples=60)
@given(writes, specs)
def test_who_changes_something_owns_the_change(history: Any, spec: Any) -> None:
    thing = after(history)
    before = thing.spec

    thing.update("me", spec)

    _, come = comparing.compare(SPEC, before, spec)
    owned = [
        entry.fields for known, entry in trusted(thing.entries).items() if known.name == "me"
    ]
    mine = owned[0].get("f:spec", {}) if owned else {}
    assert not sets.difference(come, mine)
    for known, entry in trusted(thing.entries).items():
        if known.name != "me":
            assert not sets.intersection(entry.fields.get("f:spec", {}), come)


@settings(max_examples=60)
@given(writes, specs, specs)
def test_an_apply_without_conflicts_takes_nothing_that_is_still_there(
    history: Any, spec: Any, other: Any
) -> None:
    thing = after(history)
    thing.update("other", other)
    before = trusted(thing.entries)
    with contextlib.suppress(Conflicts):
        thing.apply("me", spec)

    there = footprints.with_parents(SPEC, footprints.footprint(SPEC, thing.spec))
    left = trusted(thing.entries)
    for known, entry in before.items():
        if known.name != "me":
            kept = left[known].fields if known in left else {}
            lost = sets.difference(entry.fields, kept).get("f:spec", {})
            assert not sets.intersection(lost, there)
