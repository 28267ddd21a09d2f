"""How long things may take, and how long they last."""

from dataclasses import dataclass

from jobferry.clock import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The defaults are kube-apiserver's, where it has any."""

    body: Seconds = 60.0
    """How long a body may take to arrive: there is room for so many requests only."""
    version: Seconds = 3.0
    """How long a read waits for a version that is still to come."""
    watch: Seconds = 1800.0
    """A watch without a limit of its own ends after this long, or up to twice that: not all at once."""
    bookmark: Seconds = 60.0
    """How often a watch gets a bookmark."""
    last_bookmark: Seconds = 2.0
    """How long before its end a watch gets the last one."""
    event: Seconds = 3600.0
    """How long an Event stays after it was last written."""
    head: Seconds = 32.0
    """How long the head of a request may take to arrive: half of one is no reason to wait."""
    idle: Seconds = 120.0
    """How long an idle connection stays; Go's clients keep theirs for 90 s."""
    ping: Seconds = 20.0
    """How often the client of a WebSocket is tried, to learn whether it is still there."""
    end: Seconds = 5.0
    """How long requests under way may take when the server ends."""


TIMEOUTS = Timeouts()
