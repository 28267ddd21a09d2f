"""The lines that the pods of a Job print, once or as they come."""

import asyncio
from dataclasses import dataclass
from functools import partial

from jobferry.cli import refusals, render
from jobferry.errors import Error
from jobferry.kinds.job.status import end
from jobferry.kube import calls, errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import Call, Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS, PODS
from jobferry.objects import Obj
from jobferry.runtime import supervise

_JOB_NAME = "batch.kubernetes.io/job-name"
_INDEX = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which lines, and how."""

    tail: int | None = None
    timestamps: bool = False

    def call(self, pod: str, namespace: str, *, follow: bool = False) -> Call:
        """Return what to ask for the lines of a pod."""
        return calls.logs(
            PODS,
            pod,
            namespace,
            follow=follow,
            tail_lines=self.tail,
            timestamps=self.timestamps,
        )


async def show(client: Client, namespace: str, job: str, wanted: Wanted) -> None:
    """Print what the pods of a Job have printed."""
    pods = sorted((await client.list(_pods(namespace, job))).items, key=_order)
    if not pods:
        render.note(f"{job} has no pods on {client.name} yet.")
    for pod in pods:
        name = pod["metadata"]["name"]
        try:
            answer = await client.send(wanted.call(name, namespace))
        except (errors.BadRequest, errors.NotFound) as error:
            render.note(f"{name}: {error.words}")  # it has not begun, or is gone by now
            continue
        _print(answer.body, name if len(pods) > 1 else "")


async def follow(client: Client, namespace: str, job: str, wanted: Wanted) -> None:
    """Print what the pods of a Job print until it has ended."""
    following = _Following(client, namespace, job, wanted)
    await following.run()


class _Following:
    """Reads along with each pod that has begun."""

    def __init__(self, client: Client, namespace: str, job: str, wanted: Wanted) -> None:
        self._client = client
        self._namespace = namespace
        self._wanted = wanted
        self._begun: set[str] = set()
        self._open = 0
        self._has_ended = False
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: supervise.Supervisor | None = None
        self._pods = Informer(client, _pods(namespace, job), Head)
        itself = Scope(resource=JOBS, namespace=namespace, fields=f"metadata.name={job}")
        self._job = Informer(client, itself, Head)

    async def run(self) -> None:
        """Read along until the Job has ended, and all that was printed has been read."""
        async with supervise.tasks("logs", clock=self._client.clock) as self._tasks:
            for informer in (self._pods, self._job):
                refusals.heed(informer, self._fail)
            self._pods.listen(self._note_pod)
            self._tasks.start("pods", self._pods.run)
            self._tasks.start("job", self._follow_job)
            await self._over

    async def _follow_job(self) -> None:
        await (
            self._pods.synced.wait()
        )  # else a Job that has ended might seem to have had no pods
        self._job.listen(self._note_job)
        await self._job.run()

    def _fail(self, error: Error) -> None:
        if not self._over.done():
            self._over.set_exception(error)

    def _note_pod(self, change: Change[Head]) -> None:
        pod = change.after.object() if change.after else {}
        if not pod or pod.get("status", {}).get("phase") in (None, "Pending"):
            return
        name = pod["metadata"]["name"]
        if name not in self._begun and self._tasks is not None:
            self._begun.add(name)
            self._open += 1
            self._tasks.start(name, partial(self._read, name))

    def _note_job(self, change: Change[Head]) -> None:
        job = change.after.object() if change.after else {}
        self._has_ended = not job or end(job.get("status") or {}) is not None
        self._look_for_end()

    def _look_for_end(self) -> None:
        if self._has_ended and not self._open and not self._over.done():
            self._over.set_result(None)

    async def _read(self, pod: str) -> None:
        try:
            call = self._wanted.call(pod, self._namespace, follow=True)
            async with self._client.stream(call) as stream:
                rest = b""
                while data := await stream.read():
                    *lines, rest = (rest + data).split(b"\n")
                    _print(b"".join(line + b"\n" for line in lines), self._prefix(pod))
                _print(rest, self._prefix(pod))
        except (errors.BadRequest, errors.NotFound) as error:
            render.note(f"{pod}: {error.words}")
        finally:
            self._open -= 1
            self._look_for_end()

    def _prefix(self, pod: str) -> str:
        return pod if len(self._begun) > 1 else ""


def _pods(namespace: str, job: str) -> Scope:
    return Scope(resource=PODS, namespace=namespace, labels=f"{_JOB_NAME}={job}")


def _order(pod: Obj) -> tuple[int, str, str]:
    meta = pod["metadata"]
    index = (meta.get("annotations") or {}).get(_INDEX) or ""
    return int(index) if index.isdecimal() else -1, meta["creationTimestamp"], meta["name"]


def _print(body: bytes, pod: str) -> None:
    if not body:
        return
    lines = body.decode(errors="replace").removesuffix("\n").split("\n")
    render.text("".join(f"{pod}  {line}\n" if pod else f"{line}\n" for line in lines))
