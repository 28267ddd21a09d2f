"""kubectl, as the users of a cluster have it."""

import subprocess

from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane


def kubectl(plane: ControlPlane, *arguments: str, given: str | None = None) -> str:
    """Run it as somebody who may do everything, with `given` as its input; return what it prints."""
    command = [str(assets.need("kubectl")), f"--kubeconfig={plane.kubeconfig_file}", *arguments]
    return subprocess.run(
        command, input=given, text=True, capture_output=True, check=True
    ).stdout
