"""What a dispatcher tells about itself in numbers."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from jobferry.clock import Clock, Seconds
from jobferry.core.key import WorkloadKey
from jobferry.dispatch.heads import WorkloadHead
from jobferry.kube import events
from jobferry.kube.cache import Change
from jobferry.metrics import Histogram, Labels, Registry
from jobferry.runtime import reconcile, workqueue
from jobferry.workers.link import Link

REQUEST_SECONDS: tuple[Seconds, ...] = (0.005, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0)
"""Few, because there is a series for each method and cluster."""


class Stopwatch:
    """Measures how long it takes from the news about a workload until something was done about it."""

    def __init__(self, clock: Clock, histogram: Histogram) -> None:
        self._clock = clock
        self._histogram = histogram
        self._began: dict[WorkloadKey, Seconds] = {}

    def __len__(self) -> int:
        return len(self._began)

    def start(self, key: WorkloadKey) -> None:
        """Begin, unless there was news about the key already."""
        self._began.setdefault(key, self._clock.monotonic())

    def drop(self, key: WorkloadKey) -> None:
        """Do not measure it: there is nothing to do about it."""
        self._began.pop(key, None)

    def clear(self) -> None:
        """Do not measure anything that has begun."""
        self._began.clear()

    @contextmanager
    def stopping(self, key: WorkloadKey) -> Iterator[None]:
        """Measure until the block ends well; news that comes during the block is other news."""
        began = self._began.pop(key, None)
        try:
            yield
        except BaseException:
            if began is not None:
                self._began[key] = began
            raise
        if began is not None:
            self._histogram.observe(self._clock.monotonic() - began)


class Meters:
    """All metrics of a dispatcher."""

    def __init__(self, clock: Clock) -> None:
        self.registry = registry = Registry()
        self.placements = registry.counter(
            "jobferry_placements_total", "Placements written to the hub.", "worker"
        )
        self.mirroring = Stopwatch(
            clock,
            registry.histogram(
                "jobferry_mirror_latency_seconds",
                "From the sight of a workload that has no placement until its mirror is there.",
            ),
        )
        self.reporting = Stopwatch(
            clock,
            registry.histogram(
                "jobferry_status_latency_seconds",
                "From the sight of a change of a mirror until the hub has the new status.",
            ),
        )
        self._requests = registry.counter(
            "jobferry_requests_total",
            "Requests sent to API servers, with the code of the answer; 0: none came.",
            *("cluster", "method", "code"),
        )
        self._request_seconds = registry.histogram(
            "jobferry_request_duration_seconds",
            "From a request until its answer; of a watch, until its answer begins.",
            *("cluster", "method"),
            bounds=REQUEST_SECONDS,
        )
        self._queue = registry.gauge(
            "jobferry_queue_length",
            "Workloads to reconcile: waiting, delayed until a certain time, in work.",
            "state",
        )
        self._age = registry.gauge(
            "jobferry_queue_oldest_seconds", "How long the workload waits that waits longest."
        )
        self._passes = registry.tally(
            "jobferry_passes_total",
            "Passes over a workload: done, again later, error (tried again).",
            "outcome",
        )
        self._connected = registry.gauge(
            "jobferry_worker_connected", "Whether a worker is connected: 1 or 0.", "worker"
        )
        self._events = registry.tally(
            "jobferry_events_total", "Events for people: posted, dropped.", "outcome"
        )

    def observe(self, cluster: str, method: str, code: int, took: Seconds) -> None:
        """Take note of a request; meant for `kube.client.connect`."""
        self._requests.add(cluster, method, str(code))
        self._request_seconds.observe(took, cluster, method)

    def begin(self) -> None:
        """Take note that we act from now on; what was seen before was for others to do."""
        self.mirroring.clear()
        self.reporting.clear()

    def place(self, workers: Iterable[str]) -> None:
        """Take note of a placement."""
        for worker in workers:
            self.placements.add(worker)

    def see(self, key: WorkloadKey, change: Change[WorkloadHead], *, is_placed: bool) -> None:
        """Take note of a workload that came or went."""
        if change.after is None:
            self.mirroring.drop(key)
        elif change.before is None and not is_placed:
            self.mirroring.start(key)

    def follow(
        self,
        *,
        queue: Callable[[], workqueue.Stats],
        passes: Callable[[], reconcile.Stats],
        links: Callable[[], list[Link]],
    ) -> None:
        """Read the rest from those who know."""
        self._queue.read_from(lambda: _lengths(queue()))
        self._age.read_from(lambda: {(): queue().oldest})
        self._passes.read_from(lambda: {(key,): n for key, n in asdict(passes()).items()})
        self._connected.read_from(lambda: {(link.name,): link.state.is_up for link in links()})

    def follow_events(self, stats: Callable[[], events.Stats]) -> None:
        """Read what became of Events from their recorder."""
        self._events.read_from(lambda: _ends(stats()))


def _lengths(stats: workqueue.Stats) -> dict[Labels, float]:
    return {
        ("waiting",): stats.waiting,
        ("delayed",): stats.delayed,
        ("in_work",): stats.in_work,
    }


def _ends(stats: events.Stats) -> dict[Labels, float]:
    return {("posted",): stats.posted, ("dropped",): stats.dropped}
