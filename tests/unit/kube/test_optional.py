from functools import partial

import pytest

from jobferry.kube import optional
from jobferry.kube.calls import Scope
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import CONFIG_MAPS
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, settle
from tests.unit.kube.collection import Collection
from tests.unit.kube.copies import client_of

REFUSED = (403, "Forbidden")


async def test_a_refusal_is_told_once_and_rights_that_come_later_are_used(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, clock = Collection(failures=[REFUSED, REFUSED]), ManualClock()
    server.put("a")
    refusals: list[object] = []
    scope = Scope(resource=CONFIG_MAPS, namespace="ns")
    copy = Informer(client_of(server, clock), scope, Head, heeds_refusal=True)
    async with supervise.tasks("test", clock=clock) as tasks:
        tasks.start("follow", partial(optional.follow, copy, clock, refusals.append))
        await settle()
        await clock.pass_time(optional.ASK_AGAIN_AFTER)
        assert (len(server.requests), len(refusals), len(copy)) == (2, 1, 0)
        assert caplog.messages == []  # whoever can do without says what is missed

        await clock.pass_time(optional.ASK_AGAIN_AFTER)
        assert [item.key.name for item in copy] == ["a"]

        # Taken away, it stays as it was known to be; that is told, as it is news.
        server.failures = [REFUSED]
        server.cut()
        await settle()
        await clock.pass_time(1.0)
        assert (len(refusals), len(copy)) == (2, 1)

        server.remove("a")
        await clock.pass_time(optional.ASK_AGAIN_AFTER)
        assert (len(refusals), len(copy)) == (2, 0)
