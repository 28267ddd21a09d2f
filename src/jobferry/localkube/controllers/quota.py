"""Counts what is used of each ResourceQuota, where admission can only add to it."""

from collections.abc import Iterable

from jobferry.clock import Seconds
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.items import Item, Key
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.everything import Everything
from jobferry.localkube.controllers.heads import Object, Pod
from jobferry.localkube.controllers.informers import NAMESPACE, Informers
from jobferry.objects import Obj, amounts, quotas
from jobferry.objects.amounts import Amounts
from jobferry.objects.resource import Resource
from jobferry.runtime.reconcile import DONE, Outcome

QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")
BODIES = frozenset({("", "services"), ("", "persistentvolumeclaims")})
"""Kinds of which more than the number counts, and that nobody keeps whole: they are read when needed."""

SETTLING: Seconds = 2.0
"""When to count again after something came: what was charged for it may have been overwritten meanwhile."""


class QuotaController:
    """Counts anew whenever something that a quota counts has gone, or the quota has changed."""

    def __init__(self, client: Client, informers: Informers, everything: Everything) -> None:
        self._client = client
        self._everything = everything
        self._quotas = informers.of(QUOTAS)
        self._pods = informers.pods
        self._controller: Controller[Key] = Controller("quotas", client, self._pass)
        self._quotas.listen(self._note_quota)
        everything.listen(self._note)

    async def run(self) -> None:
        """Work until cancelled, once everything can be counted."""
        await self._everything.whole.wait()
        await self._controller.run()

    def _note_quota(self, change: Change[Object]) -> None:
        """Count anew if what is allowed has changed; what is used, admission changes all the time."""
        before, after = change
        if after is not None and (before is None or _hard(before) != _hard(after)):
            self._controller.add(after.key)

    def _note(self, resource: Resource, change: Change[Object]) -> None:
        if not resource.namespaced or not len(self._quotas):
            return
        delay = _delay(resource, change)
        if delay is None:
            return
        for quota in self._quotas.by(NAMESPACE, change.item.key.namespace):
            self._controller.queue.add_after(quota.key, delay)

    async def _pass(self, key: Key) -> Outcome:
        item = self._quotas.get(key)
        if item is None:
            return DONE
        quota = item.object()
        status = next_status(quota, await self._used(quota))
        if status is None:
            return DONE
        body = {**quota, "status": status}
        try:
            answer = await self._client.update(QUOTAS, body, subresource="status")
        except errors.NotFound:
            return DONE
        self._quotas.absorb(answer)
        return DONE

    async def _used(self, quota: Obj) -> Amounts:
        namespace, hard = quota["metadata"]["namespace"], (quota["spec"].get("hard") or {})
        now = self._client.clock.now()
        total: Amounts = {}
        for group, plural in sorted(quotas.kinds(hard)):
            objs = await self._objects(group, plural, namespace)
            if objs is not None:
                measure = quotas.measure_of(group, plural)
                total |= quotas.used(quota, measure, objs, now)
        return total

    async def _objects(self, group: str, plural: str, namespace: str) -> Iterable[Obj] | None:
        """Return what a namespace has of a kind; None if there is no such kind."""
        if (group, plural) == ("", "pods"):
            return [pod.object() for pod in self._pods.by(NAMESPACE, namespace)]
        resource = self._everything.resource(group, plural)
        informer = None if resource is None else self._everything.of(resource)
        if resource is None or informer is None:
            return None
        if (group, plural) in BODIES:
            scope = Scope(resource=resource, namespace=namespace)
            return (await self._client.list(scope)).items
        empty: Obj = {}
        return [empty] * informer.count(NAMESPACE, namespace)


def next_status(quota: Obj, used: Amounts) -> Obj | None:
    """Return the status that a quota should have; None if it has that."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    before = quota.get("status") or {}
    known = amounts.read(before.get("used"))
    wanted = {name: amount for name, amount in {**known, **used}.items() if name in hard}
    if amounts.read(before.get("hard")) == amounts.read(hard) and known == wanted:
        return None
    return {"hard": hard, "used": {name: str(amount) for name, amount in wanted.items()}}


def _hard(item: Item[Object]) -> Obj:
    found: Obj = (item.object().get("spec") or {}).get("hard") or {}
    return found


def _delay(resource: Resource, change: Change[Object]) -> Seconds | None:
    """Say how soon a change has to be counted; None: it changes nothing that is counted."""
    before, after = change
    if after is None:
        return 0
    if before is None:
        return SETTLING
    if isinstance(before.head, Pod) and isinstance(after.head, Pod):
        return 0 if after.head.is_finished and not before.head.is_finished else None
    return 0 if (resource.group, resource.plural) in BODIES else None
