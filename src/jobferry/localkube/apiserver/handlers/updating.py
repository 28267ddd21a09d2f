"""PUT: replace an object, or one part of it."""

import copy

from jobferry.localkube.apiserver.handlers import creating, decoding, rendering, writing
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.intent import Intent
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.options import write_options
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.objects import Obj


async def update(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Replace an object by what the body holds."""
    intent, transform = await intended(backend, call, resource)
    may_create = intent.strategy.create_on_update
    written = await writing.update(backend, intent, transform, may_create=may_create)
    code = 201 if written.created else 200
    return await creating.answer(backend, call, resource, written, code)


async def intended(
    backend: Backend, call: Call, resource: Resource
) -> tuple[Intent, writing.Transform]:
    """Return what the body asks for."""
    wanted = write_options(call.query, kind="UpdateOptions")
    obj = await decoding.whole(backend, call, resource, wanted.validation)
    intent = Intent.of(call, resource, wanted, backend.clock.now())
    writing.set_namespace(obj, intent)
    writing.check_name(obj, intent)
    return intent, _replacement(obj, intent)


def _replacement(obj: Obj, intent: Intent) -> writing.Transform:
    """Return what gives the new object; each time anew, since what is tried again was changed on the way."""
    attempts = iter((obj,))

    def transform(entry: Entry | None) -> Obj:
        new = copy.deepcopy(obj) if (first := next(attempts, None)) is None else first
        writing.check_uid(new["metadata"].get("uid"), entry, intent)
        live = None if entry is None else rendering.current(intent.resource, entry)
        writing.set_managed_fields(live, new, intent)
        return new

    return transform
