"""What a container sees as its file system: that of the machine, with its volumes mounted: pure.

Where a volume is to appear at a path that the machine has, it is mounted over it. Where the machine has no such
path, none is made there; instead the container gets a root of its own, in memory, in which everything of the
machine's root is mounted again, and beside it the path that was missing.
"""

import os
import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_NOT_OURS = re.compile(r"/dev/(tty.+|vcs.*|loop.*|ram.*|nbd.*|hidraw.*)")
"""Devices that no container asks for, of which machines have hundreds."""


class Bind(NamedTuple):
    """That something of the machine appears at a path in the container."""

    source: str
    target: str
    read_only: bool = False


class Make(NamedTuple):
    """Make a directory, an empty file, or a link to `link`, at a path in the new root."""

    path: str
    is_directory: bool = True
    link: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """How to build what a container sees; done in order."""

    steps: tuple[Make | Bind, ...]
    has_own_root: bool


def plan(binds: Iterable[Bind], base: str = "/") -> Plan:
    """Say how to build it; `base` is the root that is shown."""
    placed = sorted(
        (Bind(each.source, _resolved(base, each.target), each.read_only) for each in binds),
        key=lambda each: each.target.count("/"),
    )
    opened = {
        path
        for each in placed
        if not _under_another(each, placed) and not os.path.lexists(_on(base, each.target))
        for path in _missing_parents(base, each.target)
    }
    has_own_root = bool(opened) or base != "/"
    steps: list[Make | Bind] = []
    if has_own_root:
        steps += _shown_now(base, frozenset(opened | {"/"}))
    for each in placed:
        if _under_another(each, placed) or not os.path.lexists(_on(base, each.target)):
            steps += _mount_point(each)
        steps.append(each)
    return Plan(tuple(steps), has_own_root)


def _shown_now(base: str, opened: frozenset[str]) -> tuple[Make | Bind, ...]:
    """Show the directories that are opened; looks at them again only when one has changed."""
    changed = tuple(os.stat(_on(base, path)).st_mtime_ns for path in sorted(opened))
    return _shown_once(base, opened, changed)


@lru_cache(maxsize=64)
def _shown_once(
    base: str, opened: frozenset[str], changed: tuple[int, ...]
) -> tuple[Make | Bind, ...]:
    del changed  # part of what is remembered
    return tuple(_shown(base, "/", opened))


def _shown(base: str, path: str, opened: Set[str]) -> Iterator[Make | Bind]:
    """Show a directory of the machine: those that are opened entry by entry, others whole."""
    for entry in sorted(os.scandir(_on(base, path)), key=lambda each: each.name):
        inside = os.path.join(path, entry.name)
        if _NOT_OURS.fullmatch(inside):
            continue
        if entry.is_symlink():
            yield Make(inside, link=os.readlink(entry.path))
        elif inside in opened:
            yield Make(inside)
            yield from _shown(base, inside, opened)
        else:
            yield Make(inside, is_directory=entry.is_dir())
            yield Bind(entry.path, inside)


def _mount_point(bind: Bind) -> Iterator[Make]:
    """Make what is missing of the path at which something is mounted: in memory, or in another volume."""
    yield Make(os.path.dirname(bind.target))
    yield Make(bind.target, is_directory=os.path.isdir(bind.source))


def _missing_parents(base: str, target: str) -> Iterator[str]:
    """Give the directories of the machine that have to be shown entry by entry."""
    path = os.path.dirname(target)
    while not os.path.lexists(_on(base, path)):
        path = os.path.dirname(path)
    while path != "/":
        yield path
        path = os.path.dirname(path)
    yield "/"


def _under_another(bind: Bind, binds: Iterable[Bind]) -> bool:
    return any(
        other is not bind and bind.target.startswith(other.target + "/") for other in binds
    )


def _resolved(base: str, target: str) -> str:
    """Follow the links of the machine on the way to a path, those out of `base` within it."""
    done, left = "/", [part for part in target.split("/") if part]
    for _ in range(255):
        if not left:
            break
        name, *left = left
        if name == "..":
            done = os.path.dirname(done)
            continue
        path = os.path.join(done, name)
        if os.path.islink(_on(base, path)):
            link = os.readlink(_on(base, path))
            left = [part for part in link.split("/") if part not in {"", "."}] + left
            done = "/" if link.startswith("/") else done
        else:
            done = path
    return done


def _on(base: str, path: str) -> str:
    return os.path.join(base, path.lstrip("/"))
