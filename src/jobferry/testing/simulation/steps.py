"""What must hold at every step, whatever goes wrong: each rule is a class with a sentence, and notes what breaks it."""

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import orjson

from jobferry.clock import Seconds
from jobferry.core import marks, placement
from jobferry.kube.wire import Answer, Request
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.objects import Obj
from jobferry.testing.simulation import truth
from jobferry.testing.simulation.clusters import SimulatedCluster
from jobferry.testing.simulation.network import TAKEN, Exchange, Process
from jobferry.testing.simulation.problems import Problem
from jobferry.testing.simulation.shapes import MANAGER
from jobferry.testing.simulation.world import World

Complain = Callable[[str], None]


class StatusAccepted:
    """The hub's API server never refuses a status that we write about a Job."""

    def __init__(self, world: World, complain: Complain) -> None:
        self._complain = complain

    def on_answer(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Look at what the hub says to our patches."""
        is_status = exchange.path.endswith("/status") and "/jobs" in exchange.path
        if exchange.gate.name == "hub" and is_status and answer.code in (400, 403, 422):
            sent, said = request.body.decode(), answer.body.decode()
            self._complain(f"{exchange} was refused: {said} for {sent}")


class NothingGoesBack:
    """Counters, indexes, ends and the number of the attempt never go back, as long as a workload is the same."""

    def __init__(self, world: World, complain: Complain) -> None:
        self._complain = complain

    def on_change(self, cluster: SimulatedCluster, change: Change) -> None:
        """Compare a workload of the hub, or the record of one, with what it was."""
        if cluster.name != "hub" or change.deleted or change.previous is None:
            return
        old, new = change.previous.object, change.entry.object
        if change.entry.key.startswith(truth.PLACEMENTS_AT):
            then, attempt = old["spec"]["attempt"], new["spec"]["attempt"]
            if then > attempt:
                self._complain(f"{truth.address(new)}: attempt {then} became {attempt}")
        if not change.entry.key.startswith(truth.WORKLOADS_AT):
            return
        is_same = old["metadata"]["uid"] == new["metadata"]["uid"]
        if is_same and new["spec"].get("managedBy") == MANAGER:
            for what in _steps_back(old, new):
                self._complain(f"{truth.address(new)}: {what}")


def _steps_back(old: Obj, new: Obj) -> list[str]:
    was, now = old.get("status") or {}, new.get("status") or {}
    found = [
        f"{counter} went from {was.get(counter)} to {now.get(counter)}"
        for counter in ("succeeded", "failed")
        if (was.get(counter) or 0) > (now.get(counter) or 0)
    ]
    if (ended := truth.finish(old)) and truth.finish(new) != ended:
        found.append(f"it had ended: {ended}, and now {truth.finish(new)}")
    attempt, then = placement.last_attempt(new), placement.last_attempt(old)
    if attempt and then > attempt:  # none at all: somebody took the record away
        found.append(f"attempt {then} became {attempt}")
    return found


class OnlyOurs:
    """We write to no object that is not ours: on workers to what we have made, on the hub to what is delegated."""

    def __init__(self, world: World, complain: Complain) -> None:
        self._complain = complain
        self._made = world.made
        self._refusing = world.refusing

    def on_answer(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Look at what we write to Jobs."""
        if "/jobs" not in exchange.path or request.method == "GET":
            return
        if answer.code not in TAKEN:
            if request.method == "POST":
                self._refusing.add(exchange.gate.name)
            return
        said = orjson.loads(answer.body)
        if exchange.gate.name == "hub":
            if not (request.method == "PATCH" and said["spec"].get("managedBy") == MANAGER):
                self._complain(f"{exchange}: it is not delegated to us")
            return
        uid = said["details"]["uid"] if said["kind"] == "Status" else said["metadata"]["uid"]
        if request.method == "POST":
            self._made.add(uid)
        elif uid not in self._made:
            self._complain(f"{exchange}: {uid} was not made by us")


def made_mirror(exchange: Exchange, request: Request, answer: Answer) -> Obj | None:
    """Return the mirror that a worker has just made as it was asked to; None: it was asked something else, or refused."""
    is_mirror = exchange.path.endswith(("/jobs", "/jobsets")) and request.method == "POST"
    if exchange.gate.name == "hub" or not is_mirror or answer.code not in TAKEN:
        return None
    made: Obj = orjson.loads(answer.body)
    return made


class OneAtATime:
    """No attempt begins while another runs, unless the worker of that one was not heard for as long as was said.

    Nor where others have changed the mirror so that it is not ours to see any more, or a cluster was put back to
    an earlier state: what came back with it was over. Nor while the worker of that one is just coming back, or answers but
    does not let us see its Jobs: it counts once what it holds is known. And a server that was frozen may get to a request of an
    earlier attempt only after its sender has given it up for lost, as was said.
    """

    def __init__(self, world: World, complain: Complain) -> None:
        self._world = world
        self._complain = complain

    def on_answer(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Look, when a mirror was made, whether another runs."""
        made = made_mirror(exchange, request, answer)
        known = marks.read(made) if made is not None else None
        if made is None or known is None or made["spec"].get("suspend"):
            return
        for other in truth.mirrors(self._world):
            if other.marks.hub_uid != known.hub_uid or other.on == exchange.gate.name:
                continue
            cluster = self._world.clusters[other.on]
            is_late = self._is_long_ago(exchange.sent, exchange.who.name)
            if is_late and known.attempt < other.marks.attempt:
                continue
            if truth.active_pods(cluster, other.obj) and not self._is_excused(exchange, other):
                self._complain(
                    f"{truth.address(made)} begins on {exchange.gate.name}: {other} runs"
                )

    def _is_excused(self, exchange: Exchange, other: truth.Mirror) -> bool:
        world, meta = self._world, other.obj["metadata"]
        pair, network = (exchange.who.name, other.on), world.network
        is_back = world.clock.monotonic() - network.returned.get(pair, 0.0) < RETURNING
        return (
            (meta["namespace"], meta["name"]) in world.tampered
            or bool(world.restored.keys() & {"hub", other.on})
            or is_back
            or self._is_long_ago(network.heard.get(pair, 0.0), exchange.who.name)
            or self._is_long_ago(network.blind.get(pair, math.inf), exchange.who.name)
        )

    def _is_long_ago(self, then: Seconds, who: str) -> bool:
        """Tell whether a dispatcher lets work move whose worker was not heard since then."""
        patience = self._world.replicas[who].settings.worker_lost_after
        return self._world.clock.monotonic() - then > min(patience, SHORTEST) - 1


RETURNING: Seconds = 3.0
"""How long it may take from the first answer of a worker that was lost until it is known what it holds."""

SHORTEST: Seconds = 16.0
"""The shortest time after which a Queue lets work move from a lost worker."""


class NoHotLoop:
    """No process asks the same of a cluster again and again: at most so often within ten seconds.

    A Lease may be asked for twice as often: with the short times of a simulation it is tried every 0.6 s, each time
    with up to three retries.
    """

    MOST = 40
    WITHIN: Seconds = 10.0

    def __init__(self, world: World, complain: Complain) -> None:
        self._world = world
        self._complain = complain
        self._times: dict[tuple[Process, str], deque[Seconds]] = {}

    def on_request(self, exchange: Exchange) -> None:
        """Count a request."""
        what = f"{exchange}{' (watch)' if exchange.is_watch else ''}"
        most = self.MOST * (1 + ("/leases" in exchange.path))
        times = self._times.setdefault((exchange.who, what), deque(maxlen=most))
        now = self._world.clock.monotonic()
        if len(times) == most and now - times[0] < self.WITHIN:
            self._complain(f"{what}: {most} times in {now - times[0]:.1f} s")
            times.clear()
        times.append(now)


class NoCrash:
    """A dispatcher ends by what it says was wrong, never by a bug."""

    def __init__(self, world: World, complain: Complain) -> None:
        for replica in world.replicas.values():
            replica.on_crash = lambda error: complain(f"a dispatcher crashed: {error!r}")


RULES: tuple[Any, ...] = (
    StatusAccepted,
    NothingGoesBack,
    OnlyOurs,
    OneAtATime,
    NoHotLoop,
    NoCrash,
)


def watch(
    world: World, complain: Callable[[Problem], None], rules: tuple[Any, ...] = RULES
) -> None:
    """Have rules looked after."""
    for make in rules:
        rule = make(world, partial(_complain, complain, make.__name__))
        if on_answer := getattr(rule, "on_answer", None):
            world.network.observers.append(_of_dispatchers(world, on_answer))
        if on_change := getattr(rule, "on_change", None):
            world.followers.append(on_change)
        if on_request := getattr(rule, "on_request", None):
            world.network.on_request.append(on_request)


def _complain(complain: Callable[[Problem], None], rule: str, what: str) -> None:
    complain(Problem(rule, what))


def _of_dispatchers(world: World, tell: Callable[..., None]) -> Callable[..., None]:
    def on_answer(exchange: Exchange, request: Request, answer: Answer) -> None:
        if exchange.who.name in world.replicas:
            tell(exchange, request, answer)

    return on_answer
