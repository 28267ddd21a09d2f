"""What is asked of `python -m jobferry.testing.simulation` and makes no sense is one line, not a traceback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.testing.simulation import __main__ as command
from jobferry.testing.simulation.drawing import draw
from jobferry.testing.simulation.events import History
from jobferry.testing.simulation.reading import read

HEAD = "seed=1 workers=2 dispatchers=1"


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the last line that is said about arguments that make no sense."""
    with pytest.raises(SystemExit, match="2"):
        command.main(arguments)
    return capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        (b"", "nothing: the first line has to be like seed=17 workers=2 dispatchers=1"),
        (b"x", "x: the first line"),
        (b"\xff", "is no text"),
        (b"seed=1 workers=2 dispatchers=1\n1 kil {}", "do you mean kill?"),
    ],
)
def test_a_history_that_is_not_there_or_is_none_is_told(
    text: bytes | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "none.txt"
    if text is not None:
        file.write_bytes(text)

    told = refusal(capsys, "--history", str(file))

    assert str(file) in told
    assert said in told


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 kill", "1 kill: no time, name and arguments, as in: 17.250 kill"),
        ("soon kill {}", "no time"),
        ("1 kill {who: d1}", "no time"),
        ("1 kill [1]", "no time"),
        ("1 explode {}", "there is no event explode; there are trap, ambush, kill"),
        ('1 kill {"whom": "d1", "seconds": 1}', "it lacks who"),
        ('1 kill {"who": "d1", "seconds": 1, "at": 2}', "it takes no at, but who, seconds"),
        ('1 kill {"who": "d1", "seconds": "1"}', "seconds: Expected `float`, got `str`"),
        ('1 kill {"who": "d2", "seconds": 1}', "who is none of d1"),
        ('1 freeze {"cluster": "w3", "seconds": 1}', "cluster is none of hub, w1, w2"),
        ('1 trap {"effect": "lost", "worker": "w1"}', "it takes no worker, but effect"),
        (
            '1 create {"namespace": "red", "name": "a", "shape": {"runs": "x"}}',
            "shape: Expected `float`, got `str` - at `$.runs`",
        ),
        ('-1 kill {"who": "d1", "seconds": 1}', "between 0 and 70 s"),
        ('nan kill {"who": "d1", "seconds": 1}', "between 0 and 70 s"),
        ('1e9 kill {"who": "d1", "seconds": 1}', "between 0 and 70 s"),
    ],
)
def test_an_event_that_makes_no_sense_is_told(line: str, said: str) -> None:
    with pytest.raises(BadInput) as raised:
        read(f"{HEAD}\n{line}")

    assert said in str(raised.value)


@pytest.mark.parametrize("name", ["workers", "dispatchers"])
def test_a_history_of_nobody_is_none(name: str) -> None:
    nobody = HEAD.replace(f"{name}={HEAD.split(f'{name}=')[1][0]}", f"{name}=0")

    with pytest.raises(BadInput, match=f"{name}=0: there has to be one at least"):
        read(nobody)


def test_what_is_drawn_makes_sense() -> None:
    for seed in range(100):
        assert read(str(draw(seed))) == draw(seed)


def test_lines_may_be_indented() -> None:
    assert read(f"  # a comment\n  {HEAD}\n\n  # another") == History(1, 2, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("5-2", "5-2 ends before it begins: 2-5?"),
        ("x", "'x' is no range of seeds, as 0-199 is"),
        ("-1", "'-1' is no range"),
        ("1-", "'1-' is no range"),
    ],
)
@pytest.mark.parametrize("option", ["--seeds", "--hashes"])
def test_seeds_that_are_none_are_told(
    option: str, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refusal(capsys, option, text)


def test_where_nothing_can_be_written_is_told_before_anything_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away = tmp_path / "away"

    assert f"there is no folder {away}" in refusal(capsys, "--seed=1", f"--save={away}/x")
    assert f"{tmp_path}: is a folder" in refusal(capsys, "--seed=1", f"--save={tmp_path}")
    assert "--save is for one history" in refusal(capsys, "--seeds=1-2", f"--save={away}")


def test_a_history_can_be_kept_whole_also_if_it_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quiet, kept = tmp_path / "quiet.txt", tmp_path / "kept.txt"
    quiet.write_text(HEAD)

    code = command.main(["--history", str(quiet), "--quiet", "--whole", "--save", str(kept)])

    assert code == 0
    assert kept.read_text() == f"{HEAD}\n"
    assert f"Written to {kept}: 0 of 0 events" in capsys.readouterr().out


def playing(history: Path, output: int) -> subprocess.Popen[str]:
    """Start to play a history."""
    arguments = (sys.executable, "-m", "jobferry.testing.simulation", "--history", history)
    return subprocess.Popen(arguments, stdout=output, stderr=subprocess.PIPE, text=True)


def test_ctrl_c_ends_it_without_a_word(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "history")

    with playing(pipe, subprocess.DEVNULL) as player, pipe.open("w"):  # it reads as we are here
        player.send_signal(signal.SIGINT)

        assert player.communicate()[1] == ""
    assert player.returncode == 130


def test_who_has_seen_enough_ends_it_without_a_word(tmp_path: Path) -> None:
    history = tmp_path / "quiet.txt"
    history.write_text(HEAD)
    unread, output = os.pipe()
    os.close(unread)

    with playing(history, output) as player:
        os.close(output)

        assert player.communicate()[1] == ""
    assert player.returncode == 1
