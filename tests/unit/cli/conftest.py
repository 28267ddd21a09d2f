"""The command line in a process of its own: it sets up logging, and ends in its own ways."""

import subprocess
import sys
from collections.abc import Callable

import pytest

# Gives `jobferry run` an application that does what the test says, and none of the real work.
WITH_APP = """
import sys, types
import jobferry
from jobferry.cli.main import main
jobferry.app = types.ModuleType("jobferry.app")
exec(sys.argv.pop(1), jobferry.app.__dict__)
sys.exit(main())
"""

Jobferry = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def jobferry() -> Jobferry:
    """Run a command line; `app` is the source of `app.run`, if that is to be called."""

    def run(*arguments: str, app: str = "") -> subprocess.CompletedProcess[str]:
        start = ("-c", WITH_APP, app) if app else ("-m", "jobferry")
        command = [sys.executable, *start, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    return run
