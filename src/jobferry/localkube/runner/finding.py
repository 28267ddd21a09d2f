"""Whether there is a program to run, and if not, what to say."""

import os
from collections.abc import Callable, Sequence

Where = Callable[[str], str]
"""Returns where a path of the container is on the machine."""


def problem(command: Sequence[str], path: str, directory: str, where: Where = str) -> str:
    """Say why a command cannot be run; empty if it can."""
    if not command:
        return (
            "no command specified: images have no programs of their own here, "
            "so each container needs a command"
        )
    if not os.path.isdir(where(directory)):
        return f'workingDir "{directory}": no such directory'
    name = command[0]
    if "/" in name:
        return _problem_of_file(name, where(os.path.join(directory, name)))
    for folder in path.split(":"):
        found = where(os.path.join(folder or directory, name))
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return ""
    return f'exec: "{name}": executable file not found in $PATH'


def _problem_of_file(name: str, path: str) -> str:
    if not os.path.exists(path):
        return f'exec: "{name}": no such file or directory'
    if os.path.isdir(path):
        return f'exec: "{name}": is a directory'
    if not os.access(path, os.X_OK):
        return f'exec: "{name}": permission denied'
    return ""
