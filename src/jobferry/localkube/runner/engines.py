"""Containers in an engine, podman or docker: the command lines."""

import shutil
from collections.abc import Iterable, Mapping, Sequence

from jobferry.localkube.runner.backend import CannotStart
from jobferry.localkube.runner.mounts import Bind

ENGINES = ("podman", "docker")


def find(path: str) -> str:
    """Return the engine on the PATH; raises `CannotStart` if there is none."""
    for name in ENGINES:
        if found := shutil.which(name, path=path):
            return found
    message = f"the image needs a container engine, and there is none of {', '.join(ENGINES)}"
    raise CannotStart("ErrImagePull", f"{message} on the PATH")


def run(
    engine: str,
    name: str,
    image: str,
    command: Sequence[str],
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    binds: Iterable[Bind],
    directory: str = "",
) -> tuple[str, ...]:
    """Return the command that runs a container; its output and exit code are those of the container."""
    line = [engine, "run", "--rm", "--network=host", f"--name={name}"]
    line += [f"--env={key}={value}" for key, value in env.items()]
    line += [
        f"--volume={source}:{target}:{'ro' if read_only else 'rw'}"
        for source, target, read_only in binds
    ]
    if directory:
        line.append(f"--workdir={directory}")
    if command:
        line.append(f"--entrypoint={command[0]}")
    return (*line, image, *command[1:], *args)


def remove(engine: str, name: str) -> tuple[str, ...]:
    """Return the command that removes what an engine may have left."""
    return engine, "rm", "--force", name
