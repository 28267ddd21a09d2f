"""Takes note of ends that were guessed: of Jobs whose mirrors had decided how to end when nobody saw it who could still tell."""

import orjson

from jobferry.clock import Seconds
from jobferry.core import marks, placement
from jobferry.kinds.job.status import decision
from jobferry.kube.wire import Answer, Request
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.objects import Obj
from jobferry.testing.simulation import truth
from jobferry.testing.simulation.clusters import SimulatedCluster
from jobferry.testing.simulation.network import TAKEN, Exchange, Process
from jobferry.testing.simulation.steps import Complain
from jobferry.testing.simulation.world import World


class Guesses:
    """Ends that were written by somebody who had not heard of the worker since its mirror decided how to end.

    The hub shows what pods came to, but not what was decided, until all of them have ended.
    """

    def __init__(self, world: World, _: Complain) -> None:
        self._world = world
        self._decided: dict[tuple[str, str, int], Seconds] = {}
        self._born: dict[Process, Seconds] = {}

    def on_change(self, cluster: SimulatedCluster, change: Change) -> None:
        """Take note of when mirrors decide."""
        is_job = cluster.name != "hub" and change.entry.key.startswith(truth.JOBS_AT)
        if not is_job or change.deleted:
            return
        job = change.entry.object
        known = marks.read(job)
        if known is not None and decision(job.get("status") or {}) is not None:
            mirror = (cluster.name, known.hub_uid, known.attempt)
            self._decided.setdefault(mirror, self._now())

    def on_request(self, exchange: Exchange) -> None:
        """Take note of when a dispatcher began to live: it knows nothing of its life before."""
        self._born.setdefault(exchange.who, self._now())

    def on_answer(self, exchange: Exchange, request: Request, answer: Answer) -> None:
        """Look who ends a Job."""
        is_status = exchange.path.endswith("/status") and "/jobs/" in exchange.path
        if exchange.gate.name == "hub" and is_status and answer.code in TAKEN:
            self._judge(exchange, orjson.loads(answer.body))

    def _judge(self, exchange: Exchange, job: Obj) -> None:
        placed = placement.vouched(job)
        if placed is None or truth.finish(job) is None:
            return
        worker = placed.shards[0].worker
        decided = self._decided.get((worker, placed.uid, placed.attempt))
        heard = self._world.network.heard.get((exchange.who.name, worker), 0.0)
        if decided is not None and heard < max(decided, self._born[exchange.who]):
            self._world.guessed.add(placed.uid)

    def _now(self) -> Seconds:
        return self._world.clock.monotonic()
