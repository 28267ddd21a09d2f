"""The clients that are compared, each used as its documentation tells a user to."""

import importlib
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol, cast

from jobferry.objects import Obj

NAMES = ("jobferry", "jobferry_watchlist", "lightkube", "kubernetes_asyncio")
"""Each is a module here, of which `open_` opens a contender."""


def packages(names: Iterable[str]) -> list[str]:
    """Return the packages that contenders are made of; one may contend in two ways."""
    return list(dict.fromkeys(name.removesuffix("_watchlist") for name in names))


class Contender(Protocol):
    """A client with a cache of Jobs."""

    async def fill(self) -> None:
        """Take every Job into the cache."""
        ...

    async def pause(self) -> None:
        """Stop watching, if it has begun; `follow` goes on from there."""
        ...

    async def follow(self, updates: int) -> None:
        """Watch until that many updates have been taken into the cache."""
        ...

    def active(self) -> list[int]:
        """Return the number of active pods that the cache has for each Job."""
        ...

    async def patch_status(self, name: str, body: Obj) -> None:
        """Merge a change into the status of a Job, and decode the answer."""
        ...

    async def close(self) -> None:
        """Drop every connection."""
        ...


class Module(Protocol):
    """What a module of this package offers."""

    async def open_(self, kubeconfig: Path) -> Contender:
        """Open a contender that talks to the cluster of a kubeconfig."""
        ...


async def open_(name: str, kubeconfig: Path) -> Contender:
    """Open a contender; only its own libraries are loaded."""
    module = cast("Module", importlib.import_module(f"bench.contenders.{name}"))
    return await module.open_(kubeconfig)
