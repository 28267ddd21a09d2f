"""Roles and bindings as they come and go: they are taken in, and nobody grants too much by them."""

from functools import partial

from jobferry.localkube.apiserver.access import escalation
from jobferry.localkube.apiserver.access.rbac import GROUP, RoleBook
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.admission.request import CREATE, UPDATE, Request, Topic
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.localkube.apiserver.storage.following import follow as follow_changes
from jobferry.localkube.apiserver.storage.reader import Reader
from jobferry.localkube.apiserver.storage.watch import Watch

_KINDS = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")


def follow(storage: Reader, book: RoleBook) -> list[Watch]:
    """Keep the book up to date: a change counts before its writer has the answer."""
    return [
        follow_changes(storage, f"/registry/{GROUP}/{plural}/", partial(_take, book))
        for plural in _KINDS
    ]


def _take(book: RoleBook, change: Change) -> None:
    book.remove(
        change.entry.object
    )  # it grants nothing any more, even if the new state is no good
    if not change.deleted:
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
