"""Plays histories: `python -m jobferry.testing.simulation --seeds 0-199`, or one again: `--seed 17`."""

import argparse
import logging
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from jobferry.errors import BadInput
from jobferry.testing.simulation.drawing import draw
from jobferry.testing.simulation.events import History
from jobferry.testing.simulation.many import play_many
from jobferry.testing.simulation.playing import Outcome, play
from jobferry.testing.simulation.reading import read
from jobferry.testing.simulation.shrinking import shrink

_WIDTH = 200
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Play what is asked for; return 1 if anything broke."""
    try:
        return _play(_given(arguments))
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever closed the pipe has seen enough; Python would complain of the rest at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _given(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.save is not None and (given.seeds is not None or given.hashes is not None):
        parser.error("--save is for one history: it goes with --seed or --history")
    return given


def _play(given: argparse.Namespace) -> int:
    if given.hashes is not None:
        return _hashes(given.hashes)
    if given.seeds is not None:
        return _many(given.seeds, shorten=not given.whole)
    return _one(given)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m jobferry.testing.simulation", description=__doc__
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, help="play one history, and tell all that happens")
    what.add_argument("--seeds", type=_seeds, metavar="A-B", help="play many, on all cores")
    what.add_argument(
        "--hashes", type=_seeds, metavar="A-B", help="play some; tell their hashes"
    )
    what.add_argument(
        "--history", type=_written, metavar="FILE", help="play one that was written"
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="do not shorten what fails; with --save: write the history as it is, also if it holds",
    )
    parser.add_argument("--width", type=int, default=_WIDTH, help="of a line; 0: any")
    parser.add_argument(
        "--quiet", action="store_true", help="without the log of the dispatchers"
    )
    parser.add_argument(
        "--save", type=_target, metavar="FILE", help="write the one that fails, shortened"
    )
    return parser


def _seeds(text: str) -> range:
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no range of seeds, as 0-199 is")
    first, last = int(found[1]), int(found[2] or found[1])
    if last < first:
        raise argparse.ArgumentTypeError(f"{text} ends before it begins: {last}-{first}?")
    return range(first, last + 1)


def _written(path: str) -> History:
    try:
        return read(Path(path).read_text())
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise argparse.ArgumentTypeError(f"{path} is no text") from None
    except BadInput as error:
        raise argparse.ArgumentTypeError(f"{path}: {error}") from None


def _target(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise argparse.ArgumentTypeError(f"{path}: {what}")
    return path


def _one(given: argparse.Namespace) -> int:
    history = draw(given.seed) if given.history is None else given.history
    logging.getLogger().addHandler(logging.NullHandler())
    outcome = play(history, with_log=not given.quiet)
    _say(*_cut(outcome.lines, given.width))
    _say("", f"hash {outcome.digest}", *map(str, outcome.problems))
    if given.save is not None and (given.whole or outcome.problems):
        kept = outcome if given.whole else shrink(outcome)
        given.save.write_text(f"{kept.history}\n")
        count = f"{len(kept.history.events)} of {len(history.events)} events"
        _say(f"Written to {given.save}: {count}")
    return _close(1, bool(outcome.problems))


def _hashes(seeds: range) -> int:
    logging.disable(logging.CRITICAL)
    for seed in seeds:
        _say(f"{seed} {play(draw(seed)).digest}")
    return 0


def _many(seeds: range, *, shorten: bool) -> int:
    began, failed = time.monotonic(), 0
    for outcome in play_many(seeds):
        if outcome.problems:
            failed += 1
            _report(outcome, shorten=shorten)
    _say(f"{time.monotonic() - began:.0f} s")
    return _close(len(seeds), failed)


def _report(failed: Outcome, *, shorten: bool) -> None:
    seed = failed.history.seed
    _say("", f"History {seed} broke:", *map(str, failed.problems))
    if shorten:
        logging.disable(logging.CRITICAL)
        short = shrink(failed)
        _say(f"Shortened from {len(failed.history.events)} events:", "", str(short.history))
        _say("", "What happens:", *_cut(short.lines, _WIDTH), "", *map(str, short.problems))
    _say(f"Again: python -m jobferry.testing.simulation --seed {seed}", "")


def _close(histories: int, failed: int) -> int:
    noun = "history" if histories == 1 else "histories"
    _say(f"{histories} {noun}, {int(failed)} failed")
    return 1 if failed else 0


def _cut(lines: Sequence[str], width: int) -> list[str]:
    return [line[:width] if width else line for line in lines]


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
