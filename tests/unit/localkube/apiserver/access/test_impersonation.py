"""Acting as somebody else."""

import pytest

from jobferry.localkube.apiserver.access.attributes import Attributes, Decision
from jobferry.localkube.apiserver.access.impersonation import impersonated
from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.status import StatusError

BOB = User("bob", groups=(users.ALL_AUTHENTICATED,))


def become(*headers: tuple[str, str], refused: str = "") -> tuple[User, list[Attributes]]:
    asked = []

    def decide(wanted: Attributes) -> Decision:
        asked.append(wanted)
        return Decision(allowed=wanted.resource != refused, reason="RBAC: no")

    raw = [(name.encode(), value.encode()) for name, value in headers]
    return impersonated(raw, BOB, decide), asked


def test_without_headers_one_stays_oneself_and_nothing_is_asked() -> None:
    assert become(("accept", "x"), ("impersonate-user", "")) == (BOB, [])


def test_each_claim_needs_a_right_of_its_own() -> None:
    user, asked = become(
        ("impersonate-uid", "7"),
        ("impersonate-user", "ann"),
        ("impersonate-extra-a%2fb", "x"),
        ("impersonate-group", "devs"),
        ("impersonate-extra-a%2fb", "y"),
    )

    assert user == User("ann", "7", ("devs", users.ALL_AUTHENTICATED), {"a/b": ["x", "y"]})
    assert [(each.group, each.resource, each.subresource, each.name) for each in asked] == [
        ("", "users", "", "ann"),
        ("", "groups", "", "devs"),
        ("authentication.k8s.io", "userextras", "a/b", "x"),
        ("authentication.k8s.io", "userextras", "a/b", "y"),
        ("authentication.k8s.io", "uids", "", "7"),
    ]
    assert {each.verb for each in asked} == {"impersonate"}
    assert {each.user for each in asked} == {BOB}


@pytest.mark.parametrize("refused", ["users", "groups", "uids", "userextras"])
def test_one_right_that_is_missing_is_enough_to_be_refused(refused: str) -> None:
    with pytest.raises(StatusError, match="cannot impersonate resource") as caught:
        become(
            ("impersonate-user", "ann"),
            ("impersonate-group", "devs"),
            ("impersonate-uid", "7"),
            ("impersonate-extra-a", "x"),
            refused=refused,
        )

    assert caught.value.code == 403
    assert str(caught.value).endswith(": RBAC: no")


def test_a_service_account_has_its_groups_unless_others_are_named() -> None:
    name = "system:serviceaccount:ns:robot"
    user, asked = become(("impersonate-user", name))
    assert user.groups == (*users.account_groups("ns"), users.ALL_AUTHENTICATED)
    assert (asked[0].resource, asked[0].namespace, asked[0].name) == (
        "serviceaccounts",
        "ns",
        "robot",
    )

    user, _ = become(("impersonate-user", name), ("impersonate-group", "x"))
    assert user.groups == ("x", users.ALL_AUTHENTICATED)


def test_nobody_is_made_authenticated_who_says_otherwise() -> None:
    anonymous, _ = become(("impersonate-user", "system:anonymous"))
    stranger, _ = become(
        ("impersonate-user", "x"), ("impersonate-group", users.ALL_UNAUTHENTICATED)
    )

    assert anonymous == users.ANONYMOUS
    assert stranger.groups == (users.ALL_UNAUTHENTICATED,)


def test_a_group_without_a_user_makes_no_sense() -> None:
    with pytest.raises(StatusError, match="without impersonating a user") as caught:
        become(("impersonate-group", "devs"))

    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("header", "key"),
    [("a%2fb", "a/b"), ("A%2Fb", "a/b"), ("a%zz%41", "a%zz%41"), ("a%4", "a%4")],
)
def test_a_key_that_cannot_be_decoded_whole_is_taken_as_it_is(header: str, key: str) -> None:
    user, _ = become(("impersonate-user", "ann"), (f"impersonate-extra-{header}", "x"))

    assert user.extra == {key: ["x"]}


def test_blanks_around_a_value_are_no_part_of_it() -> None:
    user, asked = become(("impersonate-user", "ann "), ("impersonate-group", " devs\t"))

    assert (user.name, user.groups[0]) == ("ann", "devs")
    assert [each.name for each in asked] == ["ann", "devs"]
