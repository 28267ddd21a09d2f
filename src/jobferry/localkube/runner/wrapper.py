"""The program round each container: a few lines of sh, which outlive the runner.

It writes a record: a line from /proc for itself and one for the container's main process, so that both are found
again, and in the end a line with the exit code. A line counts once it is whole, that is, ended. The file is open
from the start, so that no volume can hide it, and closed in the container.
"""

import fcntl
import os
import re
import shlex
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SHELL = "/bin/sh"
RECORD = 3
"""The descriptor of what the wrapper writes."""

PLAIN = (signal.SIGPIPE, signal.SIGXFSZ)
"""Python ignores these, and what is ignored is inherited, unless it is set back."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_ROOM = 16
"""Descriptors from here on are none of those that the wrapper gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What a wrapper is given, as open descriptors."""

    stdin: int
    output: int
    record: int


def script(directory: str, groups: Sequence[str] = (), after: Sequence[str] = ()) -> str:
    """Return what the wrapper does: join the cgroups, run the command in `directory`, note its exit code.

    `after` is a command that cleans up. The main process is no job in the background, since those ignore SIGINT, and `$$` is not its number.
    """
    note = f'read -r stat </proc/self/stat && echo "$stat" >&{RECORD}'
    enter = f"cd {shlex.quote(directory)} || exit 127; unset OLDPWD"
    run = f'exec "$@" 2>&1 {RECORD}>&-'
    return "\n".join(
        [
            *(f"echo $$ >{shlex.quote(group)}" for group in groups),
            "trap : HUP INT QUIT TERM",
            "exec 2>/dev/null",  # a shell complains of a child that is killed: that is no output of it
            note,
            f"({note}; {enter}; {run})",
            "code=$?",
            *([f"{shlex.join(after)} >/dev/null 2>&1"] if after else []),
            f"echo $code >&{RECORD}",
        ]
    )


def joining(directory: str, groups: Sequence[str] = ()) -> str:
    """Return what runs a further command in a container: without any record of it."""
    join = [f"echo $$ >{shlex.quote(group)}" for group in groups]
    enter = f"cd {shlex.quote(directory)} || exit 126"
    return "\n".join([*join, enter, "unset OLDPWD", 'exec "$@"'])


def words(command: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Return what the script runs as "$@": shells drop what is no name of a variable to them, so `env` sets that."""
    odd = [f"{name}={value}" for name, value in env.items() if not _VARIABLE.fullmatch(name)]
    return ["env", "--", *odd, *command] if odd else [*command]


def spawn(
    text: str, name: str, command: Sequence[str], env: Mapping[str, str], files: Files
) -> int:
    """Start a wrapper in a session of its own; returns its number."""
    moves = [
        (os.POSIX_SPAWN_DUP2, files.stdin, 0),
        (os.POSIX_SPAWN_DUP2, files.output, 1),
        (os.POSIX_SPAWN_DUP2, files.output, 2),
        (os.POSIX_SPAWN_DUP2, files.record, RECORD),
    ]
    return os.posix_spawn(
        SHELL,
        [SHELL, "-c", text, name, *words(command, env)],
        dict(env),
        file_actions=moves,
        setsid=True,
        setsigmask=(),
        setsigdef=PLAIN,
    )


def out_of_the_way(descriptor: int) -> int:
    """Return a descriptor in place of this one that is none of those that the wrapper gets."""

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _ROOM)
    os.close(descriptor)
    return moved
