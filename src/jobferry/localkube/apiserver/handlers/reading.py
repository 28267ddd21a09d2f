"""Get and list."""

from dataclasses import dataclass

from jobferry.clock import timeout
from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.handlers import pacing, rendering, selection
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.selection import Matches
from jobferry.localkube.apiserver.requests import continuing, options
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.options import ListOptions
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage import errors
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.objects import Obj

_INCONSISTENT = (
    "The provided continue parameter is too old to display a consistent list result. You can start a"
    " new list without the continue parameter, or use the continue token in this response to retrieve"
    " the remainder of the results. Continuing with the provided token results in an inconsistent list"
    " - objects that were created, modified, or deleted between the time the first chunk was returned"
    " and now may show up in the list."
)


@dataclass(slots=True)
class Page:
    """A part of a list."""

    entries: list[Entry]
    revision: int
    next_key: str = ""
    """Where the next part begins; empty: this is the last."""
    remaining: int | None = None


async def get(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Answer with one object."""
    try:
        revision = options.version_number(options.text(call.query, "resourceVersion"))
    except options.BadVersion as error:
        raise status.StatusError(500, "", str(error)) from error
    await wait_for(backend, revision)
    entry = find(backend, resource, call.target.namespace, call.target.name)
    return await rendering.stored(backend, call, resource, 200, entry)


def find(backend: Backend, resource: Resource, namespace: str, name: str) -> Entry:
    """Return one object, or report that it is not there."""
    entry = backend.storage.get(resource.key(namespace if resource.namespaced else "", name))
    if entry is None:
        raise status.not_found(resource.group, resource.plural, name)
    return entry


async def list_objects(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Answer with the objects that are selected."""
    wanted = options.list_options(call.query)
    matches = selection.matcher(resource, wanted)
    page = await read_page(backend, resource, call.target.namespace, wanted, matches)
    meta = list_meta(resource, call.target.namespace, page)
    return await rendering.many(backend, call, resource, page.entries, meta)


async def read_page(
    backend: Backend,
    resource: Resource,
    namespace: str,
    wanted: ListOptions,
    matches: Matches | None,
) -> Page:
    """Return the objects that are selected, or the part of them that was asked for."""
    prefix = resource.range_prefix(namespace if resource.namespaced else "")
    name = selection.exact_name(wanted.fields)
    is_one = bool(name) and (bool(namespace) or not resource.namespaced) and not wanted.resume
    start, at = await _start(backend, prefix, wanted, pages=wanted.limit > 0 and not is_one)
    # A list of any version comes whole: it costs nothing.
    limit = 0 if wanted.resource_version == "0" else max(wanted.limit, 0)
    if is_one and at is None:
        entry = backend.storage.get(f"{prefix}{name}")
        revision, found = backend.storage.revision, [entry] if entry else []
        if matches is not None:
            found = await selection.selected(backend, resource, found, matches, pacing.Slice())
        return Page(found, revision)
    try:
        return await _collect(backend, resource, prefix, start, at, limit, matches)
    except errors.Compacted as error:
        raise _too_old(prefix, start) from error


async def _collect(
    backend: Backend,
    resource: Resource,
    prefix: str,
    start: str,
    at: int | None,
    limit: int,
    matches: Matches | None,
) -> Page:
    """Read until `limit` selected objects are found."""
    found: list[Entry] = []
    done = pacing.Slice()
    while True:
        part = backend.storage.range(prefix, start=start, limit=limit, at=at)
        entries = part.entries
        if matches is not None:
            entries = await selection.selected(backend, resource, entries, matches, done)
        room = limit - len(found) if limit else len(entries)
        cut = entries[room:]
        found += entries[:room] if found or cut else entries
        if cut:
            return Page(found, part.revision, f"{found[-1].key}\x00")
        if not part.more:
            return Page(found, part.revision)
        next_key = f"{part.entries[-1].key}\x00"
        if limit and len(found) >= limit:
            remaining = part.remaining if matches is None else None
            return Page(found, part.revision, next_key, remaining)
        start, at = next_key, part.revision


async def _start(
    backend: Backend, prefix: str, wanted: ListOptions, *, pages: bool
) -> tuple[str, int | None]:
    """Return the key to begin with and the revision to read at; None is the newest."""
    if wanted.resume:
        start, revision = continuing.decode(wanted.resume)
        if wanted.resource_version not in ("", "0"):
            why = "specifying resource version is not allowed when using continue"
            raise status.bad_request(why)
        await wait_for(backend, revision)
        return prefix + start, None if revision < 0 else revision
    try:
        revision = options.version_number(wanted.resource_version)
    except options.BadVersion as error:
        raise status.bad_request(f"invalid resource version: {error}") from error
    if not revision:
        return "", None
    await wait_for(backend, revision)
    exact = wanted.match == options.EXACT or (pages and not wanted.match)
    return "", revision if exact else None


async def wait_for(backend: Backend, revision: int) -> None:
    """Wait a moment for a version that a client has heard of elsewhere."""
    if revision <= backend.storage.revision:
        return
    try:
        async with timeout(backend.clock, backend.timeouts.version):
            await backend.storage.wait_for(revision)
    except TimeoutError:
        newest = backend.storage.revision
        message = f"Too large resource version: {revision}, current: {newest}"
        error = status.timeout(f"Timeout: {message}", retry_after=1)
        cause = {
            "reason": "ResourceVersionTooLarge",
            "message": "Too large resource version",
        }
        error.detail("causes", [cause])
        raise error from None


def list_meta(resource: Resource, namespace: str, page: Page) -> Obj:
    """Return the metadata of a list: its version, and how to go on."""
    meta: Obj = {"resourceVersion": str(page.revision)}
    if page.next_key:
        prefix = resource.range_prefix(namespace if resource.namespaced else "")
        meta["continue"] = continuing.encode(page.next_key, prefix, page.revision)
        if page.remaining is not None:
            meta["remainingItemCount"] = page.remaining
    return meta


def _too_old(prefix: str, start: str) -> status.StatusError:
    if not start:
        return status.expired("The resourceVersion for the provided list is too old.")
    error = status.expired(_INCONSISTENT)
    error.list_meta["continue"] = continuing.encode(start, prefix, -1)
    return error
