"""A cluster, as it is heard."""

from jobferry.kube.client import Client
from jobferry.kube.hearing import HeardTransport, Hearing
from jobferry.testing.clock import ManualClock
from tests.unit.kube.wires import Wire


class Rig:
    """A cluster, as it is heard."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.clock = ManualClock()
        self.hearing = Hearing(self.clock)
        self.client = Client(wire, name="east", clock=self.clock, hearing=self.hearing)
        self.transport = HeardTransport(wire, self.hearing, self.clock)
