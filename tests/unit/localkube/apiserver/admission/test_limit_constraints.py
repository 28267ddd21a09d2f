from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.admission import limit_constraints as constraints
from jobferry.localkube.apiserver.admission.limit_constraints import Rule
from jobferry.objects.amounts import parse

MILLIS = st.integers(0, 10**7)


def rule(enforced: str, resource: str = "memory") -> Rule:
    return Rule("Container", resource, parse(enforced))


def test_huge_amounts_are_compared_in_whole_units() -> None:
    huge = {"memory": parse("5.0000000000000001E")}

    assert constraints.minimum(rule("5E"), huge, {}) is None
    assert constraints.maximum_request(rule("5E"), huge, {}) is not None
    assert constraints.maximum(rule("6E"), {}, huge) is None


def test_ratios_beyond_all_millis_are_compared_as_they_are() -> None:
    requests, limits = {"memory": parse("1")}, {"memory": parse("9E")}

    assert constraints.ratio(rule("9E"), requests, limits) is None
    assert constraints.ratio(rule("8E"), requests, limits) is not None


def test_a_claim_has_to_ask_for_something() -> None:
    said = constraints.maximum_request(rule("1"), {}, {})

    assert said == "maximum memory usage per Container is 1.  No request is specified"


@given(MILLIS, MILLIS)
def test_what_is_within_both_bounds_is_fine_and_only_that(amount: int, bound: int) -> None:
    given = {"memory": parse(f"{amount}m")}

    too_little = constraints.minimum(rule(f"{bound}m"), given, given)
    too_much = constraints.maximum(rule(f"{bound}m"), given, given)

    assert (too_little is not None) is (amount < bound)
    assert (too_much is not None) is (amount > bound)
