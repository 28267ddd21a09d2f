"""Credentials that can be exchanged while a client uses them."""

import asyncio

from jobferry.kube.access import Credentials, Identity


class Badge:
    """Hands out the identity of the credentials that are in use now; a watch goes on with what it began with."""

    def __init__(self, credentials: Credentials) -> None:
        self.is_void = asyncio.Event()
        """Set once nothing is left to try."""
        self._credentials = credentials

    def exchange(self, credentials: Credentials) -> None:
        """Use other credentials from now on."""
        self._credentials = credentials

    async def identity(self) -> Identity:
        """Return who we are now."""
        return await self._credentials.identity()

    def reject(self, identity: Identity) -> bool:
        """Take note that the server answered 401 to `identity`; True if asking again may help."""
        may_help = self._credentials.reject(identity)
        if not may_help:
            self.is_void.set()
        return may_help
