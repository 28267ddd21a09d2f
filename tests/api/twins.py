"""One request, two servers: a real kube-apiserver and localkube, whose answers must be the same.

What no two servers can have in common (ids, versions, times, ports) is replaced before answers are compared,
and what docs/localkube.md lists as a known difference.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any
from urllib.parse import urlencode

import orjson

from jobferry.clock import SystemClock
from jobferry.kube.access import ANONYMOUS, Fixed, Identity
from jobferry.kube.errors import Unreachable
from jobferry.kube.transport import HttpTransport
from jobferry.kube.wire import Answer, Request
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api.twin_masks import Seen, answers_differ, seen

WITHIN = 30.0
SOON = 10
"""How often something is asked that may take a moment to be true."""
AGENT = "twins/1"

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"

Adapt = Callable[[Any], Any]
"""Changes what was seen of a body in place, for one known difference."""


@dataclass(frozen=True, slots=True)
class Each:
    """A value that differs between the servers, such as a version that each gave."""

    theirs: Any
    mine: Any


@dataclass(slots=True)
class Both:
    """What both servers answered."""

    real: Answer
    ours: Answer

    @property
    def code(self) -> int:
        """The code of the real answer."""
        return self.real.code

    @property
    def object(self) -> Any:
        """What the real server answered as JSON, nothing replaced."""
        return orjson.loads(self.real.body)

    def each(self, *path: str | int) -> Each:
        """Return what each server has at a place in its answer."""
        return Each(_at(self.real.body, path), _at(self.ours.body, path))


class Differences:
    """How answers differed, so that one run tells of all."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.compared = 0
        self.last_was_same = True

    def note(self, about: str, theirs: Seen, mine: Seen) -> None:
        """Compare two answers."""
        self.compared += 1
        differing = list(answers_differ(theirs, mine))
        self.last_was_same = not differing
        if differing:
            lines = "\n    ".join(differing)
            self.found.append(f"{about}\n    {lines}")

    def take_back(self) -> None:
        """Forget the newest difference: the same is asked again."""
        self.found.pop()
        self.compared -= 1

    def check(self) -> None:
        """Insist that there were none."""
        assert not self.found, f"{len(self.found)} of {self.compared} differ:\n" + "\n".join(
            self.found
        )


@dataclass(slots=True)
class Twins:
    """The two servers, asked at the same time."""

    planes: tuple[ControlPlane, ControlPlane]
    user: str = "admin"
    groups: tuple[str, ...] = ()
    anonymous: bool = False
    differing: Differences = field(default_factory=Differences)
    _ways: list[tuple[HttpTransport, Identity]] = field(default_factory=list)

    async def __aenter__(self) -> "Twins":
        for plane in self.planes:
            access = plane.access(self.user, *self.groups)
            assert isinstance(access.credentials, Fixed)
            identity = ANONYMOUS if self.anonymous else await access.credentials.identity()
            self._ways.append((HttpTransport(access.server, SystemClock()), identity))
        return self

    async def __aexit__(self, *_: object) -> None:
        for transport, _identity in self._ways:
            await transport.close()

    async def ask(
        self,
        method: str,
        path: Any,
        body: Any = None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
        headers: Mapping[str, Any] | None = None,
        query: Mapping[str, Any] | None = None,
    ) -> Both:
        """Send a request to both. What is an `Each` anywhere in it differs between them."""
        fixed: dict[str, Any] = {"User-Agent": AGENT, "Accept": accept, **(headers or {})}
        if body is not None:
            fixed["Content-Type"] = content_type
        requests = [
            Request(
                method,
                _target(of(path, side), of(dict(query or {}), side)),
                tuple((name, value) for name, value in of(fixed, side).items() if value),
                _encoded(of(body, side)),
                identity,
            )
            for side, (_, identity) in enumerate(self._ways)
        ]
        real, ours = await asyncio.gather(*map(self._send, (0, 1), requests))
        return Both(real, ours)

    async def _send(self, side: int, request: Request) -> Answer:
        try:
            return await self._ways[side][0].send(request, within=WITHIN)
        except Unreachable as error:
            who = ("the real server", "localkube")[side]
            message = f"{who}: {request.method} {request.target}: {error}"
            raise AssertionError(message) from error

    async def same(
        self,
        method: str,
        path: Any,
        body: Any = None,
        *,
        title: str = "",
        any_order: bool = False,
        adapt: Adapt | None = None,
        **more: Any,
    ) -> Both:
        """Send a request to both and note how the answers differ."""
        both = await self.ask(method, path, body, **more)
        theirs, mine = (seen(each, any_order=any_order) for each in (both.real, both.ours))
        if adapt is not None:
            for each in (theirs, mine):
                adapt(each.body)
        about = f"{title}: " if title else ""
        self.differing.note(f"{about}{method} {path} {more.get('query', '')}", theirs, mine)
        return both

    async def soon_same(self, *request: Any, **more: Any) -> Both:
        """Ask until the answers are the same: the real server looks into caches that lag behind."""
        for _ in range(SOON):
            both = await self.same(*request, **more)
            if self.differing.last_was_same:
                return both
            self.differing.take_back()
            await asyncio.sleep(0.1)
        return await self.same(*request, **more)

    # -- ways to say it in short ----------------------------------------------------------------

    async def get(self, path: Any, **more: Any) -> Both:
        """Ask both for something."""
        query = {name: more.pop(name) for name in list(more) if name in QUERY}
        renamed = {("continue" if name == "resume" else name): query[name] for name in query}
        return await self.same("GET", path, query=renamed, **more)

    async def post(self, path: Any, body: Any, **more: Any) -> Both:
        """Create something on both."""
        return await self.same("POST", path, body, **more)

    async def patch(self, path: Any, body: Any, kind: str = MERGE, **more: Any) -> Both:
        """Patch something on both."""
        return await self.same("PATCH", path, body, content_type=kind, **more)

    async def apply(self, path: Any, body: Any, manager: str = "m", **query: str) -> Both:
        """Apply something on both."""
        given = {"fieldManager": manager, **query} if manager else query
        return await self.same("PATCH", path, body, content_type=APPLY, query=given)

    async def namespace(self, *, account: bool = True, **metadata: Any) -> str:
        """Create a namespace on both, fit for pods; returns its name."""
        name = f"twin-{token_hex(4)}"
        await self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name, **metadata}})
        if account:
            accounts = f"/api/v1/namespaces/{name}/serviceaccounts"
            await self.ask("POST", accounts, {"metadata": {"name": "default"}})
        return name


QUERY = frozenset(
    (
        *("labelSelector", "fieldSelector", "limit", "resume", "resourceVersion", "watch"),
        *("resourceVersionMatch", "timeoutSeconds", "allowWatchBookmarks", "includeObject"),
        *("sendInitialEvents", "pretty"),
    )
)


def of(value: Any, side: int) -> Any:
    """Return what one of the servers is to get: 0 the real one, 1 localkube."""
    if isinstance(value, Each):
        return (value.theirs, value.mine)[side]
    if isinstance(value, dict):
        return {key: of(each, side) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [of(each, side) for each in value]
    return value


def joined(*parts: Any) -> Each:
    """Put texts together of which some differ between the servers."""
    theirs, mine = ("".join(str(of(part, side)) for part in parts) for side in (0, 1))
    return Each(theirs, mine)


def changed(both: Both, **members: Any) -> Each:
    """Return the object that each server answered with, some members replaced."""
    found = both.each()
    return Each({**found.theirs, **of(members, 0)}, {**found.mine, **of(members, 1)})


def _at(body: bytes, path: Iterable[str | int]) -> Any:
    found = orjson.loads(body)
    for key in path:
        found = found[key]
    return found


def _target(path: Any, query: Obj) -> str:
    return f"{path}?{urlencode(query, doseq=True)}" if query else str(path)


def _encoded(body: Any) -> bytes:
    if body is None:
        return b""
    if isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else orjson.dumps(body)
