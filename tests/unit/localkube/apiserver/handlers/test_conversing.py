"""A client and a process talk: neither can drown the other, and nothing is left when one goes."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from jobferry.localkube.apiserver.handlers import conversing
from jobferry.localkube.apiserver.handlers.conversing import Sizes, Unread
from jobferry.localkube.apiserver.nodes import Size, Streams
from jobferry.localkube.apiserver.requests.channels import V5
from jobferry.localkube.apiserver.requests.pod_options import TalkOptions
from jobferry.localkube.apiserver.requests.session import Gone
from jobferry.objects import Obj
from jobferry.testing.clock import settle

SUCCESS: Obj = {"metadata": {}, "status": "Success"}
ALL = TalkOptions(stdin=True, stdout=True, stderr=True)


class Client:
    """The other end of a socket, in the hands of a test."""

    def __init__(self) -> None:
        self.heard: list[bytes | str] = []
        self.says: asyncio.Queue[bytes | str | None] = asyncio.Queue()
        self.is_deaf = False

    async def send(self, message: bytes | str) -> None:
        if self.is_deaf:
            raise Gone
        self.heard.append(message)

    async def receive(self) -> bytes | str:
        if (message := await self.says.get()) is None:
            raise Gone
        return message


def talk(
    client: Client, process: Callable[[Streams], Awaitable[Obj]], options: TalkOptions = ALL
) -> asyncio.Future[None]:
    return asyncio.ensure_future(conversing.converse(process, V5, options, client))


async def test_input_becomes_output_and_the_end_is_told() -> None:
    async def echo(streams: Streams) -> Obj:
        assert streams.stdin is not None
        assert streams.stdout is not None
        async for data in streams.stdin:
            await streams.stdout(data)
        return SUCCESS

    client = Client()
    for message in (
        b"\x00one",
        b"\x00",
        b"\x02not for us",
        b"\x00two",
        b"\xff\x00",
        b"\x00late",
    ):
        client.says.put_nowait(message)
    await talk(client, echo)
    end = b'\x03{"metadata":{},"status":"Success"}'
    assert client.heard == [b"\x01", b"\x01one", b"\x01two", end]


async def test_a_process_without_streams_gets_none() -> None:
    async def look(streams: Streams) -> Obj:
        assert (streams.stdin, streams.stdout, streams.stderr) == (None, None, None)
        return SUCCESS

    client = Client()
    client.says.put_nowait(b"\x00nobody reads this")
    await talk(client, look, TalkOptions())
    assert client.heard[0] == b"\x03"


async def test_the_process_is_cancelled_when_the_client_goes() -> None:
    ended = []

    async def hang(streams: Streams) -> Obj:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(True)
        return SUCCESS

    client = Client()
    talking = talk(client, hang)
    await settle()
    assert not talking.done()
    client.says.put_nowait(None)
    await talking
    assert ended
    assert client.heard == [b"\x01"]


async def test_a_process_that_writes_to_nobody_ends() -> None:
    client = Client()

    async def write(streams: Streams) -> Obj:
        assert streams.stdout is not None
        client.is_deaf = True
        await streams.stdout(b"hello")
        return SUCCESS

    with pytest.raises(Gone):
        await talk(client, write)


async def test_cancelling_a_conversation_cancels_the_process() -> None:
    before = asyncio.all_tasks()

    async def hang(streams: Streams) -> Obj:
        await asyncio.get_running_loop().create_future()
        return SUCCESS

    talking = talk(Client(), hang)
    await settle()
    talking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await talking
    assert asyncio.all_tasks() <= before


async def test_unread_input_makes_the_client_wait() -> None:
    unread = Unread(limit=4)
    await unread.put(b"abc")
    await unread.put(b"def")
    waiting = asyncio.ensure_future(unread.put(b"ghi"))
    await settle()
    assert not waiting.done()
    assert await anext(unread) == b"abc"
    await waiting
    unread.close()
    assert [part async for part in unread] == [b"def", b"ghi"]


async def test_closed_input_ends_also_for_who_waits_already() -> None:
    unread = Unread()
    waiting = asyncio.ensure_future(anext(unread, b"the end"))
    await settle()
    unread.close()
    assert await waiting == b"the end"


async def test_of_many_sizes_the_newest_counts() -> None:
    sizes = Sizes()
    sizes.put(Size(1, 1))
    sizes.put(Size(2, 2))
    assert await anext(sizes) == Size(2, 2)
    waiting = asyncio.ensure_future(anext(sizes))
    await settle()
    assert not waiting.done()
    sizes.put(Size(3, 3))
    assert await waiting == Size(3, 3)
