"""Follows what we can do without, as far as we may."""

from collections.abc import Callable
from typing import Any

from jobferry.clock import Clock, Seconds, sleep
from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.informer import Informer

ASK_AGAIN_AFTER: Seconds = 300.0
"""Rights may be granted later."""


async def follow(
    informer: Informer[Any], clock: Clock, on_refusal: Callable[[Error], None]
) -> None:
    """Run an informer that heeds refusals until cancelled; what it knows when it is refused stays.

    `on_refusal` is told once, and again only if it has heard something since.
    """
    told_at: int | None = None
    while True:
        try:
            await informer.run()
        except errors.Forbidden as refusal:
            reached = informer.freshness().version
            if reached != told_at:
                on_refusal(refusal)
            told_at = reached
        await sleep(clock, ASK_AGAIN_AFTER)
