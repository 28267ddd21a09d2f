import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.runtime.ranking import Ranking

PUTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=60)


@settings(deadline=None)
@given(PUTS, st.sets(st.integers(0, 9)))
def test_items_come_out_by_their_lowest_rank_and_then_in_the_order_they_came(
    puts: list[tuple[int, int]], removed: set[int]
) -> None:
    ranking: Ranking[int] = Ranking()
    lowest: dict[int, int] = {}
    for item, rank in puts:
        ranking.put(item, rank)
        lowest[item] = min(rank, lowest.get(item, rank))
    for item in removed:
        ranking.discard(item)
        lowest.pop(item, None)

    assert len(ranking) == len(lowest)
    # A dict keeps the order of first insertion, and sorting is stable.
    assert [ranking.pop() for _ in range(len(ranking))] == sorted(
        lowest, key=lowest.__getitem__
    )


def test_an_empty_ranking_has_no_first_and_nothing_to_pop() -> None:
    ranking: Ranking[str] = Ranking()
    ranking.put("a", 1)
    ranking.discard("a")

    assert ranking.first() is None
    with pytest.raises(IndexError):
        ranking.pop()


def test_the_oldest_is_the_one_that_has_been_there_longest() -> None:
    ranking: Ranking[str] = Ranking()
    ranking.put("old", 9)
    ranking.put("new", 0)
    ranking.put("old", 5)

    assert ranking.oldest() == "old"


def test_what_is_out_of_date_does_not_pile_up() -> None:
    ranking: Ranking[str] = Ranking()

    for rank in range(10_000):
        ranking.put("a", rank)
        ranking.discard("a")
        ranking.put("b", -rank)

    assert len(ranking._heap) < 100


def test_items_that_cannot_be_compared_are_never_compared() -> None:
    ranking: Ranking[complex] = Ranking()
    ranking.put(1j, 0)
    ranking.put(2j, 0)
    ranking.put(1j, -1)
    ranking.put(2j, -1)

    assert [ranking.pop(), ranking.pop()] == [1j, 2j]
