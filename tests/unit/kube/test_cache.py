from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from jobferry.kube.cache import Cache, Change
from jobferry.kube.items import Head, Item, Key, Metadata


def item(name: str, version: int, uid: str = "u", color: str = "red") -> Item[Head]:
    meta = Metadata(
        name=name,
        resource_version=str(version),
        uid=uid,
        namespace="n",
        labels={"color": color},
    )
    return Item(Head(meta), b"{}")


def by_color(found: Item[Head]) -> Iterable[str]:
    return [found.head.metadata.labels["color"]]


def key(name: str) -> Key:
    return Key("n", name)


def test_a_later_state_replaces_an_earlier_one() -> None:
    cache: Cache[Head] = Cache()
    old, new = item("a", 1), item("a", 2)

    assert cache.put(old) == [Change(None, old)]
    assert cache.put(new) == [Change(old, new)]
    assert cache.get(key("a")) is new


def test_an_earlier_or_equal_state_is_ignored() -> None:
    cache: Cache[Head] = Cache()
    cache.put(item("a", 2))

    assert cache.put(item("a", 1)) == []
    assert cache.put(item("a", 2)) == []


def test_an_object_made_again_under_its_name_is_told_as_a_delete_and_a_create() -> None:
    cache: Cache[Head] = Cache()
    first, second = item("a", 1, uid="first"), item("a", 5, uid="second")
    cache.put(first)

    assert cache.put(second) == [Change(first, None), Change(None, second)]


def test_a_delete_older_than_what_is_known_is_ignored() -> None:
    cache: Cache[Head] = Cache()
    cache.put(item("a", 5))

    assert cache.remove(key("a"), 4) == []
    assert len(cache.remove(key("a"), 6)) == 1
    assert cache.remove(key("a"), 7) == []


def test_an_object_known_to_be_gone_does_not_come_back_by_a_late_event() -> None:
    cache: Cache[Head] = Cache()
    cache.put(item("a", 1, uid="dead"))

    assert len(cache.remove_gone(key("a"), "dead")) == 1
    assert cache.put(item("a", 2, uid="dead")) == []
    assert len(cache.put(item("a", 4, uid="other"))) == 1


def test_the_news_that_an_object_is_gone_does_not_touch_its_successor() -> None:
    cache: Cache[Head] = Cache()
    cache.put(item("a", 4, uid="successor"))

    assert cache.remove_gone(key("a"), "dead") == []
    assert cache.get(key("a")) is not None


def test_a_list_removes_what_it_does_not_name_unless_that_is_newer() -> None:
    cache: Cache[Head] = Cache()
    stale, ours = item("stale", 3), item("ours", 12)
    cache.put(stale)
    cache.put(ours)

    changes = cache.replace([item("listed", 5)], version=10)

    assert {change.item.head.metadata.name for change in changes} == {"listed", "stale"}
    assert cache.get(key("ours")) is ours
    assert cache.get(key("stale")) is None


def test_an_index_finds_objects_by_what_they_are_now() -> None:
    cache: Cache[Head] = Cache({"color": by_color})
    cache.put(item("a", 1, color="red"))
    cache.put(item("b", 2, color="red"))
    cache.put(item("a", 3, color="blue"))

    assert [found.head.metadata.name for found in cache.by("color", "red")] == ["b"]
    assert [found.head.metadata.name for found in cache.by("color", "blue")] == ["a"]
    assert cache.by("color", "green") == []


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "remove", "gone", "replace"]),
        st.sampled_from("abc"),
        st.integers(1, 9),
        st.sampled_from(["red", "blue"]),
    )
)


@given(STEPS)
def test_indexes_and_told_changes_always_agree_with_the_objects(
    steps: list[tuple[str, str, int, str]],
) -> None:
    cache: Cache[Head] = Cache({"color": by_color})
    told: dict[Key, Item[Head]] = {}
    for what, name, version, color in steps:
        state = item(name, version, uid=f"{name}{version // 4}", color=color)
        changes = {
            "put": lambda state=state: cache.put(state),
            "remove": lambda state=state: cache.remove(state.key, state.version),
            "gone": lambda state=state: cache.remove_gone(state.key, state.uid),
            "replace": lambda state=state: cache.replace([state], state.version),
        }[what]()
        for change in changes:
            assert told.get(change.item.key) is change.before
            told.pop(change.item.key, None)
            if change.after is not None:
                told[change.item.key] = change.after

    assert {found.key: found for found in cache} == told
    for shade in ("red", "blue"):
        expected = {
            k for k, found in told.items() if found.head.metadata.labels["color"] == shade
        }
        assert {found.key for found in cache.by("color", shade)} == expected
