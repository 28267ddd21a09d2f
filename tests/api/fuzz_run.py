"""One run of the fuzzer: a number of requests at random, and checks of what they left behind."""

from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any
from urllib.parse import quote

from jobferry.objects import Obj
from tests.api import fuzz_definitions, fuzz_requests
from tests.api.fuzz_patches import APPLY, MERGE
from tests.api.fuzz_requests import (
    JSON,
    NAMESPACE,
    PARTIAL,
    PARTIAL_LIST,
    STORED,
    TABLE,
    Kind,
    World,
)
from tests.api.fuzz_server import Ask, FuzzServer, Reply
from tests.api.fuzz_values import dumps

MOST_OBJECTS = 250
DEFINITION = next(each for each in STORED if each.kind == "CustomResourceDefinition")


@dataclass(slots=True)
class Run:
    """A fuzzer and its server."""

    fuzzed: FuzzServer
    world: World
    asked: int = 0
    checked: int = 0

    async def prepare(self) -> None:
        """Make a place."""
        for path, name in (
            ("/api/v1/namespaces", NAMESPACE),
            (f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", "default"),
        ):
            body = dumps({"metadata": {"name": name}})
            await self.fuzzed.ask(Ask("POST", path, body, (("Content-Type", JSON),)))

    async def go_on(self, requests: int) -> None:
        """Ask so often; now and then look at everything and make room."""
        while self.asked < requests and len(self.fuzzed.wrong) < 25:
            if self.asked % 60 == 0:
                await self._define()
            await self.step(fuzz_requests.request(self.world))
            if len(self.world.objects) > MOST_OBJECTS:
                await self.check()
                await self.clean()
        await self.check()
        await self.clean()

    async def step(self, ask: Ask) -> Reply:
        """Ask one thing, and remember what it led to."""
        self.asked += 1
        reply = await self.fuzzed.ask(ask)
        if reply.streamed or not reply.body or not reply.type.startswith(b"application/json"):
            return reply
        found = reply.object()
        metadata = found.get("metadata")
        if reply.code in (200, 201) and isinstance(metadata, dict):
            if token := metadata.get("continue"):
                self.world.tokens = [*self.world.tokens[-20:], token]
            if version := metadata.get("resourceVersion"):
                self.world.versions = [*self.world.versions[-20:], version]
            self._remember(ask, found)
        return reply

    def _remember(self, ask: Ask, found: Obj) -> None:
        if "dryRun" in ask.target or ask.method not in ("POST", "PUT", "PATCH"):
            return
        name = found["metadata"].get("name")
        about = (found.get("apiVersion"), found.get("kind"))
        for kind in (*STORED, *self.world.custom):
            is_it = name and (kind.api_version, kind.kind) == about
            if is_it and (kind.kind != "Namespace" or name != NAMESPACE):
                self.world.objects[kind, name] = found

    async def _define(self) -> None:
        """Define a new kind."""
        rng = self.world.rng
        self.world.made += 1
        body, kind = fuzz_definitions.definition(rng, self.world.made)
        ask = Ask("POST", DEFINITION.path(), dumps(body), (("Content-Type", JSON),))
        reply = await self.step(ask)
        if reply.code == 201:
            schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            self.world.custom.append(kind)
            self.world.samples[kind] = partial(_sample, schema)

    # -- what must hold ---------------------------------------------------------------------------

    async def check(self) -> None:
        """Whatever is stored can be read in all forms and written again as it is."""
        for kind in (*STORED, *self.world.custom):
            path = kind.path().replace(f"/namespaces/{NAMESPACE}", "")
            for form in (JSON, TABLE, PARTIAL_LIST):
                reply = await self.fuzzed.ask(Ask("GET", path, b"", (("Accept", form),)))
                self._expect(reply, (200, 404), f"list {path} {form}")
            reply = await self.fuzzed.ask(Ask("GET", kind.path()))
            if reply.code == 200:
                for item in reply.object()["items"]:
                    await self._check_one(kind, item)

    async def _check_one(self, kind: Kind, item: Obj) -> None:
        self.checked += 1
        obj = {**item, "apiVersion": kind.api_version, "kind": kind.kind}
        name = obj["metadata"]["name"]
        path = kind.path(quote(name, safe=""))
        for form in (JSON, TABLE, PARTIAL):
            reply = await self.fuzzed.ask(Ask("GET", path, b"", (("Accept", form),)))
            self._expect(reply, (200,), f"get {path} {form}")
        if obj["metadata"].get("deletionTimestamp"):
            return
        body = dumps(obj)
        ask = Ask("PUT", f"{path}?dryRun=All", body, (("Content-Type", JSON),))
        reply = await self.fuzzed.ask(ask)
        if (
            b"status.addresses[" not in reply.body
        ):  # those of nodes are looked at in updates only
            self._expect(reply, (200,), f"write again {path} {body[:3000]!r}")
        metadata = {
            key: obj["metadata"][key] for key in obj["metadata"] if key != "managedFields"
        }
        applied = dumps({**obj, "metadata": metadata})
        query = "?dryRun=All&force=true&fieldManager=again"
        ask = Ask("PATCH", path + query, applied, (("Content-Type", APPLY),))
        reply = await self.fuzzed.ask(ask)
        if b"failed to create typed patch object" not in reply.body:  # so upstream
            self._expect(reply, (200,), f"apply again {path} {applied[:3000]!r}")

    def _expect(self, reply: Reply, codes: tuple[int, ...], about: str) -> None:
        if reply.code not in codes:
            self.fuzzed.wrong.append(f"{reply.code} {about}\n    {reply.body[:600]!r}")

    async def clean(self) -> None:
        """Delete whatever was made."""
        for kind, name in list(self.world.objects):
            path = kind.path(quote(name, safe=""))
            unbound = Ask(
                "PATCH",
                path,
                b'{"metadata":{"finalizers":null}}',
                (("Content-Type", MERGE),),
            )
            await self.fuzzed.ask(unbound)
            reply = await self.fuzzed.ask(Ask("DELETE", f"{path}?gracePeriodSeconds=0"))
            await self.fuzzed.ask(unbound)
            self._expect(reply, (200, 202, 404, 409), f"delete {path}")
        self.world.objects.clear()
        self.world.custom.clear()
        self.world.samples.clear()


def _sample(schema: Obj, rng: Random) -> Any:
    return fuzz_definitions.sample(rng, schema)
