import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects import indexes
from jobferry.objects.indexes import BadIndexes, IndexSet

LIMIT = 40

members = st.sets(st.integers(0, LIMIT - 1))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([], ""),
        ([5], "5"),
        ([3, 4], "3,4"),
        ([3, 4, 5], "3-5"),
        ([7, 0, 1, 2, 3, 4, 7], "0-4,7"),
        ([0, 1, 3, 4, 6, 7, 8], "0,1,3,4,6-8"),
    ],
)
def test_a_set_prints_as_the_job_controller_prints_it(content: list[int], text: str) -> None:
    assert str(IndexSet.of(content)) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", ""),
        ("0,1-3", "0-3"),
        ("0-1,2-3,5", "0-3,5"),
        ("1-2", "1,2"),
        ("+1,002-0004", "1-4"),
        ("99", "99"),
    ],
)
def test_text_is_read_more_laxly_than_it_is_written(text: str, canonical: str) -> None:
    assert str(indexes.parse(text, 100)) == canonical


TWO_PARTS = "violates the requirement that an index interval can have at most two parts separated by '-'"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1-2-3", f'the fragment "1-2-3" {TWO_PARTS}'),
        ("0,x-y-", f'the fragment "x-y-" {TWO_PARTS}'),
        (",", 'cannot convert string to integer for index: ""'),
        ("1,", 'cannot convert string to integer for index: ""'),
        ("-1", 'cannot convert string to integer for index: ""'),
        ("1-", 'cannot convert string to integer for index: ""'),
        ("1, 2", 'cannot convert string to integer for index: " 2"'),
        ("1_0", 'cannot convert string to integer for index: "1_0"'),
        ("1-x", 'cannot convert string to integer for index: "x"'),
        (
            "9223372036854775808",
            'cannot convert string to integer for index: "9223372036854775808"',
        ),
        ("100", 'too large index: "100"'),
        ("0-0100", 'too large index: "0100"'),
        ("101-x", 'too large index: "101"'),
        ("2-2", "non-increasing order, previous: 2, current: 2"),
        ("3-1", "non-increasing order, previous: 3, current: 1"),
        ("3,2", "non-increasing order, previous: 3, current: 2"),
        ("0-5,5", "non-increasing order, previous: 5, current: 5"),
        ("7,1-3", "non-increasing order, previous: 7, current: 1"),
    ],
)
def test_bad_text_is_refused_in_the_words_of_an_api_server(text: str, reason: str) -> None:
    with pytest.raises(BadIndexes) as caught:
        indexes.parse(text, 100)

    assert str(caught.value) == reason


def test_nothing_but_the_empty_set_is_below_zero() -> None:
    assert indexes.parse("", 0) == IndexSet()
    with pytest.raises(BadIndexes, match='too large index: "0"'):
        indexes.parse("0", 0)


@given(members)
def test_a_set_is_what_went_in(content: set[int]) -> None:
    built = IndexSet.of(content)

    assert list(built) == sorted(content)
    assert len(built) == len(content)
    assert bool(built) == bool(content)
    assert [index for index in range(-1, LIMIT + 1) if index in built] == sorted(content)


@given(members)
def test_text_reads_back_as_the_same_set(content: set[int]) -> None:
    built = IndexSet.of(content)

    assert indexes.parse(str(built), LIMIT) == built


@given(members, members, st.integers(-1, LIMIT + 1))
def test_operations_do_what_sets_do(one: set[int], other: set[int], limit: int) -> None:
    ours, theirs = IndexSet.of(one), IndexSet.of(other)

    assert ours | theirs == IndexSet.of(one | other)
    assert ours - theirs == IndexSet.of(one - other)
    assert ours & theirs == IndexSet.of(one & other)
    assert ours.clip(limit) == IndexSet.of(index for index in one if index < limit)


def test_intervals_are_given_by_their_first_and_last_index() -> None:
    assert list(IndexSet.of([0, 1, 2, 5]).intervals()) == [(0, 2), (5, 5)]


def test_a_hundred_thousand_indexes_in_a_row_take_no_more_room_than_one() -> None:
    whole = indexes.parse("0-99999", 100_000)

    assert whole == IndexSet.below(100_000)
    assert len(whole.edges) == 2
    assert len(whole - IndexSet.of([50_000])) == 99_999


def test_ten_thousand_gaps_are_still_handled() -> None:
    gaps = IndexSet.of(range(0, 100_000, 10))
    rest = IndexSet.below(100_000) - gaps

    assert len(rest) == 90_000
    assert rest | gaps == IndexSet.below(100_000)
    assert indexes.parse(str(rest), 100_000) == rest
