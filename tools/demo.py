"""`make demo`: a hub and two workers as real control planes, the dispatcher, and a handful of Jobs.

Everything runs on this machine and is gone at the end; pods are played by a fake kubelet.
"""

import asyncio
import base64
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from jobferry import app, log
from jobferry.clock import SystemClock
from jobferry.dispatch import hub_checks, manifests
from jobferry.dispatch.meters import Meters
from jobferry.errors import Error
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Item
from jobferry.kube.resources import JOBS, NAMESPACES, SECRETS
from jobferry.objects import Obj, conditions
from jobferry.runtime import supervise
from jobferry.settings import DEFAULTS
from jobferry.testing import assets
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane, all_running
from jobferry.testing.fake_kubelet import fake_kubelet
from jobferry.testing.pods import EXIT_CODE, RUN_SECONDS
from jobferry.workers.resource import WORKERS

CLOCK = SystemClock()
NAMES = ("hub", "east", "west")
OURS = "jobferry.io/dispatcher"


def job(name: str, *, delegated: bool = True, exit_code: int = 0, **spec: object) -> Obj:
    """Return an ordinary Job; all that delegates it is one field."""
    annotations = {RUN_SECONDS: "1", EXIT_CODE: str(exit_code)}
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "example/work"}]}
    template = {"metadata": {"annotations": annotations}, "spec": pod}
    managed = {"managedBy": OURS} if delegated else {}
    return {"metadata": {"name": name}, "spec": {**managed, "template": template, **spec}}


HANDFUL = (
    job("train"),
    job("evaluate"),
    job("sweep", completionMode="Indexed", completions=6, parallelism=3),
    job("broken", exit_code=3, backoffLimit=1),
    job("stays-home", delegated=False),
)


@asynccontextmanager
async def clusters() -> AsyncIterator[Mapping[str, ControlPlane]]:
    """Start three control planes at once."""
    planes = {name: ControlPlane(controllers=JOB_CONTROLLERS) for name in NAMES}
    async with all_running(planes.values()):
        yield planes


async def prepare(hub: Client, planes: Mapping[str, ControlPlane]) -> None:
    """Do on the hub what an administrator does once: CRDs, a kubeconfig and a Worker for each worker."""
    await hub.create(NAMESPACES, {"metadata": {"name": DEFAULTS.lease.namespace}})
    for crd in manifests.objects("crds"):
        await hub.create(hub_checks.CRDS, crd)
    await hub_checks.established(hub)
    for name in NAMES[1:]:
        where = {"namespace": DEFAULTS.lease.namespace, "name": name}
        content = base64.b64encode(planes[name].kubeconfig().encode()).decode()
        await hub.create(SECRETS, {"metadata": where, "data": {"kubeconfig": content}})
        spec = {"kubeconfig": {"secret": where}}
        await hub.create(WORKERS, {"metadata": {"name": name}, "spec": spec})


class Story:
    """Tells what happens to the Jobs of one cluster, in words."""

    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.ended = asyncio.Event()
        self._told: dict[str, list[str]] = {}
        self._unfinished = {each["metadata"]["name"] for each in HANDFUL}

    def hear(self, change: Change[Head]) -> None:
        """Tell what is new about one Job."""
        name = change.item.key.name
        words = "is gone" if change.after is None else _words(change.after, self.cluster)
        is_news = words not in self._told.setdefault(name, [])
        if is_news:
            self._told[name].append(words)
            print(f"  {CLOCK.now():%H:%M:%S}  {self.cluster:<5} {name:<11} {words}", flush=True)
        if words.startswith(("Complete", "Failed")):
            self._unfinished.discard(name)
            if not self._unfinished:
                self.ended.set()


def _words(item: Item[Head], cluster: str) -> str:
    job = item.object()
    status = job.get("status") or {}
    placed = conditions.find(status.get("conditions"), "Placed")
    where = placed["message"].split(" (")[0] if placed else ""
    for end in ("Complete", "Failed"):
        if conditions.is_true(status.get("conditions"), end):
            counts = f"{status.get('succeeded', 0)} succeeded, {status.get('failed', 0)} failed"
            return f"{end}: {counts}" + (f" ({where})" if where else "")
    if cluster != "hub":
        return "mirror runs" if status.get("active") else "mirror created"
    if status.get("active"):
        return f"runs: {status['active']} active" + (f" ({where})" if where else "")
    return f"placed: {where}" if where else "created"


async def tell(stack: AsyncExitStack, client: Client, story: Story) -> None:
    """Follow the Jobs of a cluster."""
    informer = Informer(client, Scope(resource=JOBS, namespace="default"), Head)
    informer.listen(story.hear)
    tasks = await stack.enter_async_context(supervise.tasks("story", clock=CLOCK))
    tasks.start(story.cluster, informer.run)
    await informer.synced.wait()


async def main() -> None:
    """Show it."""
    print(
        "Starting a hub and two workers: real etcd, kube-apiserver and controller managers ..."
    )
    async with AsyncExitStack() as stack:
        planes = await stack.enter_async_context(clusters())
        clients = {
            name: await stack.enter_async_context(
                connect(plane.access(), name=name, clock=CLOCK)
            )
            for name, plane in planes.items()
        }
        hub = clients["hub"]
        await prepare(hub, planes)
        stories = {name: Story(name) for name in NAMES}
        for name, client in clients.items():
            await stack.enter_async_context(fake_kubelet(client, bind=True))
            await tell(stack, client, stories[name])
        tasks = await stack.enter_async_context(supervise.tasks("demo", clock=CLOCK))
        tasks.start("dispatcher", lambda: app.dispatch(hub, DEFAULTS, meters=Meters(CLOCK)))
        print(f"Creating {len(HANDFUL)} Jobs on the hub, all but one with managedBy: {OURS}")
        for each in HANDFUL:
            await hub.create(JOBS, each, namespace="default")
        await stories["hub"].ended.wait()
        print(
            "All have ended. The hub shows what happened elsewhere; nobody needed the workers."
        )


if __name__ == "__main__":
    if assets.missing(assets.CURRENT):
        sys.exit(
            f"The demo needs real control planes: `{assets.command_for(assets.CURRENT)}` gets them."
        )
    log.configure(level="ERROR")
    try:
        asyncio.run(main())
    except Error as error:
        sys.exit(f"demo: {error}")
