"""The lines that the pods of a workload print, once or as they come."""

import asyncio
from dataclasses import dataclass
from functools import partial

from jobferry.cli import refusals, render
from jobferry.errors import Error
from jobferry.kinds.adapter import Adapter
from jobferry.kube import calls, errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import Call, Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import PODS
from jobferry.objects import Obj
from jobferry.runtime import supervise

_INDEX = "batch.kubernetes.io/job-completion-index"

MOST_DIGITS = 10
"""No index has more."""


@dataclass(frozen=True, slots=True)
class Source:
    """A workload where it runs: its mirror, or itself on the hub."""

    client: Client
    kind: Adapter
    obj: Obj

    @property
    def name(self) -> str:
        """Its name there."""
        return str(self.obj["metadata"]["name"])

    @property
    def namespace(self) -> str:
        """Where its pods are, too."""
        return str(self.obj["metadata"]["namespace"])

    def scopes(self, obj: Obj) -> list[Scope]:
        """Mean its pods, by what it says by now."""
        return [
            Scope(
                resource=PODS, namespace=self.namespace, labels=each.labels, fields=each.fields
            )
            for each in self.kind.own_pods(obj)
        ]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines, and how."""

    tail: int | None = None
    timestamps: bool = False

    def call(self, pod: str, namespace: str, container: str, *, follow: bool = False) -> Call:
        """Return what to ask for the lines of a container."""
        return calls.logs(
            PODS,
            pod,
            namespace,
            container=container,
            follow=follow,
            tail_lines=self.tail,
            timestamps=self.timestamps,
        )


async def show(source: Source, wanted: Wanted) -> None:
    """Print what the pods of a workload have printed."""
    client, pods = source.client, list[Obj]()
    for scope in source.scopes(source.obj):
        pods += (await client.list(scope)).items
    if not pods:
        when = "any more" if source.kind.finish(source.obj) else "yet"
        render.note(f"{source.name} has no pods on {client.name} {when}.")
    for pod in sorted(pods, key=order):
        name, containers = pod["metadata"]["name"], _containers(pod)
        for each in containers:
            title = _title(name if len(pods) > 1 else "", each if len(containers) > 1 else "")
            try:
                answer = await client.send(wanted.call(name, source.namespace, each))
            except (errors.BadRequest, errors.NotFound) as error:
                render.note(f"{title or name}: {error.words}")  # not begun, or gone by now
                continue
            _print(answer.body, title)


async def follow(source: Source, wanted: Wanted) -> None:
    """Print what the pods of a workload print until it has ended."""
    async with supervise.tasks("logs", clock=source.client.clock) as tasks:
        await _Following(source, wanted, tasks).run()


class _Following:
    """Reads along with each container that has begun."""

    def __init__(self, source: Source, wanted: Wanted, tasks: supervise.Supervisor) -> None:
        self._source = source
        self._client = source.client
        self._wanted = wanted
        self._scopes: list[Scope] = []
        self._begun: set[tuple[str, str]] = set()
        self._open = 0
        self._has_ended = False
        self._has_looked = False
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks = tasks

    async def run(self) -> None:
        """Read along until the workload has ended, and all that was printed has been read."""
        itself = Scope(
            resource=self._source.kind.resource,
            namespace=self._source.namespace,
            fields=f"metadata.name={self._source.name}",
        )
        informer = Informer(self._client, itself, Head)
        refusals.heed(informer, self._fail)
        informer.listen(self._note_workload)
        self._tasks.start("workload", informer.run)
        await self._over

    def _fail(self, error: Error) -> None:
        if not self._over.done():
            self._over.set_exception(error)

    def _note_workload(self, change: Change[Head]) -> None:
        obj = change.after.object() if change.after else None
        for scope in self._source.scopes(obj) if obj else ():
            if scope not in self._scopes:  # a RayJob tells only later how its cluster is called
                self._scopes.append(scope)
                self._follow(scope)
        if not self._has_ended and (obj is None or self._source.kind.finish(obj)):
            self._has_ended = True
            self._tasks.start("last look", self._look)

    def _follow(self, scope: Scope) -> None:
        pods = Informer(self._client, scope, Head)
        refusals.heed(pods, self._fail)
        pods.listen(
            lambda change: self._note_pod(change.after.object() if change.after else {})
        )
        self._tasks.start(f"pods {len(self._scopes)}", pods.run)

    async def _look(self) -> None:
        """Ask once more which pods there are: the end may be heard of before the pods that came to it."""
        try:
            for scope in self._scopes:
                for pod in (await self._client.list(scope)).items:
                    self._note_pod(pod)
        except Error as error:
            self._fail(error)
        self._has_looked = True
        self._look_for_end()

    def _note_pod(self, pod: Obj) -> None:
        for container in _begun(pod) if pod else ():
            name = pod["metadata"]["name"]
            if (name, container) not in self._begun:
                self._begun.add((name, container))
                self._open += 1
                title = container if len(_containers(pod)) > 1 else ""
                read = partial(self._read, name, container, title)
                self._tasks.start(f"{name} {container}", read)

    def _look_for_end(self) -> None:
        if self._has_looked and not self._open and not self._over.done():
            self._over.set_result(None)

    async def _read(self, pod: str, container: str, title: str) -> None:
        try:
            call = self._wanted.call(pod, self._source.namespace, container, follow=True)
            async with self._client.stream(call) as stream:
                rest = b""
                while data := await stream.read():
                    *lines, rest = (rest + data).split(b"\n")
                    _print(b"".join(line + b"\n" for line in lines), self._prefix(pod, title))
                _print(rest, self._prefix(pod, title))
        except (errors.BadRequest, errors.NotFound) as error:
            render.note(f"{_title(pod, title)}: {error.words}")
        finally:
            self._open -= 1
            self._look_for_end()

    def _prefix(self, pod: str, title: str) -> str:
        return _title(pod if len({name for name, _ in self._begun}) > 1 else "", title)


def _title(pod: str, container: str) -> str:
    """Say whose lines they are; empty if that need not be said."""
    return "/".join(filter(None, (pod, container)))


def _containers(pod: Obj) -> list[str]:
    return [each["name"] for each in pod["spec"]["containers"]]


def _begun(pod: Obj) -> list[str]:
    """Name the containers of a pod that have something to read."""
    status = pod.get("status") or {}
    if status.get("phase") in (None, "Pending"):
        return []
    waiting = {
        each["name"]
        for each in status.get("containerStatuses") or ()
        if "waiting" in (each.get("state") or {}) and not each.get("lastState")
    }
    return [each for each in _containers(pod) if each not in waiting]


def order(pod: Obj) -> tuple[int, str, str]:
    """Return what pods are sorted by; whoever may make pods there may annotate them with anything."""
    meta = pod["metadata"]
    index = (meta.get("annotations") or {}).get(_INDEX) or ""
    is_index = index.isdecimal() and len(index) <= MOST_DIGITS
    return int(index) if is_index else -1, meta["creationTimestamp"], meta["name"]


def _print(body: bytes, title: str) -> None:
    if not body:
        return
    lines = body.decode(errors="replace").removesuffix("\n").split("\n")
    render.text("".join(f"{title}  {line}\n" if title else f"{line}\n" for line in lines))
