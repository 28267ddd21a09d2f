import signal
import subprocess
import sys
from pathlib import Path

from jobferry.local import ending
from jobferry.local.layout import Layout

STUBBORN = """
import signal, sys
from pathlib import Path
from jobferry.local.layout import Layout
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with Layout(Path(sys.argv[1])).owned():
    print("ready", flush=True)
    signal.pause()
"""


def test_nothing_is_ended_where_nothing_is(tmp_path: Path) -> None:
    assert not ending.end(Layout(tmp_path))
    assert not ending.end(Layout(tmp_path / "none"))


def test_who_does_not_heed_that_it_shall_end_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STUBBORN, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "ready\n"

        assert ending.end(Layout(tmp_path), patience=0.1)

        assert owner.wait() == -signal.SIGKILL
