"""Roles and bindings as they come and go: they are taken in, and nobody grants too much by them."""

from collections.abc import Iterable
from contextlib import suppress

from jobferry.localkube.apiserver.access import escalation
from jobferry.localkube.apiserver.access.rbac import GROUP, RoleBook
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import CREATE, UPDATE, Request, Topic
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.localkube.apiserver.storage.errors import Closed
from jobferry.localkube.apiserver.storage.store import Storage
from jobferry.localkube.apiserver.storage.watch import Watch

_KINDS = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")


def follow(storage: Storage, book: RoleBook) -> list[Watch]:
    """Keep the book up to date: a change counts before its writer has the answer."""
    watches: list[Watch] = []
    for plural in _KINDS:
        prefix = f"/registry/{GROUP}/{plural}/"
        for entry in storage.range(prefix).entries:
            book.put(entry.object)
        watches.append(_followed(storage, book, prefix))
    return watches


def _followed(storage: Storage, book: RoleBook, prefix: str) -> Watch:
    watching: list[Watch] = []

    def take() -> None:
        with suppress(Closed):  # nothing comes any more: the server ends
            _take(book, watching[0].take())

    watching.append(storage.watch(prefix, after=storage.revision, notify=take))
    return watching[0]


def _take(book: RoleBook, changes: Iterable[Change]) -> None:
    for change in changes:
        if change.deleted:
            book.remove(change.entry.object)
        else:
            book.put(change.entry.object)


def plugin(book: RoleBook) -> Plugin:
    """Return the part of admission that refuses roles and bindings which grant too much."""

    async def admit(request: Request) -> None:
        if request.obj is None or not isinstance(request.user, User):
            return
        if request.resource.endswith("bindings"):
            escalation.check_binding(
                book, request.user, request.obj, request.old, namespace=request.namespace
            )
        else:
            escalation.check_role(
                book,
                request.user,
                request.obj,
                request.old,
                namespace=request.namespace,
                name=request.url_name,
            )

    return Plugin(name="Escalation", handles=_handles, admit=admit)


def _handles(topic: Topic) -> bool:
    is_write = topic.operation in (CREATE, UPDATE)
    return topic.group == GROUP and topic.resource in _KINDS and is_write
