"""Runners come and go; the server knows those that are there."""

from jobferry.localkube.apiserver.nodes import NodeConnector, Nodes
from jobferry.testing.clock import ManualClock
from jobferry.testing.fake_node import FakeNode


def test_a_node_is_reached_while_it_is_connected() -> None:
    nodes = Nodes()
    node: NodeConnector = FakeNode(ManualClock())
    assert nodes.get("here") is None
    with nodes.connected("here", node):
        assert nodes.get("here") is node
        assert nodes.get("there") is None
    assert nodes.get("here") is None


def test_who_comes_last_has_the_node_also_when_the_former_leaves() -> None:
    nodes = Nodes()
    former, later = FakeNode(ManualClock()), FakeNode(ManualClock())
    first, second = nodes.connected("here", former), nodes.connected("here", later)
    first.__enter__()
    second.__enter__()
    assert nodes.get("here") is later
    first.__exit__(None, None, None)
    assert nodes.get("here") is later
    second.__exit__(None, None, None)
    assert nodes.get("here") is None
