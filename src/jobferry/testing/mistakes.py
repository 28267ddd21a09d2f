"""What is asked of a fleet by mistake: each is told with what to do instead, before anything follows from it."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from jobferry.errors import BadInput
from jobferry.objects.resource import Resource
from jobferry.settings import Settings

T = TypeVar("T")


def refuse_count(name: str, value: object) -> None:
    """Refuse what is no number of workers or dispatchers."""
    if not isinstance(value, int) or value < 0:
        raise BadInput(f"{name}={value!r} is no number of {name}")


def refuse_settings(value: object) -> None:
    """Refuse what are no settings."""
    if not isinstance(value, Settings):
        like = "settings=Settings(worker_lost_after=30)"
        raise BadInput(f"settings={value!r} are no jobferry.settings.Settings, as in {like}")


def refuse_resource(value: object) -> None:
    """Refuse the name of a kind, or whatever else is no resource."""
    if not isinstance(value, Resource):
        usual = "jobferry.kube.resources has the usual ones, such as JOBS"
        raise BadInput(f"{value!r} is no Resource: {usual}")


def refuse_loop(unused: Coroutine[Any, Any, Any] | None = None) -> None:
    """Refuse to let time pass for somebody who runs while it passes."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    if unused is not None:
        unused.close()
    raise BadInput(
        "a fleet is not to be used in async code: its tests are plain functions, without async;"
        " a controller asks the client that it is given"
    )


def awaited(function: Callable[..., object], given: T) -> T:
    """Return what a function gave that has to be async; raises `BadInput` if it is not."""
    if not isinstance(given, Awaitable):
        name = getattr(function, "__qualname__", repr(function))
        raise BadInput(f"{name} gave {given!r} where a coroutine has to be: is it async?")
    return given


def answered(given: T) -> T:
    """Return what a condition gave; raises `BadInput` if that would have to be awaited."""
    if inspect.iscoroutine(given):
        given.close()
        raise BadInput(
            "the condition gave a coroutine, which always counts as true: no async there, please;"
            " hub.get and all else of a cluster wait for their answers"
        )
    return given
