"""A real server with roles of all sorts, and the same roles in a book of ours."""

from collections.abc import Iterator

import pytest

from jobferry.localkube.apiserver.access.attributes import Attributes
from jobferry.localkube.apiserver.access.rbac import RoleBook
from jobferry.localkube.apiserver.identity import user as users
from jobferry.testing.control_plane import ControlPlane
from tests.api.access_world import (
    ONE,
    TWO,
    Asker,
    asker,
    eventually,
    furnish,
    member,
    review,
    stored,
)


@pytest.fixture(scope="session")
def access_plane() -> Iterator[ControlPlane]:
    found = ControlPlane(controllers=["clusterrole-aggregation-controller"]).start()
    yield found
    found.stop()


@pytest.fixture(scope="session")
def admin(access_plane: ControlPlane) -> Iterator[Asker]:
    with asker(access_plane, "admin", users.MASTERS) as found:
        furnish(found)
        yield found


@pytest.fixture(scope="session")
def book(admin: Asker) -> RoleBook:
    """The roles of the real server, once it knows them itself and has filled the aggregated ones."""
    eventually(lambda: [] if _knows_all(admin) else ["it lags behind"])
    return RoleBook(stored(admin))


def _knows_all(admin: Asker) -> bool:
    asked = [
        Attributes(member("actor"), "impersonate", resource="serviceaccounts", namespace=ONE),
        Attributes(member("ben"), "list", resource="secrets", namespace=TWO),
        Attributes(member("bob"), "list", resource="secrets", namespace=ONE),
    ]
    roles = {each["metadata"]["name"]: each for each in stored(admin)}
    filled = all(roles[name].get("rules") for name in ("admin", "edit", "view"))
    return filled and all(review(admin, each)["allowed"] for each in asked)
