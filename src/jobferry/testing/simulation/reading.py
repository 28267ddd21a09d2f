"""Reads a history that somebody wrote or shortened by hand, and says what in it makes no sense."""

import inspect
from collections.abc import Mapping
from difflib import get_close_matches

import msgspec

from jobferry.errors import BadInput
from jobferry.testing.simulation.events import Event, History
from jobferry.testing.simulation.meddling import Trap
from jobferry.testing.simulation.playing import ACTIONS, TROUBLE


class _Shape(msgspec.Struct):
    """What has to be a number in the shape of a Job; for the rest of it, an API server looks."""

    runs: float = 0
    exits: int = 0
    stops: float = 0


def read(text: str) -> History:
    """Read a history that can be played; raises `BadInput` with the line that is wrong."""
    history = History.parse(text)
    for name in ("workers", "dispatchers"):
        if getattr(history, name) < 1:
            raise BadInput(f"{name}={getattr(history, name)}: there has to be one at least")
    for event in history.events:
        if wrong := _wrong(event, history):
            raise BadInput(f"{event}: {wrong}")
    return history


def _wrong(event: Event, history: History) -> str:
    """Say what is wrong with an event; empty: nothing."""
    if event.name not in ACTIONS:
        near = get_close_matches(event.name, ACTIONS, 1)
        also = f": do you mean {near[0]}?" if near else f"; there are {', '.join(ACTIONS)}"
        return f"there is no event {event.name}{also}"
    if not 0 <= event.at <= TROUBLE:
        return f"it has to happen between 0 and {TROUBLE:g} s"
    return _wrong_arguments(event) or _wrong_places(event, history)


def _wrong_arguments(event: Event) -> str:
    takes = _parameters(event.name)
    needed = [name for name, each in takes.items() if each.default is each.empty]
    if missing := [name for name in needed if name not in event.args]:
        return f"it lacks {', '.join(missing)}"
    for name, value in event.args.items():
        if name not in takes:
            return f"it takes no {name}, but {', '.join(takes)}"
        try:
            msgspec.convert(value, _Shape if name == "shape" else takes[name].annotation)
        except msgspec.ValidationError as error:
            return f"{name}: {error}"
    return ""


def _parameters(name: str) -> Mapping[str, inspect.Parameter]:
    """Return what an event of that name takes; those that take anything lay a trap of it."""
    _world, *own = inspect.signature(ACTIONS[name].run).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in own):
        return inspect.signature(Trap).parameters
    return {each.name: each for each in own}


def _wrong_places(event: Event, history: History) -> str:
    workers = [f"w{number + 1}" for number in range(history.workers)]
    dispatchers = [f"d{number + 1}" for number in range(history.dispatchers)]
    clusters = ["hub", *workers]
    known = {"worker": workers, "on": workers, "but": workers, "cluster": clusters}
    known["who"] = [*dispatchers, *clusters] if event.name == "skew" else dispatchers
    for name, names in known.items():
        if (value := event.args.get(name)) and value not in names:
            return f"{name} is none of {', '.join(names)}"
    return ""
