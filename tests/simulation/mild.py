"""Histories that go only a little wrong: how their Jobs end hangs on nothing but the Jobs, whatever runs them."""

from random import Random
from typing import Any

from jobferry.testing.simulation import shapes
from jobferry.testing.simulation.actions import Dice
from jobferry.testing.simulation.events import Event, History
from jobferry.testing.simulation.playing import ACTIONS

NAMESPACE = "red"
JOBS = 10
TROUBLE = 16.0
"""Seconds within which all happens."""

APART = 0.4
"""Seconds between any two events: which comes first is to be the same everywhere."""

LONG = 40.0
"""Pods that run for so long and more are shortened by nothing: something else ends them."""

MILD = {
    **dict.fromkeys(("suspend", "scale", "delete", "recreate", "forge", "drain"), 2.0),
    "lose-record": 1.0,
    "kill": 3.0,
    "part": 3.0,
    "freeze": 3.0,
}


def draw(seed: int) -> History:
    """Draw a history for two workers and two dispatchers."""
    random = Random(f"mild {seed}")
    names = [(NAMESPACE, f"job-{number}") for number in range(JOBS)]
    dice = Dice(random, ["w1", "w2"], ["d1", "d2"], names)
    happens = [("create", {"name": name}) for _, name in names]
    more = random.choices([*MILD], [*MILD.values()], k=random.randint(6, 14))
    drawn: list[tuple[str, dict[str, str]]] = [(name, {}) for name in more] + happens
    random.shuffle(drawn)
    step = max(APART, TROUBLE / len(drawn))
    events = [
        Event(round(number * step, 2), name, _args(name, dice, given))
        for number, (name, given) in enumerate(drawn)
    ]
    return History(seed, 2, 2, (*events, *_let_all_run(dice, len(drawn) * step)))


def _args(name: str, dice: Dice, given: dict[str, str]) -> dict[str, Any]:
    args = {**ACTIONS[name].draw(dice), **given}
    if "shape" in args:
        args["shape"] = _plain(args["shape"])
    if name == "scale":
        args["to"] = max(args["to"], 1)
    if name == "delete":
        args["how"] = "Background"  # whoever comes next finds the name free
    if name in ("part", "freeze"):
        # Shorter than it takes until a worker counts as lost; and nothing is left of it that takes a minute to notice.
        args |= {"cluster": dice.worker(), "seconds": dice.seconds(0.5, 4)}
    if name == "part":
        args["how"] = "refuse"
    if name == "kill":
        args["seconds"] = dice.seconds(0.1, 2)
    return args


_LEFT_OUT = ("requests", "labels", "ttlSecondsAfterFinished")


def _plain(shape: dict[str, Any]) -> dict[str, Any]:
    """Leave out what hangs on room, Queues and time."""
    kept = {key: value for key, value in shape.items() if key not in _LEFT_OUT}
    if kept["runs"] < LONG:
        kept["runs"] = kept["runs"] / 4
    if kept["runs"] >= shapes.ENDLESS:
        kept["runs"] = 0
    return kept


def _let_all_run(dice: Dice, at: float) -> list[Event]:
    """Undo what would keep a Job from its end."""
    undone = [
        Event(at, "drain", {"name": name, "spec": {"drain": "None"}}) for name in dice.workers
    ]
    resumed = [
        Event(at, "suspend", {"namespace": namespace, "name": name, "is_on": False})
        for namespace, name in dice.jobs
    ]
    return [*undone, *resumed]
