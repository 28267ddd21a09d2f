"""The dispatchers of a simulation: each starts with nothing but what the clusters hold."""

from collections.abc import Callable
from random import Random

from jobferry import app
from jobferry.clock import Seconds, sleep
from jobferry.dispatch.meters import Meters
from jobferry.errors import Error
from jobferry.kube.access import Access, Fixed, Identity, Server
from jobferry.kube.client import connect
from jobferry.runtime.supervise import Child, Supervisor
from jobferry.settings import Lease, Settings
from jobferry.testing.simulation.gates import PASS
from jobferry.testing.simulation.network import Network, Process
from jobferry.testing.simulation.prepared import DISPATCHER
from jobferry.testing.simulation.record import Journal

SETTINGS = Settings(worker_lost_after=20.0, lease=Lease(duration=4, deadline=3.0, retry=0.6))
"""Short times, so that histories are."""

RESTART: Seconds = 1.0
"""One that ended by itself is started again, as a pod is."""


OnCrash = Callable[[Exception], None]


class Replica:
    """One of the copies of a dispatcher, through all its lives."""

    def __init__(
        self, name: str, network: Network, tasks: Supervisor, journal: Journal, seed: str
    ) -> None:
        self.name = name
        self.settings = SETTINGS
        self.process = Process(name)
        self.on_crash: OnCrash = lambda _: None
        """Told what it ended by that nothing but a bug explains."""

        self._network = network
        self._tasks = tasks
        self._journal = journal
        self._seed = seed
        self._lives = 0
        self._child: Child | None = None

    @property
    def is_running(self) -> bool:
        """Whether it is there."""
        return self._child is not None

    def start(self) -> None:
        """Begin a new life, if there is none."""
        if self._child is not None:
            return
        self._lives += 1
        by, self.process = self.process.clock.by, Process(self.name)
        self.process.clock.by = by
        self._child = self._tasks.start(f"{self.name}, life {self._lives}", self._live)

    def kill(self) -> None:
        """End it at once: nothing that its tasks still send arrives."""
        if self._child is not None:
            self.process.is_cut = True
            self.process.wake()
            self._child.ask_to_stop()
            self._child = None

    async def _live(self) -> None:
        process = self.process
        while not process.is_cut:
            try:
                await self._dispatch(process)
            except Error as error:
                self._journal.say(f"{self.name} ends: {error}")
            except Exception as error:  # noqa: BLE001 (whatever it is, it is what is looked for)
                self._journal.say(f"{self.name} crashes: {error!r}")
                self.on_crash(error)
            await sleep(process.clock, RESTART)

    async def _dispatch(self, process: Process) -> None:
        clock, reach = process.clock, self._network.reach(process)
        random = Random(f"{self._seed} {self.name} {self._lives}")  # noqa: S311 (the same each time)
        who = Fixed(Identity(authorization=f"{PASS}{DISPATCHER}"))
        access = Access(server=Server(url="https://hub.test"), credentials=who)
        async with connect(access, name="hub", clock=clock, reach=reach, random=random) as hub:
            me = f"{self.name}-{self._lives}"
            await app.dispatch(hub, self.settings, me=me, meters=Meters(clock), reach=reach)
