"""The status of Queues: says on each whether it can be heeded, as its workloads wait while it cannot."""

from jobferry import log
from jobferry.dispatch.queues import QUEUES, QueueHead, Queues
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.items import Item, Key
from jobferry.objects import Obj, conditions
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import DONE, Loop, Outcome
from jobferry.runtime.workqueue import WorkQueue

BACKOFF = Backoff(first=0.5, cap=60.0)

_log = log.get(__name__)


class QueueStatuses:
    """Writes a condition to each Queue, once for each of its generations."""

    def __init__(self, hub: Client, queues: Queues) -> None:
        self._hub = hub
        self._queues = queues
        self._keys: WorkQueue[Key] = WorkQueue(hub.clock)
        queues.objects.listen(self._note)
        self._loop = Loop(
            "queues",
            self._see_to,
            queue=self._keys,
            failures=Failures(BACKOFF, hub.random),
            workers=1,
        )

    async def run(self) -> None:
        """Write until cancelled: first to those of which there was news while it was not for us to do so."""
        await self._loop.run()

    def _note(self, change: Change[QueueHead]) -> None:
        if is_news(change):
            self._keys.add(change.item.key)

    async def _see_to(self, key: Key) -> Outcome:
        item = self._queues.objects.get(key)
        if item is None:
            return DONE
        shown = (item.object().get("status") or {}).get("conditions")
        listed = conditions.set(shown, self._condition(item), self._hub.clock.now())
        if listed == shown:
            return DONE
        try:
            answer = await self._hub.patch(
                QUEUES, key.name, {"status": {"conditions": listed}}, subresource="status"
            )
        except errors.NotFound:
            return DONE  # it is gone, or its CRD is of a time when it had no status
        except errors.Forbidden as error:
            _log.failure("What is to be said on a Queue may not be written", error, queue=key)
            return DONE
        self._queues.objects.absorb(answer)
        return DONE

    def _condition(self, item: Item[QueueHead]) -> Obj:
        trouble = self._queues.trouble(item)
        if trouble is not None:
            _log.warning("A Queue cannot be heeded", queue=item.key, why=trouble)
        return {
            "type": "Valid",
            "status": "True" if trouble is None else "False",
            "reason": "Valid" if trouble is None else "BadSelector",
            "message": "It is heeded." if trouble is None else trouble,
            "observedGeneration": item.head.metadata.generation,
        }


def is_news(change: Change[QueueHead]) -> bool:
    """Tell whether a Queue may say something else now: its status, which we write, is no news."""
    if change.before is None or change.after is None:
        return True
    return change.before.head.metadata.generation != change.after.head.metadata.generation
