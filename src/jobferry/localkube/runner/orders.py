"""What it takes to start a container, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass

from jobferry.localkube.runner.cgroups import UNLIMITED, Limits
from jobferry.localkube.runner.mounts import Bind


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Everything that it takes to start a container."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    directory: str
    """Where it begins, as the container sees it."""
    binds: tuple[Bind, ...] = ()
    limits: Limits = UNLIMITED
    root: str = "/"
    """What the container sees as the root."""
    wants_input: bool = False
    has_startup_probe: bool = False
    has_readiness_probe: bool = False
    last_words_from_log: bool = False
    """Whether the end of its log is its termination message, if it fails without one."""
    after: tuple[str, ...] = ()
    """A command that cleans up once it has ended."""
    problem: str = ""
    """Why it cannot be started at all; it ends at once then."""
