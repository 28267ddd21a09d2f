from typing import Any

import pytest

from jobferry.core.view import Policy
from jobferry.dispatch.queues import LABEL, Queues
from jobferry.kube.calls import Scope
from jobferry.kube.informer import Informer
from jobferry.kube.items import Metadata
from jobferry.workers.resource import WORKERS, WorkerHead
from tests.unit.kube.wires import Wire, client_over


def queues(**spec: Any) -> Queues:
    """Return queues of which one, "training", says this."""
    hub = client_over(Wire())
    found = Queues(hub, Informer(hub, Scope(resource=WORKERS), WorkerHead), 900.0)
    metadata = {"name": "training", "uid": "q", "resourceVersion": "1", "generation": 1}
    found.objects.absorb({"metadata": metadata, "spec": spec})
    return found


def naming(queue: str, namespace: str) -> Metadata:
    """Return a workload that names a Queue."""
    return Metadata(
        namespace=namespace, name="a", uid="u", resource_version="2", labels={LABEL: queue}
    )


@pytest.mark.parametrize(
    "spec",
    [
        {"namespaces": ["ml"]},
        {"namespaces": ["ml"], "allowOtherNamespaces": False},
    ],
)
def test_a_queue_that_lists_namespaces_is_for_these(spec: dict[str, Any]) -> None:
    found = queues(**spec)

    assert isinstance(found.policy(naming("training", "ml")), Policy)
    assert found.policy(naming("training", "web")) == "Queue training is not for namespace web"


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"namespaces": []},
        {"namespaces": ["ml"], "allowOtherNamespaces": True},
    ],
)
def test_others_may_name_it_if_it_lists_none_or_says_so(spec: dict[str, Any]) -> None:
    assert isinstance(queues(**spec).policy(naming("training", "web")), Policy)
