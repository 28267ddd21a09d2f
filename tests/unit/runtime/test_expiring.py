from jobferry.runtime.expiring import Expiring
from jobferry.testing.clock import ManualClock


async def test_what_is_put_is_remembered_for_so_long() -> None:
    clock = ManualClock()
    kept = Expiring[str, int](clock.monotonic, most=3)

    kept.put("a", 1, within=10.0)
    await clock.pass_time(9.0)
    assert kept.get("a") == 1
    await clock.pass_time(1.0)

    assert kept.get("a") is None
    assert len(kept) == 0


async def test_what_is_put_again_is_remembered_from_then_on() -> None:
    clock = ManualClock()
    kept = Expiring[str, int](clock.monotonic, most=3)
    kept.put("a", 1, within=10.0)
    await clock.pass_time(9.0)

    kept.put("a", 2, within=10.0)
    await clock.pass_time(9.0)

    assert kept.get("a") == 2


def test_of_too_many_the_oldest_goes() -> None:
    kept = Expiring[int, int](ManualClock().monotonic, most=3)
    for number in range(4):
        kept.put(number, number, within=10.0)
    kept.put(1, 5, within=10.0)
    kept.put(4, 4, within=10.0)

    assert [kept.get(number) for number in range(5)] == [None, 5, None, 3, 4]


def test_all_of_it_can_be_forgotten() -> None:
    kept = Expiring[str, int](ManualClock().monotonic, most=3)
    kept.put("a", 1, within=10.0)

    kept.clear()

    assert kept.get("a") is None
