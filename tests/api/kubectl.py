"""kubectl, as the users of a cluster have it."""

import os
import subprocess

from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane


def kubectl(plane: ControlPlane, *arguments: str, given: str | None = None) -> str:
    """Run it as somebody who may do everything, with `given` as its input; return what it prints."""
    # No cache: it goes by the port, which another plane may have had before.
    config = (f"--kubeconfig={plane.kubeconfig_file}", f"--cache-dir={os.devnull}")
    command = [str(assets.need("kubectl")), *config, *arguments]
    ended = subprocess.run(command, input=given, text=True, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
