"""The API server without a socket, keys or folder: an ASGI application over a store.

    async with open_storage(None, clock=clock) as storage, core(storage, clock) as running:
        running.app      # an ASGI application; extensions={IN_PROCESS: User(…)} says who calls
        running.backend  # what it works with

`server.serve` puts it behind a socket; `jobferry.localkube.in_process` gives clients for it in the same process.
"""

from collections.abc import AsyncIterator, Callable, Sequence, Set
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random, SystemRandom

from jobferry.clock import Clock
from jobferry.localkube.apiserver import aggregated_roles, built_in, ids
from jobferry.localkube.apiserver.access import guard
from jobferry.localkube.apiserver.access.rbac import RoleBook
from jobferry.localkube.apiserver.admission.chain import chain
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.bootstrap import bootstrap
from jobferry.localkube.apiserver.definitions import Definitions
from jobferry.localkube.apiserver.door import Door
from jobferry.localkube.apiserver.execution import Execution
from jobferry.localkube.apiserver.expiry import Expiry
from jobferry.localkube.apiserver.handlers import answered_kinds, executing, logs, pods, scaling
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.routing import Handler, SpecialKey
from jobferry.localkube.apiserver.identity.authenticate import Authenticator
from jobferry.localkube.apiserver.identity.pair import Pair
from jobferry.localkube.apiserver.identity.tokens import Tokens
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.openapi.answering import Documents
from jobferry.localkube.apiserver.registry import Registry
from jobferry.localkube.apiserver.serving.app import App
from jobferry.localkube.apiserver.serving.audit import Audit
from jobferry.localkube.apiserver.serving.limits import Room
from jobferry.localkube.apiserver.serving.meters import Meters
from jobferry.localkube.apiserver.serving.non_resource_paths import Paths
from jobferry.localkube.apiserver.storage.store import Storage
from jobferry.localkube.apiserver.timeouts import TIMEOUTS, Timeouts
from jobferry.localkube.apiserver.view import View


def signing_key() -> Pair:
    """Make a key for service account tokens that nobody keeps."""
    from jobferry.localkube.apiserver.identity import certificates  # noqa: PLC0415 (heavy)

    return certificates.signing_key()


@dataclass(frozen=True, kw_only=True)
class Core:
    """A server that is ready, whether it listens anywhere or not."""

    app: App
    backend: Backend
    storage: Storage
    """To wait for writes under way, to take snapshots; objects are written through `backend.door`."""


@asynccontextmanager
async def core(
    storage: Storage,
    clock: Clock,
    *,
    random: Random | None = None,
    nodes: Nodes | None = None,
    timeouts: Timeouts = TIMEOUTS,
    execution: Execution | None = None,
    without_plugins: Set[str] = frozenset(),
    plugins: Sequence[Plugin] = (),
    signing: Callable[[], Pair] = signing_key,
    audit: Audit | None = None,
    address: str = "127.0.0.1:443",
) -> AsyncIterator[Core]:
    """Serve what is in `storage` within the block: to those who call `app`, and by itself (CRDs, roles, events).

    All ids are drawn from `random`. `nodes` tells how nodes are reached; `signing` gives the key for tokens, and is
    asked when the first one is wanted; `execution` is where long work is done, if not in threads; `plugins` are
    asked where upstream asks webhooks; `address` (host:port) is what clients are told.
    """
    random, execution = random or SystemRandom(), execution or Execution()
    registry, book = Registry(built_in.resources()), RoleBook()
    view = View(door := Door(storage, execution), registry)
    failure: BaseException | None = None
    async with AsyncExitStack() as stack:
        for watch in guard.follow(storage, book):
            stack.enter_context(watch)
        admission = chain(
            view,
            clock,
            suffix=lambda: ids.suffix(random),
            always=(guard.plugin(book), *plugins),
            without=without_plugins,
        )
        backend = Backend(
            storage=storage,
            door=door,
            registry=registry,
            view=view,
            admission=admission,
            decide=book.decide,
            nodes=nodes or Nodes(),
            clock=clock,
            random=random,
            timeouts=timeouts,
            execution=execution,
        )
        app = _app(backend, book, signing, address, audit)
        await bootstrap(backend, int(address.rpartition(":")[2]))
        await stack.enter_async_context(Definitions(backend).followed())
        await stack.enter_async_context(aggregated_roles.filled(backend))
        await stack.enter_async_context(Expiry(backend).running())
        stack.callback(app.end_streams)
        try:
            yield Core(app=app, backend=backend, storage=storage)
        except BaseException as error:  # noqa: BLE001 (raised again below)
            failure = error
    # Not from within: task groups would wrap what they have no part in.
    if failure is not None:
        raise failure


def _app(
    backend: Backend,
    book: RoleBook,
    signing: Callable[[], Pair],
    address: str,
    audit: Audit | None,
) -> App:
    registry = backend.registry
    tokens = Tokens(signing=signing, get=backend.view.get, clock=backend.clock)
    authenticator = Authenticator(tokens=tokens)
    meters = Meters(backend.clock, backend.storage, registry.find)
    return App(
        backend,
        authenticator,
        _special(backend, authenticator, book, tokens),
        Paths(registry, Documents(registry), meters.registry.render, address, tokens),
        Room(),
        meters,
        audit,
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
        **answered_kinds.handlers(backend, authenticator, book, tokens),
        **scaling.handlers(),
    }
