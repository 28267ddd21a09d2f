"""Ends what follows objects where we are not allowed to: an informer by itself would ask again for ever."""

from collections.abc import Callable

from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.informer import Freshness, Informer
from jobferry.kube.items import H


def heed(informer: Informer[H], fail: Callable[[Error], None]) -> None:
    """Call `fail` if a server says that we may not follow; all else passes."""

    def hear(link: Freshness) -> None:
        if isinstance(link.trouble, errors.Forbidden | errors.Unauthorized):
            fail(link.trouble)

    informer.listen_to_link(hear)
