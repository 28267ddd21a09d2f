"""Users and what their names mean."""

import pytest

from jobferry.localkube.apiserver.identity import user as users
from jobferry.localkube.apiserver.identity.user import User


def test_whoever_proved_themselves_is_in_the_group_of_all_such() -> None:
    assert users.authenticated(User("ann", groups=("a",))).groups == (
        "a",
        "system:authenticated",
    )
    assert users.authenticated(users.ANONYMOUS) is users.ANONYMOUS
    for group in ("system:authenticated", "system:unauthenticated"):
        user = User("x", groups=(group,))
        assert users.authenticated(user) is user


@pytest.mark.parametrize(
    ("name", "account"),
    [
        ("system:serviceaccount:ns:robot", ("ns", "robot")),
        ("system:serviceaccount:ns:robot.v1", ("ns", "robot.v1")),
        ("system:serviceaccount:ns:a:b", None),
        ("system:serviceaccount:ns", None),
        ("system:serviceaccount:n.s:robot", None),
        ("system:serviceaccount:ns:Robot", None),
        (f"system:serviceaccount:{'n' * 64}:robot", None),
        ("ns:robot", None),
    ],
)
def test_service_accounts_are_known_by_their_user_names(
    name: str, account: tuple[str, str] | None
) -> None:
    assert users.account_of(name) == account
    if account:
        assert users.account_name(*account) == name


def test_empty_parts_are_not_shown() -> None:
    assert User("ann").info() == {"username": "ann"}
    assert User("ann", "1", ("a",), {"k": ("v",)}).info() == {
        "username": "ann",
        "uid": "1",
        "groups": ["a"],
        "extra": {"k": ["v"]},
    }
