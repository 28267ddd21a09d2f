"""The API server as a whole: what is built from what, and in which order it starts and ends."""

import os
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from jobferry.clock import Clock
from jobferry.errors import BadInput
from jobferry.localkube.apiserver import aggregated_roles, built_in
from jobferry.localkube.apiserver.access import guard
from jobferry.localkube.apiserver.access.rbac import RoleBook
from jobferry.localkube.apiserver.admission.chain import Chain, chain
from jobferry.localkube.apiserver.bootstrap import bootstrap
from jobferry.localkube.apiserver.definitions import Definitions
from jobferry.localkube.apiserver.expiry import Expiry
from jobferry.localkube.apiserver.handlers import executing, logs, pods, questions, scaling
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.routing import Handler, SpecialKey
from jobferry.localkube.apiserver.identity import folder
from jobferry.localkube.apiserver.identity.authenticate import Authenticator
from jobferry.localkube.apiserver.identity.folder import Keys
from jobferry.localkube.apiserver.identity.tokens import Tokens
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.openapi import Documents
from jobferry.localkube.apiserver.registry import Registry
from jobferry.localkube.apiserver.serving import listener
from jobferry.localkube.apiserver.serving.app import App
from jobferry.localkube.apiserver.serving.audit import Audit
from jobferry.localkube.apiserver.serving.limits import Room
from jobferry.localkube.apiserver.serving.meters import Meters
from jobferry.localkube.apiserver.serving.paths import Paths
from jobferry.localkube.apiserver.storage.store import Durability, open_storage
from jobferry.localkube.apiserver.view import View

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""What the random end of a name is made of: no vowels, so that no words come out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a server is set up."""

    folder: Path
    """Where its keys are, and its state unless that is in memory only."""
    keys: Path | None = None
    """A folder of keys to use as they are; None: they are made, and kept in `folder`."""
    in_memory: bool = False
    durability: Durability = "full"
    host: str = "127.0.0.1"
    port: int = 0
    """0: any that is free."""
    audit_log: Path | None = None
    without_plugins: frozenset[str] = frozenset()
    """The parts of admission to leave out, by the names that kube-apiserver has for them."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """A server that is ready."""

    app: App
    backend: Backend
    keys: Keys
    host: str
    port: int

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"https://{self.host}:{self.port}"

    def admin_kubeconfig(self, *, name: str = "localkube") -> str:
        """Return a kubeconfig for somebody who may do everything."""
        return self.keys.admin_kubeconfig(self.url, name=name)


@asynccontextmanager
async def serve(
    settings: Settings, clock: Clock, nodes: Nodes | None = None
) -> AsyncIterator[Server]:
    """Run an API server within the block; it is ready when the block begins.

    Runners in the same process say in `nodes` how their nodes are reached.
    """
    keys = _keys(settings, clock)
    tls = listener.tls(keys)
    path = None if settings.in_memory else settings.folder / "state.db"
    async with AsyncExitStack() as stack:
        door = stack.enter_context(listener.bound(settings.host, settings.port))
        port = door.getsockname()[1]
        storage = await stack.enter_async_context(
            open_storage(path, clock=clock, durability=settings.durability)
        )
        registry = Registry(built_in.resources())
        view = View(storage, registry)
        book = RoleBook()
        for watch in guard.follow(storage, book):
            stack.enter_context(watch)
        backend = Backend(
            storage=storage,
            registry=registry,
            view=view,
            admission=_admission(settings, view, book, clock),
            decide=book.decide,
            nodes=nodes or Nodes(),
            clock=clock,
            new_uid=_uid,
            new_suffix=_suffix,
        )
        app = _app(
            backend, book, keys, f"{settings.host}:{port}", _audit(stack, settings, clock)
        )
        await bootstrap(backend, port)
        await stack.enter_async_context(Definitions(backend).followed())
        await stack.enter_async_context(aggregated_roles.filled(backend))
        await stack.enter_async_context(Expiry(backend).running())
        await stack.enter_async_context(
            listener.listening(app, door, tls, end_streams=app.end_streams)
        )
        yield Server(app=app, backend=backend, keys=keys, host=settings.host, port=port)


def _app(
    backend: Backend, book: RoleBook, keys: Keys, address: str, audit: Audit | None
) -> App:
    tokens = Tokens(
        private=keys.tokens.read_bytes,
        public=keys.tokens_public.read_bytes,
        get=backend.view.get,
        clock=backend.clock,
    )
    authenticator = Authenticator(tokens=tokens)
    meters = Meters(backend.clock, backend.storage, backend.registry.find)
    registry = backend.registry
    return App(
        backend,
        authenticator,
        _special(backend, authenticator, book, tokens),
        Paths(registry, Documents(registry), meters.registry.render, address, tokens),
        Room(),
        meters,
        audit,
    )


def _keys(settings: Settings, clock: Clock) -> Keys:
    try:
        settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if settings.keys is not None:
            return Keys(settings.keys)
        return folder.prepare(settings.folder, clock.now())
    except OSError as error:
        raise BadInput(f"{settings.folder}: cannot be used: {error.strerror}") from error


def _audit(stack: AsyncExitStack, settings: Settings, clock: Clock) -> Audit | None:
    if settings.audit_log is None:
        return None
    try:
        file = settings.audit_log.open("ab")
    except OSError as error:
        raise BadInput(f"{settings.audit_log}: cannot be written: {error.strerror}") from error
    return Audit(stack.enter_context(file), clock)


def _admission(settings: Settings, view: View, book: RoleBook, clock: Clock) -> Chain:
    whole = chain(view, clock, suffix=_suffix, webhooks=(guard.plugin(book),))
    return Chain(
        tuple(each for each in whole.plugins if each.name not in settings.without_plugins)
    )


def _special(
    backend: Backend, authenticator: Authenticator, book: RoleBook, tokens: Tokens
) -> dict[SpecialKey, Handler]:
    return {
        ("", "pods", "binding", "create"): pods.bind,
        ("", "bindings", "", "create"): pods.bind,
        ("", "pods", "eviction", "create"): pods.evict,
        ("", "pods", "log", "get"): logs.read_log,
        ("", "pods", "exec", "get"): executing.execute,
        ("", "pods", "exec", "create"): executing.execute,
        ("", "pods", "attach", "get"): executing.attach,
        ("", "pods", "attach", "create"): executing.attach,
        **questions.handlers(backend, authenticator, book, tokens),
        **scaling.handlers(),
    }


def _uid() -> str:
    """Return a random UUID (version 4); what Python has for it takes long to load, and twice as long to make one."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return (
        f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"
    )


def _suffix() -> str:
    return "".join(random.choices(_SUFFIX, k=5))  # noqa: S311 (a name, no secret)
