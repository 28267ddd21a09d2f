"""The Queues that Jobs are in without naming them."""

from collections.abc import Iterable

from jobferry.cli.hub import Hub
from jobferry.dispatch.queues import QUEUES
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.objects import Obj


async def read(hub: Hub) -> dict[str, str]:
    """Read which Queue each namespace has; none if we may not, or this is no hub."""
    try:
        return by_namespace((await hub.client.list(Scope(resource=QUEUES))).items)
    except (errors.Forbidden, errors.NotFound):
        return {}


def by_namespace(queues: Iterable[Obj]) -> dict[str, str]:
    """Return the Queue that claims a namespace; where several do, a Job without a label is in none."""
    claims: dict[str, set[str]] = {}
    for queue in queues:
        for namespace in (queue.get("spec") or {}).get("namespaces") or ():
            claims.setdefault(namespace, set()).add(queue["metadata"]["name"])
    return {
        namespace: next(iter(names)) for namespace, names in claims.items() if len(names) == 1
    }
