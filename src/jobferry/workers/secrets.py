"""Notices that a Secret has changed, so that new credentials are used before the old ones fail."""

import asyncio
from collections.abc import Callable

from jobferry import log
from jobferry.clock import Seconds, sleep
from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Freshness, Informer
from jobferry.kube.items import Head, Key
from jobferry.kube.resources import SECRETS
from jobferry.runtime import supervise

ASK_AGAIN_AFTER: Seconds = 300.0
"""Rights may be granted later."""

_log = log.get(__name__)


async def follow(hub: Client, namespace: str, on_change: Callable[[Key], None]) -> None:
    """Tell of every Secret of a namespace that comes, changes or goes, until cancelled.

    Without the right to watch them nothing is lost but time: a kubeconfig is read again whenever the one in
    use is refused.
    """
    while True:
        refusal = await _follow(hub, namespace, on_change)
        _log.warning(
            "Secrets cannot be watched: a new kubeconfig is noticed once the old one fails",
            namespace=namespace,
            error=refusal,
        )
        await sleep(hub.clock, ASK_AGAIN_AFTER)


async def _follow(hub: Client, namespace: str, on_change: Callable[[Key], None]) -> Error:
    """Follow until we are told that we may not; return in which words."""
    scope = Scope(resource=SECRETS, namespace=namespace)
    # That one has changed is all we want to know: what it says is not kept in memory.
    informer = Informer(hub, scope, Head, transform=lambda _: b"")
    refused: asyncio.Future[Error] = asyncio.get_running_loop().create_future()

    def note(change: Change[Head]) -> None:
        if informer.synced.is_set():  # what was there from the start is no change
            on_change(change.item.key)

    def note_link(link: Freshness) -> None:
        if isinstance(link.trouble, errors.Forbidden) and not refused.done():
            refused.set_result(link.trouble)

    informer.listen(note)
    informer.listen_to_link(note_link)
    async with supervise.tasks(f"secrets of {namespace}", clock=hub.clock) as tasks:
        tasks.start("informer", informer.run)
        return await refused
