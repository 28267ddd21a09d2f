"""An event recorder at work, on a server that keeps Events or refuses them."""

import asyncio
from random import Random
from typing import Any

import orjson

from jobferry.clock import Seconds
from jobferry.kube.client import Client
from jobferry.kube.events import LIMITS, Limits, Recorder, Subject
from jobferry.kube.in_process import InProcessTransport, Message
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj, merge_patch
from jobferry.testing.clock import ManualClock, settle

JOB = Subject(JOBS, Key("ml", "train"), "uid-1")
Answer = tuple[int, Obj]


def refusal(code: int, reason: str, *causes: str) -> Answer:
    details = {"causes": [{"reason": cause} for cause in causes]}
    return code, {"kind": "Status", "reason": reason, "message": "no", "details": details}


class Server:
    """Keeps Events, and refuses as told."""

    def __init__(self) -> None:
        self.events: dict[str, Obj] = {}
        self.requests: list[str] = []
        self.refuses: Answer | None = None
        self.loses_answers = False
        self.is_up = asyncio.Event()
        self.is_up.set()

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        body = orjson.loads((await receive())["body"])
        self.requests.append(scope["method"])
        await self.is_up.wait()
        code, answer = self.refuses or self._store(scope["method"], scope["path"], body)
        if self.loses_answers:
            raise ConnectionResetError
        await send({"type": "http.response.start", "status": code, "headers": []})
        await send({"type": "http.response.body", "body": orjson.dumps(answer)})

    def _store(self, method: str, path: str, body: Obj) -> Answer:
        collection, _, name = path.removeprefix("/api/v1/namespaces/").partition("/events")
        name = (
            f"{collection}/{body['metadata']['name']}"
            if method == "POST"
            else collection + name
        )
        if method == "POST" and name in self.events:
            return refusal(409, "AlreadyExists")
        if method == "PATCH" and name not in self.events:
            return refusal(404, "NotFound")
        self.events[name] = merge_patch.apply(self.events.get(name, {}), body)
        return 200, self.events[name]

    def said(self) -> list[tuple[str, int]]:
        return [(event["message"], event["count"]) for event in self.events.values()]

    def said_about(self, uid: str) -> list[str]:
        every = self.events.values()
        return [event["message"] for event in every if event["involvedObject"]["uid"] == uid]


class Story:
    """A recorder at work."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.server = Server()
        self.tasks: list[asyncio.Task[None]] = []

    def recorder(self, *, limits: Limits = LIMITS, runs: bool = True) -> Recorder:
        client = Client(
            InProcessTransport(self.server, self.clock),
            name="test",
            clock=self.clock,
            random=Random(0),
        )
        recorder = Recorder(client, component="jobferry", instance="pod-1", limits=limits)
        if runs:
            self.run(recorder)
        return recorder

    def run(self, recorder: Recorder) -> None:
        self.tasks.append(asyncio.create_task(recorder.run()))

    async def pass_time(self, seconds: Seconds) -> None:
        await self.clock.pass_time(seconds)
        await settle()
