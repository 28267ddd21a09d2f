"""`jobferry workers remove`: takes the work away from a Worker, and deletes it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from jobferry.cli import options, render
from jobferry.cli.arguments import Parser, completes
from jobferry.cli.enrolment import ACCOUNT, SYSTEM
from jobferry.cli.hub import Hub, run
from jobferry.cli.preflight import NAMESPACE_ROLE, ROLE
from jobferry.clock import Seconds, timeout
from jobferry.dispatch import manifests
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Key
from jobferry.objects import Obj, conditions
from jobferry.runtime import supervise
from jobferry.workers.resource import WORKERS

_ABOUT = """Deletes a Worker. It gets no new work at once; what runs there is stopped and placed on other Workers, and
mirrors of what has finished are deleted, with their logs. The Worker is gone when nothing is left there.

To keep the logs for a while, `jobferry workers drain` it first. The service account stays on the cluster."""

SAID_WITHIN: Seconds = 5.0
"""A dispatcher that runs says within two seconds what a Worker waits for."""


def main(arguments: Sequence[str]) -> None:
    """Delete a Worker."""
    parser = Parser("jobferry workers remove", "NAME [option ...]", _ABOUT)
    completes(parser.add_argument("name", metavar="NAME", help="the Worker"), "workers")
    options.add_where(parser, namespaced=False)
    given = parser.parse_args(arguments)

    async def remove(hub: Hub) -> None:
        worker = await hub.read(WORKERS, given.name)
        await hub.client.delete(WORKERS, given.name, uid=worker["metadata"]["uid"])
        left = await settled(hub.client, worker)
        render.text(f"{sentence(given.name, left)}\n{account(worker, is_gone=left is None)}")

    run(options.where(given), remove)


async def settled(hub: Client, worker: Obj) -> Obj | None:
    """Wait a moment for what the dispatcher says of a Worker that was deleted; None: it is gone."""
    name, uid = worker["metadata"]["name"], worker["metadata"]["uid"]
    informer = Informer(hub, Scope(resource=WORKERS, fields=f"metadata.name={name}"), Head)
    changed = asyncio.Event()
    informer.listen(lambda _: changed.set())

    def there() -> Obj | None:
        item = informer.get(Key("", name))
        return item.object() if item and item.object()["metadata"]["uid"] == uid else None

    with suppress(TimeoutError):
        async with (
            timeout(hub.clock, SAID_WITHIN),
            supervise.tasks("removal", clock=hub.clock) as tasks,
        ):
            tasks.start("informer", informer.run)
            await informer.synced.wait()
            while (left := there()) and not _waits(left):
                changed.clear()
                await changed.wait()
    return there() if informer.synced.is_set() else worker


def sentence(name: str, left: Obj | None) -> str:
    """Say what a Worker that was deleted waits for."""
    if left is None:
        return f"Worker {name} is removed."
    waits = _waits(left) or "No dispatcher has said yet what it waits for."
    return f"Worker {name} is deleted. {waits} `jobferry workers {name} -o wide` shows it."


def account(worker: Obj, *, is_gone: bool) -> str:
    """Say what stays on the cluster of a Worker, and how to delete it; nothing of one that has no account of ours."""
    spec = worker["spec"]
    if not (spec.get("kubeconfig") or {}).get("secret") or spec.get("sharedCluster"):
        return ""
    when = "Delete" if is_gone else "Once it is gone, delete"
    return f"""Its service account, rights and token stay on that cluster. {when} them with its context:
  kubectl --context CONTEXT -n {SYSTEM} delete serviceaccount/{ACCOUNT} secret/{ACCOUNT}
  kubectl --context CONTEXT delete clusterrolebinding,clusterrole {ROLE} {NAMESPACE_ROLE} --ignore-not-found
  kubectl --context CONTEXT delete clusterrolebinding,clusterrole,rolebinding,role -A -l {manifests.ON_WORKERS}
"""


def _waits(worker: Obj) -> str:
    """Return what the dispatcher says that a Worker waits for; empty if it has not heard of the deletion."""
    listed = (worker.get("status") or {}).get("conditions")
    ready = conditions.find(listed, "Ready") or {}
    return str(ready.get("message") or "") if ready.get("reason") == "Removing" else ""
