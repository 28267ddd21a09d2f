from jobferry.kube.access import Fixed, Identity
from jobferry.workers.badge import Badge
from tests.unit.kube.wires import Tokens

OLD, NEW = Identity(authorization="old"), Identity(authorization="new")


async def test_other_credentials_count_from_the_exchange_on() -> None:
    badge = Badge(Fixed(OLD))
    assert await badge.identity() == OLD

    badge.exchange(Fixed(NEW))

    assert await badge.identity() == NEW


async def test_it_is_void_when_nothing_is_left_to_try() -> None:
    badge = Badge(Tokens("old", "new"))

    assert badge.reject(OLD)
    assert not badge.is_void.is_set()
    assert not badge.reject(NEW)
    assert badge.is_void.is_set()
