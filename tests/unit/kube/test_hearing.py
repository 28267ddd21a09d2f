import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from jobferry.clock import Seconds
from jobferry.kube.hearing import Unheard
from jobferry.kube.wire import Answer, Request
from jobferry.testing.clock import settle
from tests.unit.kube.ears import Rig
from tests.unit.kube.wires import OK, READ, Reading, Wire, status

GET = Request("GET", "/version")
HOUR = timedelta(hours=1)


class Slow(Wire):
    """Answers when told to."""

    def __init__(self, *outcomes: Answer | Reading) -> None:
        super().__init__(*outcomes)
        self.answers = asyncio.Event()

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        self.requests.append(request)
        await self.answers.wait()
        return OK


class TestHearing:
    @pytest.mark.parametrize("code", [200, 404, 409, 429, 500, 503])
    async def test_any_answer_is_heard(self, code: int) -> None:
        rig = Rig(Wire(status(code)))
        rig.clock.advance(3)
        assert rig.hearing.silence() == 3

        await rig.transport.send(GET, within=5)

        assert rig.hearing.silence() == 0
        assert rig.hearing.welcome() == rig.clock.now()

    @pytest.mark.parametrize("code", [401, 403])
    async def test_a_refusal_is_heard_but_is_no_welcome(self, code: int) -> None:
        rig = Rig(Wire(status(code)))
        began = rig.clock.now()
        rig.clock.advance(3)

        await rig.transport.send(GET, within=5)

        assert rig.hearing.silence() == 0
        assert rig.hearing.welcome() == began

    async def test_every_part_of_a_watch_is_heard(self) -> None:
        rig = Rig(Wire(Reading(200, [b"a", b""])))
        async with rig.transport.stream(GET, within=5) as stream:
            rig.clock.advance(3)
            await stream.read()
            assert rig.hearing.silence() == 0

            rig.clock.advance(3)
            await stream.read()
            assert rig.hearing.silence() == 3  # its end says nothing about the cluster

    async def test_time_in_which_we_did_not_listen_is_no_silence(self) -> None:
        rig = Rig(Wire())
        rig.clock.advance(60)

        rig.hearing.forgive(58)
        assert rig.hearing.silence() == 2
        assert rig.hearing.welcome() == rig.clock.now() - timedelta(seconds=2)

        rig.hearing.forgive(58)
        assert rig.hearing.silence() == 0


class TestSilence:
    async def test_nobody_waits_for_a_cluster_that_is_shut_and_nothing_is_sent(self) -> None:
        rig = Rig(Slow())
        pending = asyncio.ensure_future(rig.client.send(READ))
        await settle()
        rig.clock.advance(6)

        rig.hearing.shut()
        with pytest.raises(Unheard, match="nothing was heard of it for 6 s"):
            await pending
        with pytest.raises(Unheard):
            await rig.client.send(READ)

        assert len(rig.wire.requests) == 1

    async def test_who_insists_asks_nevertheless_and_any_answer_opens_it_again(self) -> None:
        rig = Rig(Wire(status(403), OK))
        rig.hearing.shut()

        await rig.transport.insisting().send(GET, within=5)

        assert await rig.transport.send(GET, within=5) == OK

    async def test_open_watches_are_let_go_of_with_those_that_are_being_opened(self) -> None:
        watch = Reading(200, [])
        rig = Rig(Wire(watch))
        async with rig.transport.stream(GET, within=5) as stream:
            rig.hearing.hang_up()
            with pytest.raises(Unheard):
                await stream.read()

    async def test_a_return_is_told_once_and_not_by_a_refusal(self) -> None:
        rig, returns = Rig(Wire(status(401), OK, OK)), []
        rig.hearing.on_return = lambda: returns.append(rig.clock.now())
        waiting = asyncio.ensure_future(rig.hearing.returned())
        rig.hearing.miss()

        await rig.transport.send(GET, within=5)
        await settle()
        assert not returns
        assert not waiting.done()
        for _ in range(2):
            await rig.transport.send(GET, within=5)
        await settle()

        assert len(returns) == 1
        assert waiting.done()


class TestClocks:
    async def ask(self, *dates: datetime | str, took: Seconds = 0) -> timedelta:
        """Return the skew after answers with these dates, each a minute later."""
        shown = [
            each if isinstance(each, str) else format_datetime(each, usegmt=True)
            for each in dates
        ]
        rig = Rig(Wire(*(Answer(200, {"date": date}, b"") for date in shown)))
        for _ in dates:
            answer = await rig.wire.send(GET, within=5)
            began = rig.clock.monotonic()
            rig.clock.advance(took)
            rig.hearing.measure(answer.headers, began)
            rig.clock.advance(60)
        return rig.hearing.skew

    NOW = datetime(2026, 1, 1, tzinfo=UTC)
    LATER = NOW + timedelta(minutes=1)

    async def test_it_is_told_by_the_date_of_an_answer(self) -> None:
        assert await self.ask(self.NOW - HOUR) == -HOUR
        assert await self.ask(self.NOW + HOUR) == HOUR

    async def test_small_differences_are_none(self) -> None:
        assert await self.ask(self.NOW + timedelta(seconds=1)) == timedelta()
        assert await self.ask(self.NOW - HOUR, self.LATER) == timedelta()
        assert (
            await self.ask(self.NOW - HOUR, self.LATER - HOUR + timedelta(seconds=1)) == -HOUR
        )

    async def test_an_answer_that_took_long_says_nothing(self) -> None:
        assert await self.ask(self.NOW - HOUR, took=2) == timedelta()

    @pytest.mark.parametrize("nonsense", ["", "soon", "Thu, 01 Jan 2026 00:00:00 -0000"])
    async def test_nonsense_says_nothing(self, nonsense: str) -> None:
        assert await self.ask(nonsense) == timedelta()

    async def test_an_answer_without_a_date_does_not_put_off_the_next(self) -> None:
        """Such as one of a proxy."""
        date = format_datetime(self.NOW - HOUR, usegmt=True)
        rig = Rig(Wire(Answer(502, {}, b""), Answer(200, {"date": date}, b"")))

        for _ in range(2):
            await rig.transport.send(GET, within=5)

        assert rig.hearing.skew == -HOUR

    async def test_it_is_measured_now_and_then(self) -> None:
        date = format_datetime(self.NOW - HOUR, usegmt=True)
        rig = Rig(Wire(Answer(200, {"date": date}, b"")))

        await rig.transport.send(GET, within=5)

        assert rig.hearing.skew == -HOUR
