"""What a kubelet asks of whatever runs containers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from jobferry import errors
from jobferry.localkube.runner.containers import Attempt, Part
from jobferry.objects import Obj


class CannotStart(errors.Error):
    """A container cannot be started now; `reason` is what its status says."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Backend(Protocol):
    """Runs containers."""

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the UID of a pod whenever something has become of its containers."""

    def uids(self) -> set[str]:
        """Return the pods of which there is anything."""

    def attempts(self, uid: str) -> Mapping[str, Sequence[Attempt]]:
        """Return the last two runs of each container of a pod, the older first."""

    async def start(self, pod: Obj, part: Part, number: int) -> None:
        """Start a container for the first (0) or another time, never twice with one number.

        Raises `CannotStart` if it has not been started.
        """

    def look_after(self, pod: Obj) -> None:
        """Begin what goes on while containers run (probes), unless it has begun."""

    def stop(self, pod: Obj, name: str) -> None:
        """Ask a container to end."""

    def kill(self, uid: str, name: str) -> None:
        """End a container now."""

    async def remove(self, uid: str) -> None:
        """End what runs of a pod, and drop all that is kept of it."""
