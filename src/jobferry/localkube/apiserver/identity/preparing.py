"""Makes keys in a process that ends: what it takes (12 MB of `cryptography`) never comes into that of the server.

`python -m jobferry.localkube.apiserver.identity.preparing DIR TIME`. What goes wrong there goes wrong again in the server,
which says so; and what is still missing then, the server makes itself. It loads little: a server waits for it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from jobferry.errors import BadInput
from jobferry.localkube.apiserver.identity import folder, private


@contextmanager
def elsewhere(path: Path, now: datetime) -> Iterator[None]:
    """Make the keys of a folder during the block, if there are none, and wait for them at its end."""
    if folder.is_complete(path, now):
        yield
        return
    import subprocess  # noqa: PLC0415 (not for the other process)

    command = [sys.executable, "-m", __name__, str(path), now.isoformat()]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL):  # noqa: S603 (ourselves)
        yield


def main() -> None:
    """Make them."""
    path, now = Path(sys.argv[1]), datetime.fromisoformat(sys.argv[2])
    with suppress(BadInput, OSError), private.claimed(path):
        folder.prepare(path, now)


if __name__ == "__main__":
    main()
