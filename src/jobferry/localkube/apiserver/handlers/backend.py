"""What the handlers work with."""

from collections.abc import Callable
from dataclasses import dataclass

from jobferry.clock import Clock
from jobferry.localkube.apiserver.access.rbac import Decide
from jobferry.localkube.apiserver.admission.chain import Chain
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.registry import Registry
from jobferry.localkube.apiserver.storage.store import Storage
from jobferry.localkube.apiserver.view import View


@dataclass(frozen=True, kw_only=True)
class Backend:
    """Everything that answers depend on, besides the request."""

    storage: Storage
    registry: Registry
    view: View
    admission: Chain
    decide: Decide
    nodes: Nodes
    clock: Clock
    new_uid: Callable[[], str]
    new_suffix: Callable[[], str]
    """Draws the random end of a generated name."""
