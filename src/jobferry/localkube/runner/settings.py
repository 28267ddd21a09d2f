"""How a runner is set up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobferry.localkube.runner import images
from jobferry.localkube.runner.images import Images


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a runner is set up."""

    node: str
    folder: Path
    """Where everything of its pods is; one runner at a time may have it."""
    images: Images = images.HOST
    host: str = "127.0.0.1"
    port: int = 443
    """Where pods find the API server."""
    authority: str = ""
    """The certificate by which they know it, for namespaces without the ConfigMap kube-root-ca.crt."""
    capacity: Mapping[str, str] = field(default_factory=dict)
    """What to say of the node instead of what the machine has."""
    pids: int = 4096
    """How many processes a container may have, where the kernel counts them."""
    private_mounts: bool = True
    """Whether volumes are mounted, where the kernel allows that."""
