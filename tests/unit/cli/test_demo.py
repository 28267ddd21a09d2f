"""The command line of `jobferry demo`, before anything is started."""

import subprocess
import sys

import pytest

from jobferry.cli import demo
from jobferry.errors import BadInput

HELP = """
import contextlib, sys
from jobferry.cli.main import main
with contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print({"asyncio", "msgspec", "rich"} & {*sys.modules})
"""


@pytest.mark.parametrize("arguments", [["--keep", "--real"], ["--fast"], ["now"]])
def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    with pytest.raises(BadInput):
        demo.main(arguments)


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    command = [sys.executable, "-c", HELP, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert done.stdout.startswith("usage: jobferry")
    assert done.stdout.endswith("\nset()\n")
