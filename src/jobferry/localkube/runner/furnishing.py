"""Makes the volumes of a pod in its folder, once, and renews the tokens in them."""

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

from jobferry.errors import BadInput
from jobferry.localkube.runner import volumes
from jobferry.localkube.runner.backend import CannotStart
from jobferry.localkube.runner.sources import Sources
from jobferry.localkube.runner.volumes import File, Token
from jobferry.objects import Obj

READY = "furnished"
"""The file that says that the volumes of a pod are made; it lists the tokens in them."""

Write = Callable[[str, bytes, int], None]
"""Writes a file of a volume: its path, its content, its mode."""


class Placed(msgspec.Struct, frozen=True):
    """A token in a volume of a pod."""

    path: str
    namespace: str
    account: str
    token: Token
    mode: int


async def furnish(
    pod: Obj, folder: Path, sources: Sources, room: Mapping[str, str], write: Write
) -> None:
    """Make the volumes of a pod in its folder, unless they are there."""
    if not pod["spec"].get("volumes") or _is_furnished(folder):
        return
    namespace = pod["metadata"]["namespace"]
    found = await sources.find(namespace, volumes.references(pod))
    tokens: list[Placed] = []
    for volume in pod["spec"].get("volumes") or ():
        try:
            files = volumes.files(pod, volume, found, room)
        except BadInput as error:
            message = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {error}'
            raise CannotStart("ContainerCreating", message) from error
        tokens += await _make(pod, volume, files, folder, sources, write)
    _note_ready(folder, tokens)


async def renew(folder: Path, sources: Sources) -> None:
    """Write tokens anew that would soon be too old."""
    for placed in _tokens_in(folder):
        text = await sources.token(placed.namespace, placed.account, placed.token)
        write_at_once(placed.path, text.encode(), placed.mode)


async def _make(
    pod: Obj, volume: Obj, files: list[File], made: Path, sources: Sources, write: Write
) -> list[Placed]:
    _check_host_path(volume)
    tokens = []
    namespace = pod["metadata"]["namespace"]
    account = pod["spec"].get("serviceAccountName") or "default"
    folder = _make_folder(volume, made)
    for file in files:
        path = os.path.join(folder, file.path)
        content = file.content
        if isinstance(content, Token):
            tokens.append(Placed(path, namespace, account, content, file.mode))
            content = (await sources.token(namespace, account, content)).encode()
        write(path, content, file.mode)
    return tokens


def _is_furnished(folder: Path) -> bool:
    return (folder / READY).exists()


def _note_ready(folder: Path, tokens: list[Placed]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_at_once(str(folder / READY), msgspec.json.encode(tokens), 0o600)


def _tokens_in(folder: Path) -> list[Placed]:
    try:
        return msgspec.json.decode((folder / READY).read_bytes(), type=list[Placed])
    except msgspec.DecodeError:
        return []  # a crash of the machine cut it off: none of its pods runs any more


def _make_folder(volume: Obj, made: Path) -> str:
    folder = volumes.place(str(made), volume)
    if volume.get("hostPath") is None:
        os.makedirs(folder, exist_ok=True)
        if volume.get("emptyDir") is not None:
            os.chmod(folder, 0o777)  # noqa: S103 (as kubelets do: who runs in the pod is its own affair)
    return folder


def _check_host_path(volume: Obj) -> None:
    """See to it that what a hostPath names is there, and is of the kind that it says."""
    if (host := volume.get("hostPath")) is None:
        return
    path, kind = Path(host["path"]), host.get("type") or ""
    if kind == "DirectoryOrCreate":
        path.mkdir(parents=True, exist_ok=True)
    elif kind == "FileOrCreate":
        path.touch()
    is_so = {
        "Directory": path.is_dir,
        "DirectoryOrCreate": path.is_dir,
        "File": path.is_file,
        "FileOrCreate": path.is_file,
        "Socket": path.is_socket,
        "CharDevice": path.is_char_device,
        "BlockDevice": path.is_block_device,
    }.get(kind, path.exists)
    if not is_so():
        what = f"hostPath type check failed: {path} is not a {kind or 'path of this machine'}"
        message = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {what}'
        raise CannotStart("ContainerCreating", message)


def write_at_once(path: str, content: bytes, mode: int) -> None:
    """Write a file at once: who reads it meanwhile has the old or the new content."""
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    fresh = os.path.join(folder, f".{name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), mode)
    os.replace(fresh, path)


class Shared:
    """Files that many pods have, such as their token: written once, and linked to where each pod has them.

    Only for containers that see them mounted, and so cannot change them.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        for path in folder.iterdir():
            if path.stat().st_nlink == 1:
                path.unlink()  # no pod has it any more

    def write(self, path: str, content: bytes, mode: int) -> None:
        """Let a file have this content."""
        kept = self._folder / sha256(b"%o " % mode + content).hexdigest()
        if not kept.exists():
            write_at_once(str(kept), content, mode)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            os.link(kept, path)
        except (
            OSError
        ):  # it has too many links, or an attempt before this has left a file there
            write_at_once(path, content, mode)
