"""What the handlers work with."""

from dataclasses import dataclass
from random import Random

from jobferry.clock import Clock
from jobferry.localkube.apiserver import ids
from jobferry.localkube.apiserver.access.rbac import Decide
from jobferry.localkube.apiserver.admission.chain import Chain
from jobferry.localkube.apiserver.door import Door
from jobferry.localkube.apiserver.execution import Execution
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.registry import Registry
from jobferry.localkube.apiserver.storage.reader import Reader
from jobferry.localkube.apiserver.timeouts import Timeouts
from jobferry.localkube.apiserver.view import View


@dataclass(frozen=True, kw_only=True)
class Backend:
    """Everything that answers depend on, besides the request."""

    storage: Reader
    """What is durable, to answer from."""
    door: Door
    """The newest state, to build on; and the only way to change it."""
    registry: Registry
    view: View
    admission: Chain
    decide: Decide
    nodes: Nodes
    clock: Clock
    random: Random
    """Where all ids come from."""
    timeouts: Timeouts
    execution: Execution
    """Where long work is done."""

    def new_uid(self) -> str:
        """Draw the id of an object, a token or a request."""
        return ids.uid(self.random)

    def new_suffix(self) -> str:
        """Draw the random end of a generated name."""
        return ids.suffix(self.random)
