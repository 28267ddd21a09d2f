"""What a reconciler does about workloads of which nothing can be said."""

from types import SimpleNamespace
from typing import Any

from jobferry.core.key import WorkloadKey
from jobferry.dispatch.memory import Memory
from jobferry.dispatch.reconciler import Reconciler
from jobferry.runtime.reconcile import DONE

KEY = WorkloadKey("JobSet.jobset.x-k8s.io", "ns", "a")


async def test_no_room_is_kept_for_what_is_of_a_kind_that_is_followed_no_more() -> None:
    given_back: list[WorkloadKey] = []
    views: Any = SimpleNamespace(
        claims=None,
        workloads=SimpleNamespace(adapters={KEY.kind: None}, followed=frozenset()),
        memory=Memory(lambda: 0.0),
        admitting=SimpleNamespace(withdraw=given_back.append),
    )
    anything: Any = SimpleNamespace(hub=None)
    reconciler = Reconciler(views, anything, anything, anything, record=anything)

    assert await reconciler.reconcile(KEY) == DONE
    assert given_back == [KEY]
