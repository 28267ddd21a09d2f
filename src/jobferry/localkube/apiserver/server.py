"""The API server behind a socket: `core` with keys in a folder, and who may connect."""

import socket
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom

from jobferry.clock import Clock
from jobferry.errors import BadInput
from jobferry.localkube.apiserver.core import Core, core
from jobferry.localkube.apiserver.execution import Execution
from jobferry.localkube.apiserver.identity import folder, private
from jobferry.localkube.apiserver.identity.folder import Keys
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.serving import listener
from jobferry.localkube.apiserver.serving.audit import Audit
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.localkube.apiserver.storage.store import (
    WINDOW,
    Durability,
    open_storage,
)
from jobferry.localkube.apiserver.timeouts import TIMEOUTS, Timeouts


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
    port: int | None = None
    """None: the one that it had last time, or else any that is free; 0: any that is free."""
    audit_log: Path | None = None
    without_plugins: frozenset[str] = frozenset()
    """The parts of admission to leave out, by the names that kube-apiserver has for them."""
    window: Window = WINDOW
    """How much history is kept."""
    timeouts: Timeouts = TIMEOUTS


@dataclass(frozen=True, kw_only=True)
class Server(Core):
    """A server that is ready, and listens."""

    keys: Keys
    host: str
    port: int

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"https://{_address(self.host, self.port)}"

    def admin_kubeconfig(self, *, name: str = "localkube") -> str:
        """Return a kubeconfig for somebody who may do everything."""
        return self.keys.admin_kubeconfig(self.url, name=name)


@asynccontextmanager
async def serve(
    settings: Settings,
    clock: Clock,
    nodes: Nodes | None = None,
    random: Random | None = None,
    execution: Execution | None = None,
) -> AsyncIterator[Server]:
    """Run an API server within the block; it is ready when the block begins.

    Runners in the same process say in `nodes` how their nodes are reached.
    `execution` is where long work is done, if not in threads.
    """
    random, execution = random or SystemRandom(), execution or Execution()
    async with AsyncExitStack() as stack:
        stack.enter_context(private.claimed(settings.folder))
        keys = _keys(settings, clock)
        tls = listener.tls(keys)
        bound = stack.enter_context(_bound(settings, random))
        port = bound.getsockname()[1]
        folder.keep_port(settings.folder, port)
        path = None if settings.in_memory else settings.folder / "state.db"
        storage = await stack.enter_async_context(
            open_storage(
                path,
                clock=clock,
                durability=settings.durability,
                window=settings.window,
                inline=execution.inline,
            )
        )
        running = await stack.enter_async_context(
            core(
                storage,
                clock,
                random=random,
                nodes=nodes,
                timeouts=settings.timeouts,
                execution=execution,
                without_plugins=settings.without_plugins,
                signing=keys.signing,
                audit=_audit(stack, settings, clock),
                address=_address(settings.host, port),
            )
        )
        await stack.enter_async_context(
            listener.listening(running.app, bound, tls, settings.timeouts)
        )
        yield Server(
            app=running.app,
            backend=running.backend,
            storage=storage,
            keys=keys,
            host=settings.host,
            port=port,
        )


def _keys(settings: Settings, clock: Clock) -> Keys:
    """Return the keys, once it is certain that nobody else could have made them."""
    database = settings.folder / "state.db"
    besides = (database, *(Path(f"{database}-{part}") for part in ("wal", "shm", "journal")))
    private.check_files(besides, secret=True)
    try:
        if settings.keys is None:
            return folder.prepare(settings.folder, clock.now(), settings.host)
        private.check_folder(settings.keys)
        for each in folder.NEEDED:
            private.check(settings.keys / each)
    except OSError as error:
        raise folder.unusable(settings.keys or settings.folder, error) from error
    return Keys(settings.keys)


def _bound(settings: Settings, random: Random) -> AbstractContextManager[socket.socket]:
    kept = folder.kept_port(settings.folder)
    if settings.port is not None or kept is None:
        return listener.bound(settings.host, settings.port or 0, random=random)
    hint = (
        f"The server of {settings.folder} had this port before, and kubeconfigs name it: "
        "end what listens there now, or choose another with --port (0: any that is free)."
    )
    return listener.bound(settings.host, kept, random=random, hint=hint)


def _address(host: str, port: int) -> str:
    """Return where clients find it; one that listens everywhere they find on this machine."""
    known = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"[{known}]:{port}" if ":" in known else f"{known}:{port}"


def _audit(stack: AsyncExitStack, settings: Settings, clock: Clock) -> Audit | None:
    if settings.audit_log is None:
        return None
    try:
        file = settings.audit_log.open("ab", buffering=0)
    except OSError as error:
        raise BadInput(f"{settings.audit_log}: cannot be written: {error.strerror}") from error
    return Audit(stack.enter_context(file), clock)
