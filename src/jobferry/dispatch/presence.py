"""Whether kinds are on the hub: by their CRDs, where we may see them, and by what it serves."""

from collections.abc import Callable

from jobferry.clock import Seconds
from jobferry.errors import Error
from jobferry.kube import optional
from jobferry.kube.client import Client
from jobferry.kube.definitions import SERVED_WITHIN, Definitions
from jobferry.objects.resource import Resource
from jobferry.workers import cluster

LOOK_AGAIN_AFTER: Seconds = 1.0
"""Discovery cannot be watched: it tells of a kind a moment after its CRD is established."""


class Presence:
    """Knows which kinds there are; `on_change` hears the name of each CRD that came, changed or went."""

    def __init__(
        self,
        hub: Client,
        on_change: Callable[[str], None],
        on_refusal: Callable[[Error], None],
    ) -> None:
        self._hub = hub
        self._clock = hub.clock
        self._on_change = on_change
        self.definitions = Definitions(hub, self._note, on_refusal)
        self._changed: dict[str, Seconds] = {}
        """By the name of a CRD: when it last changed."""

    async def has(self, resource: Resource) -> bool:
        """Tell whether the hub serves a kind."""
        if not is_custom(resource):
            return True
        return not self.is_undefined(resource) and bool(
            await cluster.served(self._hub, [resource])
        )

    def is_undefined(self, resource: Resource) -> bool:
        """Tell whether it is certain that there is no such kind, and so no object of it."""
        knows = is_custom(resource) and self.definitions.knows
        return knows and not self.definitions.has(resource)

    def look_again(self, resource: Resource) -> Seconds | None:
        """Return when a kind may be there that is not, though nobody tells of that; None: somebody will."""
        if not self.definitions.knows:
            return optional.ASK_AGAIN_AFTER
        since = self._clock.monotonic() - self._changed.get(str(resource), -SERVED_WITHIN)
        is_new = self.definitions.has(resource) and since < SERVED_WITHIN
        return LOOK_AGAIN_AFTER if is_new else None

    def _note(self, name: str) -> None:
        self._changed[name] = self._clock.monotonic()
        self._on_change(name)


def is_custom(resource: Resource) -> bool:
    """Tell whether a kind is there only where somebody has installed it."""
    return "." in resource.group
