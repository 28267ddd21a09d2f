"""Notices that a Secret has changed, so that new credentials are used before the old ones fail."""

from collections.abc import Callable

from jobferry import log
from jobferry.errors import Error
from jobferry.kube import optional
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Key
from jobferry.kube.resources import SECRETS

_log = log.get(__name__)


async def follow(hub: Client, namespace: str, on_change: Callable[[Key], None]) -> None:
    """Tell of every Secret of a namespace that comes, changes or goes, until cancelled.

    Without the right to watch them nothing is lost but time: a kubeconfig is read again whenever the one in
    use is refused.
    """
    scope = Scope(resource=SECRETS, namespace=namespace)
    # That one has changed is all we want to know: what it says is not kept in memory.
    informer = Informer(hub, scope, Head, transform=lambda _: b"", heeds_refusal=True)

    def note(change: Change[Head]) -> None:
        if informer.synced.is_set():  # what was there from the start is no change
            on_change(change.item.key)

    def warn(refusal: Error) -> None:
        _log.warning(
            "Secrets cannot be watched: a new kubeconfig is noticed once the old one fails",
            namespace=namespace,
            error=refusal,
        )

    informer.listen(note)
    await optional.follow(informer, hub.clock, warn)
