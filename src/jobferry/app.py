"""The composition root: who is built from what, and what is checked before it runs."""

import asyncio
import gc
import os
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from jobferry import log
from jobferry.clock import SystemClock
from jobferry.core.bounds import Bounds
from jobferry.dispatch import hub_checks, manifests, process, serve, switches
from jobferry.dispatch.claims import Claims
from jobferry.dispatch.dispatcher import Dispatcher, Options
from jobferry.dispatch.lookups import Lookups
from jobferry.dispatch.meters import Meters
from jobferry.errors import BadInput
from jobferry.kinds.adapter import Adapter
from jobferry.kube import command, errors, events, in_cluster, kubeconfig
from jobferry.kube.access import Access
from jobferry.kube.calls import PatchKind
from jobferry.kube.client import Client, Reach, connect
from jobferry.kube.document import Trust
from jobferry.kube.events import Recorder, Subject, Tell
from jobferry.kube.items import Key
from jobferry.kube.leadership import Terms
from jobferry.kube.lease import Candidate, LeadershipLost
from jobferry.kube.resources import CRDS, JOBS, NAMESPACES
from jobferry.kube.transport import HttpTransport
from jobferry.localkube.controllers.job import external
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.runtime.termination import until_told
from jobferry.settings import DEFAULTS, Settings
from jobferry.workers import named
from jobferry.workers.resource import WORKERS
from jobferry.workers.source import Rules

CLOCK = SystemClock()

_log = log.get(__name__)


def run(
    settings: Settings,
    *,
    kubeconfig: Path | None,
    context: str | None,
    workers: Mapping[str, str],
    install_crds: bool,
) -> None:
    """Run a dispatcher until it is stopped."""
    _relax_collector()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(
            until_told(
                dispatch_by_kubeconfig(
                    settings,
                    kubeconfig=kubeconfig,
                    context=context,
                    workers=workers,
                    install_crds=install_crds,
                )
            )
        )


def _relax_collector() -> None:
    """Look for garbage in cycles seldom: objects from JSON have none, and what was imported stays."""
    gc.freeze()
    gc.set_threshold(10_000)


async def dispatch_by_kubeconfig(
    settings: Settings,
    *,
    kubeconfig: Path | None,
    context: str | None,
    workers: Mapping[str, str],
    install_crds: bool,
) -> None:
    """Dispatch the Jobs of the hub that a kubeconfig names, after it was checked and prepared as asked."""
    meters = Meters(CLOCK)
    process.measure(meters.registry)
    access, path = _hub_access(kubeconfig, context), _kubeconfig_path(kubeconfig)
    for each in workers.values():
        _kubeconfig(kubeconfig).access(
            each, clock=CLOCK
        )  # raises if there is none of that name
    async with connect(access, name="hub", clock=CLOCK, observe=meters.observe) as hub:
        if install_crds:
            await _install(hub, settings.lease.namespace)
        await hub_checks.check(hub, settings.lease.namespace)
        specs: dict[str, Obj] = {
            name: {"kubeconfig": {"file": str(path), "context": its_context}}
            for name, its_context in workers.items()
        }
        going = [name for name in specs if not await named.make(hub, name, specs[name])]
        # What the operator named on the command line is allowed, whatever the settings say of files.
        trusted = frozenset({path}) if workers else frozenset()
        me = f"{socket.gethostname()}-{secrets.token_hex(4)}"
        async with supervise.tasks("run", clock=CLOCK) as tasks:
            for name in going:
                tasks.start(f"Worker {name}", partial(named.make_anew, hub, name, specs[name]))
            await dispatch(hub, settings, me=me, meters=meters, trusted=trusted)


async def dispatch(
    hub: Client,
    settings: Settings,
    *,
    me: str,
    meters: Meters,
    trusted: frozenset[Path] = frozenset(),
    reach: Reach = HttpTransport,
) -> None:
    """Dispatch the Jobs of a hub that was found fit for it, on its clock; `me` is what no other dispatcher is called.

    `reach` is how workers are reached.
    """
    origin = (await hub.get(NAMESPACES, "kube-system"))["metadata"]["uid"]
    recorder = Recorder(hub, component="jobferry", instance=me)
    candidate = _candidate(hub, settings, me)
    lookups = Lookups(hub)
    kinds = switches.switched_on(settings, lookups.find)
    dispatcher = Dispatcher(
        hub,
        Options(
            origin=origin,
            dispatcher=settings.dispatcher_name,
            claims=Claims(
                frozenset(settings.managed_by), settings.lease.namespace, bounds(settings)
            ),
            kinds=kinds,
            lookups=lookups,
            requests=settings.requests_in_flight,
            passes=settings.passes,
            tells_all_placements=settings.placed_events == "all",
            lost_after=settings.worker_lost_after,
            kubeconfigs=_rules(settings, trusted),
            reach=reach,
        ),
        record=_recording(recorder, kinds),
        is_leading=lambda: candidate.is_leading,
        meters=meters,
    )
    meters.follow_events(recorder.stats)

    async def lead(act: supervise.Run) -> None:
        while True:
            try:
                await candidate.lead(act)
            except LeadershipLost as lost:
                _log.failure("Leadership lost", lost)

    async with supervise.tasks("jobferry", clock=hub.clock) as tasks:
        tasks.start("events", recorder.run)
        if address := settings.listen:
            missing = partial(_missing, dispatcher)
            pages = partial(serve.serve, address, meters.registry, missing, hub.clock)
            tasks.start("metrics and health", pages)
        await dispatcher.run(lead)


def _candidate(hub: Client, settings: Settings, me: str) -> Candidate:
    said = settings.lease
    terms = Terms(duration=said.duration, deadline=said.deadline, retry=said.retry)
    return Candidate(hub, Key(said.namespace, settings.lease_name), me=me, terms=terms)


def run_job_controller(name: str, *, kubeconfig: Path | None, context: str | None) -> None:
    """Run the Jobs of a cluster whose managedBy is `name` until stopped."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(until_told(_run_job_controller(name, _hub_access(kubeconfig, context))))


async def _run_job_controller(name: str, access: Access) -> None:
    async with connect(access, name="cluster", clock=CLOCK) as client:
        _log.info("Running Jobs", managed_by=name)
        await external.run(client, name)


def _rules(settings: Settings, trusted: frozenset[Path]) -> Rules:
    """Say which kubeconfigs of Workers are accepted."""
    try:
        programs = frozenset(map(command.parse, settings.exec_plugins))
    except BadInput as error:
        raise BadInput(f"execPlugins: {error}", hint="docs/workers.md says how.") from None
    return Rules(
        policy=Trust(files=settings.kubeconfig_folder, programs=programs), trusted=trusted
    )


def bounds(settings: Settings) -> Bounds:
    """Say which namespaces may go to workers: not, unless they are named, those of clusters and dispatchers."""
    said = settings.namespaces
    # Workers have our account, and its Secret, in the namespace of the manifests, whatever we have on the hub.
    theirs = (
        () if said.allow else ("kube-*", DEFAULTS.lease.namespace, settings.lease.namespace)
    )
    return Bounds(said.allow, (*theirs, *said.deny))


def _missing(dispatcher: Dispatcher) -> list[str]:
    """Say what is not ready yet."""
    copies = dispatcher.workloads.copies
    return serve.missing(
        {
            **{
                f"{adapter.resource.kind}s": copies[name]
                for name, adapter in dispatcher.workloads.adapters.items()
                if name in copies and "." not in adapter.resource.group
            },
            "Queues": dispatcher.queues.objects,
            "Workers": dispatcher.workers.objects,
        }
    )


def _recording(recorder: Recorder, kinds: Sequence[Adapter]) -> Tell:
    known = {each.resource.kind: each.resource for each in kinds} | {WORKERS.kind: WORKERS}

    def record(obj: Obj, type: events.Type, reason: str, message: str) -> None:
        meta = obj["metadata"]
        resource = known.get(obj.get("kind", ""), JOBS)
        subject = Subject(resource, Key(meta.get("namespace", ""), meta["name"]), meta["uid"])
        recorder.record(subject, type, reason, message)

    return record


def _hub_access(config: Path | None, context: str | None) -> Access:
    """Reach the hub by a file, else as kubectl would, else as a pod does."""
    is_unsaid = config is None and context is None and "KUBECONFIG" not in os.environ
    if is_unsaid and "KUBERNETES_SERVICE_HOST" in os.environ:
        return in_cluster.access(clock=CLOCK)
    return _kubeconfig(config).access(context, clock=CLOCK)


def _kubeconfig(config: Path | None) -> kubeconfig.Kubeconfig:
    return kubeconfig.from_environment() if config is None else kubeconfig.from_file(config)


def _kubeconfig_path(config: Path | None) -> Path:
    listed = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return (config or Path(listed or Path.home() / ".kube" / "config")).resolve()


async def _install(hub: Client, namespace: str) -> None:
    """Install what a hub needs: the CRDs, and the namespace of our Lease."""
    with suppress(errors.AlreadyExists):
        await hub.create(NAMESPACES, {"metadata": {"name": namespace}})
    for crd in manifests.objects("crds"):
        await hub.patch(
            CRDS,
            crd["metadata"]["name"],
            crd,
            kind=PatchKind.APPLY,
            field_manager="jobferry",
            force=True,
        )
    await hub_checks.served(hub)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        from uvloop import new_event_loop  # noqa: PLC0415 (it is not for every platform)
    except ImportError:
        return asyncio.new_event_loop
    return new_event_loop
