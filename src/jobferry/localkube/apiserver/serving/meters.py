"""What the server tells about itself."""

from collections.abc import Callable

from jobferry.clock import Clock, Seconds
from jobferry.localkube.apiserver.requests.call import Call
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage.reader import Reader
from jobferry.metrics import SECONDS, Registry

Served = Callable[[str, str, str], Resource | None]
"""Finds a resource that is served, by group, version and plural name."""


class Meters:
    """Counts requests and measures how long their answers take; watches until they stand."""

    def __init__(self, clock: Clock, storage: Reader, served: Served) -> None:
        self.registry = Registry()
        self._clock = clock
        self._served = served
        labels = ("verb", "group", "version", "resource", "subresource", "code")
        self._requests = self.registry.counter(
            "apiserver_request_total", "Requests, by what they asked for and the code.", *labels
        )
        self._seconds = self.registry.histogram(
            "apiserver_request_duration_seconds",
            "How long answers took; of a watch, how long until it stood.",
            "verb",
            bounds=SECONDS,
        )
        objects = self.registry.gauge(
            "apiserver_storage_objects", "Objects in storage, by collection.", "collection"
        )
        objects.read_from(
            lambda: {(prefix,): count for prefix, count in storage.counts().items()}
        )

    def begin(self) -> Seconds:
        """Note when a request came."""
        return self._clock.monotonic()

    def end(self, begun: Seconds, call: Call | None, code: int) -> None:
        """Count a request that is answered."""
        if call is None or not call.target.is_resource:
            return
        about = call.target
        found = self._served(about.group, about.version, about.resource)
        # Only names that we know: whoever asks for others must not fill our memory with them.
        names = ("", "", "", "")
        if found is not None:
            known = about.subresource if about.subresource in found.subresources else ""
            names = (about.group, about.version, about.resource, known)
        self._requests.add(about.verb, *names, str(code))
        self._seconds.observe(self._clock.monotonic() - begun, about.verb)
