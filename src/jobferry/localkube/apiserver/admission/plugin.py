"""What a plugin is."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from jobferry.localkube.apiserver.admission.request import Request, Topic

Step = Callable[[Request], Awaitable[None]]
"""Lets a request pass, or raises a StatusError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """One part of admission; `handles` is asked once for each sort of request and its answer remembered."""

    name: str
    """As upstream calls it."""
    handles: Callable[[Topic], bool]
    admit: Step | None = None
    """May change the object; all plugins do so before the object is validated."""
    validate: Step | None = None
    """Only looks; runs on the valid object, just before it is stored."""
