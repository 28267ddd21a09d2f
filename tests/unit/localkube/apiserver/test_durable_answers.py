"""Whoever is answered, is answered from what is durable, also where nothing was written."""

from collections.abc import AsyncIterator

import pytest

from jobferry.objects import Obj
from tests.unit.localkube.apiserver.held_server import Asker, asker, hold

MAPS = "/api/v1/namespaces/default/configmaps"
HELD = ["example.com/hold"]


@pytest.fixture
async def local() -> AsyncIterator[Asker]:
    async with asker() as found:
        yield found


def config(name: str = "m", data: str = "1", **meta: object) -> Obj:
    return {"metadata": {"name": name, **meta}, "data": {"key": data}}


NEW = {"data": {"key": "2"}}
"""What is being written to the object while others ask for something."""

DONE = {"preconditions": {"uid": "another"}}
QUIET = [
    pytest.param("PATCH", f"{MAPS}/m", NEW, 200, id="a patch that changes nothing"),
    pytest.param(
        "PUT", f"{MAPS}/m", config(data="2"), 200, id="an update that changes nothing"
    ),
    pytest.param("PATCH", f"{MAPS}/m?dryRun=All", {"data": {}}, 200, id="a dry run of a patch"),
    pytest.param("DELETE", f"{MAPS}/m?dryRun=All", None, 200, id="a dry run of a delete"),
    pytest.param("POST", f"{MAPS}?dryRun=All", config("n"), 201, id="a dry run of a create"),
    pytest.param("POST", MAPS, config(), 409, id="a create of what is there"),
    pytest.param("PUT", f"{MAPS}/m", config(resourceVersion="1"), 409, id="an outdated update"),
    pytest.param("DELETE", f"{MAPS}/m", DONE, 409, id="a delete of something else"),
]


@pytest.mark.parametrize(("method", "target", "body", "code"), QUIET)
async def test_an_answer_without_a_write_waits_for_the_writes_before_it(
    local: Asker, method: str, target: str, body: Obj | None, code: int
) -> None:
    before = await local.ask("POST", MAPS, config())
    journal = hold(local.server)
    writing = await local.asked("PATCH", f"{MAPS}/m", NEW)

    asking = await local.asked(method, target, body)

    assert not asking.done()
    assert (await local.ask("GET", f"{MAPS}/m")).version == before.version
    journal.commit()
    reply, written = await asking, await writing
    assert reply.code == code, reply
    assert (await local.ask("GET", f"{MAPS}/m")).version == written.version
    if method in ("PATCH", "PUT") and "dryRun" not in target and code == 200:
        assert reply.version == written.version


@pytest.mark.parametrize(("method", "target", "body", "code"), QUIET)
async def test_an_answer_that_would_rest_on_a_lost_write_is_not_given(
    local: Asker, method: str, target: str, body: Obj | None, code: int
) -> None:
    await local.ask("POST", MAPS, config())
    journal = hold(local.server)
    writing = await local.asked("PATCH", f"{MAPS}/m", NEW)
    asking = await local.asked(method, target, body)

    journal.fail()

    assert ((await writing).code, (await asking).code) == (500, 500)


@pytest.mark.parametrize("what", ["DELETE", "PATCH", "PUT"])
async def test_nothing_is_missing_before_its_delete_is_durable(local: Asker, what: str) -> None:
    await local.ask("POST", MAPS, config())
    journal = hold(local.server)
    deleting = await local.asked("DELETE", f"{MAPS}/m")

    asking = await local.asked(what, f"{MAPS}/m", None if what == "DELETE" else config())

    assert not asking.done()
    assert (await local.ask("GET", f"{MAPS}/m")).code == 200
    journal.commit()
    assert (await deleting).code == 200
    assert (await asking).code == 404


async def test_a_delete_of_what_is_being_deleted_waits_for_the_mark(local: Asker) -> None:
    await local.ask("POST", MAPS, config(finalizers=HELD))
    journal = hold(local.server)
    first = await local.asked("DELETE", f"{MAPS}/m")

    second = await local.asked("DELETE", f"{MAPS}/m")

    assert not second.done()
    journal.commit()
    assert (await second).version == (await first).version


async def test_a_delete_of_a_collection_waits_for_deletes_of_others(local: Asker) -> None:
    await local.ask("POST", MAPS, config())
    journal = hold(local.server)
    first = await local.asked("DELETE", f"{MAPS}/m")

    second = await local.asked("DELETE", MAPS)

    assert not second.done()
    journal.commit()
    assert (await first).code == 200
    assert (await second).code == 200


async def test_a_token_waits_for_the_account_it_is_for(local: Asker) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    journal = hold(local.server)
    making = await local.asked("POST", accounts, {"metadata": {"name": "robot"}})

    asking = await local.asked("POST", f"{accounts}/robot/token", {"spec": {"audiences": []}})

    assert not asking.done()
    journal.commit()
    assert ((await making).code, (await asking).code) == (201, 201)


async def test_what_is_refused_while_nothing_is_under_way_is_refused_at_once(
    local: Asker,
) -> None:
    await local.ask("POST", MAPS, config())
    hold(local.server)

    assert (await local.ask("POST", MAPS, config())).code == 409
