"""Sends requests side by side."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from jobferry.errors import Error

T = TypeVar("T")
R = TypeVar("R")

AT_A_TIME = 32
"""Requests of one Job in flight: more would not make an API server faster."""


async def each(things: Iterable[T], do: Callable[[T], Awaitable[R]]) -> list[R | Error]:
    """Do the same for each thing, and return for each what came of it; none stops the others."""
    room = asyncio.Semaphore(AT_A_TIME)

    async def one(thing: T) -> R | Error:
        async with room:
            try:
                return await do(thing)
            except Error as error:
                return error

    waiting = list(things)
    if len(waiting) == 1:
        return [await one(waiting[0])]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(thing)) for thing in waiting]
    return [task.result() for task in tasks]
