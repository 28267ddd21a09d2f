"""What the shell does by itself, where no server can bring it about."""

from typing import Any

from jobferry.kube.client import Client
from jobferry.kube.events import Subject
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.items import Key
from jobferry.localkube.controllers.informers import Informers
from jobferry.localkube.controllers.job.controller import DEFAULT_NAMES, TRACKING
from jobferry.localkube.controllers.job.hands import Hands
from jobferry.localkube.controllers.job.reconciler import Reconciler, Service
from jobferry.runtime.reconcile import DONE
from jobferry.testing.clock import ManualClock


async def no_server(*_: Any) -> None:
    raise AssertionError("nothing is to be asked of the server")


async def test_a_job_of_a_mode_that_is_unknown_is_left_alone_and_told_so() -> None:
    clock, told = ManualClock(), []

    def tell(subject: Subject, type: str, reason: str, message: str) -> None:
        told.append((subject.key.name, type, reason, message))

    async with Client(InProcessTransport(no_server, clock), name="x", clock=clock) as client:
        informers = Informers(client)
        hands = Hands(client, informers.pods, tell=tell, finalizer=TRACKING)
        reconciler = Reconciler(
            client,
            jobs=informers.jobs,
            pods=informers.pods,
            hands=hands,
            service=Service(DEFAULT_NAMES, TRACKING),
        )
        meta = {"name": "odd", "namespace": "default", "uid": "u", "resourceVersion": "1"}
        spec = {"completionMode": "Sometimes", "template": {"spec": {}}}
        informers.jobs.absorb({"metadata": meta, "spec": spec})

        assert await reconciler.reconcile(Key("default", "odd")) == DONE

    text = "Skipped Job sync because completion mode is unknown"
    assert told == [("odd", "Warning", "UnknownCompletionMode", text)]
