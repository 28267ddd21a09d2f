"""What we promise about work that is under way: rules as in `steps`, each of which looks at one sort of write."""

from typing import Any

import orjson

from jobferry.clock import Seconds
from jobferry.core import marks, placement, placement_object, times
from jobferry.core.marks import Marks
from jobferry.core.view import are_most
from jobferry.kinds.job.status import count, is_indexed
from jobferry.kube.wire import Answer, Request
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.objects import Obj
from jobferry.testing.simulation import truth
from jobferry.testing.simulation.clusters import SimulatedCluster
from jobferry.testing.simulation.network import LONG, TAKEN, Exchange
from jobferry.testing.simulation.replicas import SETTINGS
from jobferry.testing.simulation.steps import Complain, made_mirror
from jobferry.testing.simulation.world import World


class WantedIsKept:
    """We delete no mirror that is the one that counts, as long as its Job is there and has not ended.

    Unless its record says that it is to leave its worker so.
    """

    def __init__(self, world: World, complain: Complain) -> None:
        self._world = world
        self._complain = complain
        self._made: dict[str, Marks] = {}

    def on_answer(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Look at what we delete."""
        if "/jobs" not in exchange.path or answer.code not in TAKEN:
            return
        if exchange.gate.name == "hub" or request.method not in ("POST", "DELETE"):
            return
        said: Obj = orjson.loads(answer.body)
        if request.method == "POST":
            if (made := marks.read(said)) is not None:
                self._made[said["metadata"]["uid"]] = made
            return
        known = self._made.get(_uid(said))
        if known is not None and self._counts(known, exchange.gate.name):
            self._complain(f"{exchange}: it is attempt {known.attempt}, which counts")

    def _counts(self, known: Marks, worker: str) -> bool:
        if "hub" in self._world.restored:
            return False  # what counts there now was not so when it was decided
        job = _job(self._world, known.hub_uid)
        if job is None or truth.finish(job) or job["metadata"].get("deletionTimestamp"):
            return False
        placed = truth.placed(self._world, job)
        if placed is None or placed.shards[0].leaving:
            return False
        return (placed.attempt, placed.shards[0].worker) == (known.attempt, worker)


class EarnedIsKept:
    """A mirror asks for no more successes than those that the hub does not show yet."""

    def __init__(self, world: World, complain: Complain) -> None:
        self._world = world
        self._complain = complain

    def on_answer(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Look at what we create."""
        made = made_mirror(exchange, request, answer)
        known = marks.read(made) if made is not None else None
        job = _job(self._world, known.hub_uid) if known else None
        if made is None or job is None or known is None or not truth.is_job(job):
            return
        if is_indexed(job["spec"]):
            return
        placed = placement.vouched(job)
        asked, wanted = made["spec"].get("completions"), job["spec"].get("completions")
        if asked is None or wanted is None or placed is None or placed.attempt != known.attempt:
            return
        shown = count(job.get("status") or {}, "succeeded")
        if asked > wanted - shown:
            self._complain(f"{exchange}: {asked} to go, though {shown} of {wanted} are done")


class MostLostIsUs:
    """Nothing moves away from a worker that is not heard while most of them are not: it is us who are cut off."""

    def __init__(self, world: World, complain: Complain) -> None:
        self._world = world
        self._complain = complain
        self._placed: dict[str, placement.Placement] = {}

    def on_answer(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Look at the records that we write."""
        if exchange.gate.name != "hub" or answer.code not in TAKEN:
            return
        now = _recorded(exchange, answer)
        if now is None:
            return
        before, self._placed[now.uid] = self._placed.get(now.uid), now
        if before is None or before.attempt >= now.attempt:
            return
        worker, unheard = before.shards[0].worker, self._unheard(exchange.who.name)
        is_us = worker in unheard and are_most(len(unheard), len(self._workers()))
        if is_us and self._is_there(worker, before):
            self._complain(f"{exchange}: moves from {worker}, though {unheard} are silent")

    def _workers(self) -> list[str]:
        found = truth.objects(self._world.clusters["hub"], truth.WORKERS_AT)
        return [each["metadata"]["name"] for each in found]

    def _unheard(self, who: str) -> list[str]:
        return [name for name in self._workers() if self._silence(who, name) > LONG]

    def _silence(self, who: str, worker: str) -> Seconds:
        """Return for how long somebody who listened has not heard of a worker."""
        heard = self._world.network.heard.get((who, worker), 0.0)
        slept = self._world.replicas[who].process.slept(heard)
        return self._world.clock.monotonic() - heard - slept

    def _is_there(self, worker: str, placed: placement.Placement) -> bool:
        """Tell whether there is a mirror: else it was certain that nothing is lost."""
        return any(
            (each.on, each.marks.hub_uid, each.marks.attempt)
            == (worker, placed.uid, placed.attempt)
            for each in truth.mirrors(self._world)
        )


class StoppedBeforeMoved:
    """No attempt begins while pods of the one before it run whose mirror we have deleted ourselves.

    Unless their worker was lost, or has come back just now: what was moved while it was lost begins all the same. Or it was
    put back to an earlier state, with pods that had ended. Or somebody deleted the mirror once more, without waiting for pods.
    """

    MARGIN: Seconds = 9.0
    """So long may pass between the record of a placement and its mirror: another may lead by then."""

    def __init__(self, world: World, complain: Complain) -> None:
        self._world = world
        self._complain = complain
        self._made: dict[str, tuple[Marks, str]] = {}
        self._deleted: dict[tuple[str, int], str] = {}

    def on_answer(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Look at what we create and delete."""
        if (
            exchange.gate.name == "hub"
            or "/jobs" not in exchange.path
            or answer.code not in TAKEN
        ):
            return
        if request.method == "DELETE":
            uid = _uid(orjson.loads(answer.body))
            if uid in self._made:
                known, _ = self._made[uid]
                self._deleted[known.hub_uid, known.attempt] = uid
        elif request.method == "POST":
            self._look(exchange, orjson.loads(answer.body))

    def _look(self, exchange: Exchange, made: Obj) -> None:
        known, worker = marks.read(made), exchange.gate.name
        if known is None or not known.attempt:
            return  # its worker stripped our marks: it is deleted at once, and no attempt
        self._made[made["metadata"]["uid"]] = known, worker
        # The same attempt on another worker is one, too: the record of it was lost, or somebody else's not seen.
        for attempt in (known.attempt, known.attempt - 1):
            before = self._deleted.get((known.hub_uid, attempt))
            if before is not None and not made["spec"].get("suspend"):
                self._compare(exchange, before)

    def _compare(self, exchange: Exchange, before: str) -> None:
        known, worker = self._made[before]
        pair, now = (exchange.who.name, worker), self._world.clock.monotonic()
        network = self._world.network
        is_lost = now - network.heard.get(pair, 0.0) > LONG
        is_lost |= now - network.returned.get(pair, 0.0) < self.MARGIN
        is_put_back = bool(self._world.restored.keys() & {"hub", worker})
        is_tampered = (known.namespace, known.name) in self._world.tampered
        if worker == exchange.gate.name or is_lost or is_put_back or is_tampered:
            return
        if truth.active_pods(self._world.clusters[worker], {"metadata": {"uid": before}}):
            self._complain(f"{exchange}: pods of attempt {known.attempt} run on {worker}")


class NoneForTheDead:
    """No mirror is made for a Job that was over, or gone, well before that was sent."""

    MARGIN: Seconds = 10.0
    """It may end after it was read, while a request waits for its turn."""

    def __init__(self, world: World, complain: Complain) -> None:
        self._world = world
        self._complain = complain
        self._over: dict[str, Seconds] = {}
        self._sent: dict[int, Seconds] = {}

    def on_change(self, cluster: SimulatedCluster, change: Change) -> None:
        """Take note of when Jobs of the hub end or go."""
        if cluster.name == "hub" and change.entry.key.startswith(truth.WORKLOADS_AT):
            found = change.previous if change.deleted else change.entry
            job = found.object if found else {"metadata": {"uid": ""}}
            if change.deleted or truth.finish(job):
                self._over.setdefault(job["metadata"]["uid"], self._world.clock.monotonic())

    def on_request(self, exchange: Exchange) -> None:
        """Take note of when a mirror is sent."""
        if exchange.gate.name != "hub" and exchange.request.method == "POST":
            self._sent[id(exchange)] = self._world.clock.monotonic()

    def on_answer(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Look whom a mirror is for."""
        sent = self._sent.pop(id(exchange), None)
        made = made_mirror(exchange, request, answer)
        if sent is None or made is None:
            return
        known = marks.read(made)
        over = self._over.get(known.hub_uid, sent) if known else sent
        if sent - over > self.MARGIN and "hub" not in self._world.restored:
            self._complain(f"{exchange}: its Job was over {sent - over:.1f} s before")


class MomentsAreOurs:
    """When a Job began and ended is told by the clock of whoever writes it, whatever the clocks of workers show.

    As long as no clock jumps: it takes a while until that is noticed.
    """

    MARGIN: Seconds = 6.0
    """Clocks are compared by whole seconds, and small differences are not worth it."""

    def __init__(self, world: World, complain: Complain) -> None:
        self._world = world
        self._complain = complain
        self._made: dict[str, Seconds] = {}

    def on_change(self, cluster: SimulatedCluster, change: Change) -> None:
        """Take note of when Jobs of the hub are made."""
        is_job = cluster.name == "hub" and change.entry.key.startswith(truth.JOBS_AT)
        if is_job and not change.deleted:
            uid = change.entry.object["metadata"]["uid"]
            self._made.setdefault(uid, self._world.clock.monotonic())

    def on_answer(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Look at the moments that we write."""
        is_status = exchange.path.endswith("/status") and "/jobs/" in exchange.path
        if exchange.gate.name != "hub" or not is_status or answer.code not in TAKEN:
            return
        uid = orjson.loads(answer.body)["metadata"]["uid"]
        made, told = self._made.get(uid), orjson.loads(request.body).get("status") or {}
        moments = {key: told[key] for key in ("startTime", "completionTime") if told.get(key)}
        if made is None or not moments or self._has_jumped():
            return
        now = self._world.replicas[exchange.who.name].process.clock.now()
        most = self._world.clock.monotonic() - made + self.MARGIN
        for key, moment in moments.items():
            ago = (now - times.instant(moment)).total_seconds()
            if not -self.MARGIN <= ago <= most:
                self._complain(f"{exchange}: {key} is {moment}, and it is {now:%H:%M:%S}")

    def _has_jumped(self) -> bool:
        clocks = [each.process.clock for each in self._world.replicas.values()]
        return bool(self._world.jumped) or any(clock.by for clock in clocks)


class OnlyLeadersWrite:
    """Who does not lead sends no write about Jobs: another one does, and knows better.

    The Lease of a hub that was put back names who led then. Who leads now hears of that when it next renews.
    """

    def __init__(self, world: World, complain: Complain) -> None:
        self._world = world
        self._complain = complain

    def on_request(self, exchange: Exchange) -> None:
        """Look who leads, by the Lease."""
        is_theirs = any(each in exchange.path for each in ("/jobs", "/placements"))
        if exchange.request.method == "GET" or not is_theirs:
            return
        leader = truth.leader(self._world)
        put_back = self._world.restored.get("hub")
        now = self._world.clock.monotonic()
        is_old = put_back is not None and now - put_back < SETTINGS.lease.deadline
        if leader and leader != exchange.who.name and exchange.who.is_awake and not is_old:
            self._complain(f"{exchange}: {leader} leads")


RULES: tuple[Any, ...] = (
    OnlyLeadersWrite,
    WantedIsKept,
    EarnedIsKept,
    StoppedBeforeMoved,
    MostLostIsUs,
    NoneForTheDead,
    MomentsAreOurs,
)


def _uid(said: Obj) -> str:
    """Return the UID of what was deleted, as the answer tells."""
    about = said["details"] if said["kind"] == "Status" else said["metadata"]
    return str(about["uid"])


def _recorded(exchange: Exchange, answer: Answer) -> placement.Placement | None:
    """Return the placement that was just written, in a Job or in an object of ours."""
    if "/placements" in exchange.path and exchange.request.method != "GET":
        record: Obj = orjson.loads(answer.body)
        meta = record["metadata"]
        named = {"namespace": meta["namespace"], "uid": meta["name"]}
        return placement_object.read({"metadata": named}, record)
    if exchange.path.endswith("/status") and "/jobs/" in exchange.path:
        return placement.vouched(orjson.loads(answer.body))
    return None


def _job(world: World, uid: str) -> Obj | None:
    return next(
        (each for each in truth.workloads(world) if each["metadata"]["uid"] == uid), None
    )
