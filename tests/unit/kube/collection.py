"""A collection of objects behind the API of a Kubernetes API server: what an informer asks, no more.

An ASGI application, so that the real client and informer run against it without a socket. It keeps its
history, and can be told to forget it, to fall silent, or to know nothing of WatchList.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

import orjson

from jobferry.objects import Obj

Send = Callable[[dict[str, Any]], Awaitable[None]]


@dataclass
class Collection:
    """ConfigMaps of namespace "ns", each named and with data."""

    has_watch_list: bool = True
    objects: dict[str, Obj] = field(default_factory=dict)
    version: int = 100
    forgotten: int = 0
    """A watch from an earlier version is answered with 410."""

    requests: list[dict[str, str]] = field(default_factory=list)
    failures: list[tuple[int, str]] = field(default_factory=list)
    """Code and reason for the next requests, in order."""

    _history: list[tuple[int, str, Obj]] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _cut: asyncio.Event = field(default_factory=asyncio.Event)
    is_silent: bool = False

    def put(self, name: str, data: str = "", **meta: Any) -> Obj:
        """Create or change an object; returns it as the API would."""
        self.version += 1
        known = self.objects.get(name)
        uid = known["metadata"]["uid"] if known else f"uid-{self.version}"
        obj = {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": uid,
                "resourceVersion": str(self.version),
                "managedFields": [{"manager": "m"}],
                **meta,
            },
            "data": {"is": data},
        }
        self.objects[name] = obj
        self._record("MODIFIED" if known else "ADDED", obj)
        return obj

    def remove(self, name: str) -> Obj:
        """Delete an object; returns the Status as the API would."""
        self.version += 1
        obj = self.objects.pop(name)
        last = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(self.version)}}
        self._record("DELETED", last)
        return {
            "kind": "Status",
            "status": "Success",
            "details": {"uid": obj["metadata"]["uid"]},
        }

    def tick(self) -> None:
        """Let the version move on by what happens elsewhere, and send bookmarks."""
        self.version += 1
        self._record("BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    def forget(self) -> None:
        """Compact the history: nothing before now can be watched from."""
        self.forgotten = self.version
        self._history.clear()

    def restore(self, version: int) -> None:
        """Go back to an empty backup made at an earlier version."""
        self.version = version
        self.objects.clear()
        self._history.clear()

    def cut(self) -> None:
        """End all watches."""
        self._cut.set()
        self._cut = asyncio.Event()

    def state(self) -> dict[str, str]:
        """What a fresh list would say: name to data."""
        return {name: obj["data"]["is"] for name, obj in self.objects.items()}

    async def __call__(self, scope: Any, _receive: Any, send: Send) -> None:
        query = dict(parse_qsl(scope["query_string"].decode()))
        self.requests.append(query)
        if self.failures:
            await _answer(send, *_status(*self.failures.pop(0)))
        elif query.get("watch") == "true":
            await self._watch(query, send)
        else:
            await self._list(query, send)

    async def _list(self, query: dict[str, str], send: Send) -> None:
        start, at = 0, self.version
        if token := query.get("continue"):
            start, at = (int(part) for part in token.split("@"))
        if at < self.forgotten:
            await _answer(send, *_status(410, "Expired"))
            return
        names = sorted(self.objects)
        limit = int(query.get("limit") or 0) or len(names) or 1
        page = names[start : start + limit]
        meta = {"resourceVersion": str(at)}
        if start + limit < len(names):
            meta["continue"] = f"{start + limit}@{at}"
        items = [self.objects[name] for name in page]
        await _answer(
            send, 200, orjson.dumps({"kind": "ConfigMapList", "metadata": meta, "items": items})
        )

    async def _watch(self, query: dict[str, str], send: Send) -> None:
        initial = query.get("sendInitialEvents") == "true"
        if initial and not self.has_watch_list:
            await _answer(send, *_status(422, "Invalid"))
            return
        since = self.version if initial else int(query["resourceVersion"])
        if since < self.forgotten and not initial:
            await _answer(send, *_status(410, "Expired"))
            return
        cut = self._cut
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if initial:
            for name in sorted(self.objects):
                await _event(send, "ADDED", self.objects[name])
            end = {
                "resourceVersion": str(since),
                "annotations": {"k8s.io/initial-events-end": "true"},
            }
            await _event(send, "BOOKMARK", {"metadata": end})
        await self._follow(since, cut, send)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _follow(self, since: int, cut: asyncio.Event, send: Send) -> None:
        while not cut.is_set():
            if since < self.forgotten:
                await _event(send, "ERROR", orjson.loads(_status(410, "Expired")[1]))
                return
            changed = self._changed
            for version, kind, obj in list(self._history):
                if version > since and not self.is_silent:
                    await _event(send, kind, obj)
                    since = version
            async with asyncio.TaskGroup() as group:
                waits = [group.create_task(event.wait()) for event in (changed, cut)]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for wait in waits:
                    wait.cancel()

    def _record(self, kind: str, obj: Obj) -> None:
        self._history.append((self.version, kind, obj))
        self._changed.set()
        self._changed = asyncio.Event()


async def _event(send: Send, kind: str, obj: Obj) -> None:
    line = orjson.dumps({"type": kind, "object": obj}) + b"\n"
    await send({"type": "http.response.body", "body": line, "more_body": True})


def _status(code: int, reason: str) -> tuple[int, bytes]:
    body = {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": reason,
    }
    return code, orjson.dumps(body)


async def _answer(send: Send, code: int, body: bytes) -> None:
    await send({"type": "http.response.start", "status": code, "headers": []})
    await send({"type": "http.response.body", "body": body, "more_body": False})
