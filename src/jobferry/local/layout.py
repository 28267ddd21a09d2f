"""What lies where in the folder of a fleet, and who has it."""

import fcntl
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from jobferry.errors import BadInput, Error
from jobferry.localkube.apiserver.identity import private

HUB = "hub"
"""The name of the hub, and of its context."""


class AlreadyRunning(Error):
    """Another process has the fleet of a folder."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The folder of a fleet."""

    folder: Path

    @property
    def kubeconfig(self) -> Path:
        """The contexts of all clusters, for somebody who may do everything."""
        return self.folder / "kubeconfig"

    @property
    def lock(self) -> Path:
        """The file that the process which runs the fleet has locked; its content is that process."""
        return self.folder / "lock"

    @property
    def clusters(self) -> Path:
        """The folder of the clusters' folders."""
        return self.folder / "clusters"

    def cluster(self, name: str) -> Path:
        """Return the folder of a cluster."""
        return self.clusters / name

    def names(self) -> list[str]:
        """Return the clusters that were ever started here."""
        if not self.clusters.is_dir():
            return []
        return sorted(each.name for each in self.clusters.iterdir() if each.is_dir())

    def owner(self) -> int | None:
        """Return the process that runs the fleet, if one does."""
        with suppress(FileNotFoundError), self.lock.open("r+") as file:
            if not _is_free(file.fileno()):
                text = file.read().strip()
                return int(text) if text.isdecimal() else 0
        return None

    def check(self) -> None:
        """Raise `BadInput` if somebody else could have put something into the folder."""
        mode = self.folder.stat().st_mode
        if mode & stat.S_ISVTX and mode & stat.S_IWOTH:
            raise BadInput(
                f"{self.folder}: all users of this machine share it, so others can write to it",
                hint="Name a folder of your own, as in --data ~/fleet.",
            )
        private.check_folder(self.folder)

    def expect_free(self) -> None:
        """Raise what keeps us from having the fleet, as `owned` would, before anything is done."""
        self._make()
        if self.owner() is not None:
            raise self._running()

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Have the fleet within the block; raises `AlreadyRunning` if somebody has it."""
        self._make()
        # Opened for appending, so that losing the race for it does not wipe out who won.
        with self.lock.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise self._running() from None
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield

    def _make(self) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.check()
            self.clusters.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"{self.folder}: cannot be used: {error.strerror}",
                hint="Choose another folder with --data.",
            ) from error

    def _running(self) -> AlreadyRunning:
        return AlreadyRunning(
            f"a fleet is running already in {self.folder} (process {self.owner()})",
            hint=f"Its kubeconfig is {self.kubeconfig}. `jobferry down` ends it; --data starts another.",
        )


def default_folder(environ: Mapping[str, str]) -> Path:
    """Return where a fleet is kept unless somebody says otherwise: the user's own state folder."""
    state = environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "jobferry"


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
