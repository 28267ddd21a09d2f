"""Kubeconfig files: finding and merging them as client-go does, and choosing a context."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jobferry.clock import Clock
from jobferry.errors import BadInput
from jobferry.kube import entries, material
from jobferry.kube.access import Access
from jobferry.kube.document import ANYTHING, Node, Source, Trust, parse
from jobferry.kube.material import one_line


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """One kubeconfig, or several merged into one."""

    label: str
    clusters: Mapping[str, Node]
    users: Mapping[str, Node]
    contexts: Mapping[str, Node]
    current_context: str

    def access(
        self,
        context: str | None = None,
        *,
        clock: Clock,
        environ: Mapping[str, str] = os.environ,
    ) -> Access:
        """Return how the cluster of a context is reached, by default of the current one."""
        chosen = self._context(context or self.current_context)
        cluster = _look_up(chosen["cluster"], self.clusters, "cluster")
        server = entries.server(cluster)
        nobody = Node(chosen.source, "users", None)
        user = _look_up(chosen["user"], self.users, "user") if chosen["user"].text() else nobody
        return Access(
            server=server,
            credentials=entries.credentials(user, cluster, server, clock, environ),
            headers=tuple(entries.headers(user)),
            namespace=chosen["namespace"].text() or "default",
        )

    def _context(self, name: str) -> Node:
        if name and name in self.contexts:
            return self.contexts[name]
        what = f"contexts: there is none named {name!r}" if name else "current-context: not set"
        raise BadInput(one_line(f"{self.label}: {what}"), hint=_existing(self.contexts))


def from_file(path: Path, policy: Trust = ANYTHING) -> Kubeconfig:
    """Read one file, which must be there; the policy is for what it names."""
    try:
        return _merged([_parsed(path, policy)], str(path))
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file") from None


def from_environment(environ: Mapping[str, str] = os.environ) -> Kubeconfig:
    """Read the files that KUBECONFIG lists, or else `~/.kube/config`; those that are missing are left out."""
    default = os.path.join(environ.get("HOME", ""), ".kube", "config")
    listed = (environ.get("KUBECONFIG") or default).split(os.pathsep)
    paths = [Path(name) for name in dict.fromkeys(listed) if name]
    roots = []
    for path in paths:
        try:
            roots.append(_parsed(path, ANYTHING))
        except FileNotFoundError:
            continue
    label = ", ".join(str(path) for path in paths) or "KUBECONFIG"
    if not roots:
        raise BadInput(f"{label}: no such file", hint="Name a kubeconfig, or set KUBECONFIG.")
    return _merged(roots, label)


def from_bytes(content: bytes, label: str, policy: Trust = ANYTHING) -> Kubeconfig:
    """Read the content of a Secret or the like, which messages call `label`."""
    return _merged([parse(content, Source(label, policy=policy))], label)


def _parsed(path: Path, policy: Trust) -> Node:
    try:
        content = material.read_file(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    return parse(content, Source(str(path), Path(os.path.abspath(path)).parent, policy))


def _merged(roots: list[Node], label: str) -> Kubeconfig:
    return Kubeconfig(
        label=label,
        clusters=_entries(roots, "clusters", "cluster"),
        users=_entries(roots, "users", "user"),
        contexts=_entries(roots, "contexts", "context"),
        current_context=next(filter(None, (r["current-context"].text() for r in roots)), ""),
    )


def _entries(roots: list[Node], section: str, key: str) -> dict[str, Node]:
    """Merge one section: of each name the entry of the first file counts, as a whole."""
    found: dict[str, Node] = {}
    for root in reversed(roots):
        found |= root[section].named(key)
    return found


def _look_up(node: Node, those: Mapping[str, Node], kind: str) -> Node:
    name = node.text()
    if name and name in those:
        return those[name]
    raise node.wrong(
        f"there is no {kind} named {name!r}" if name else "not set", _existing(those)
    )


def _existing(names: Iterable[str]) -> str:
    return one_line("Those that exist: " + (", ".join(sorted(names)) or "none") + ".")
