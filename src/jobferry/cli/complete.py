"""What the scripts of `jobferry completion` ask: prints what the last word of a command line can become."""

import asyncio
import os
import sys
from collections.abc import Sequence

from jobferry.cli import hub, render
from jobferry.cli.arguments import words
from jobferry.cli.completing import Candidate, Given, candidates
from jobferry.cli.options import Where
from jobferry.clock import Seconds, SystemClock, timeout
from jobferry.errors import Error

WITHIN: Seconds = 2.0
"""Nobody waits longer for a name."""

_NO_FILES = ":4"
"""What cobra's completion, which kubectl's is, calls NoFileComp."""


def main(arguments: Sequence[str]) -> None:
    """Print a line for each, with what it means after a tab."""
    for each in _found(words(arguments)[1]):
        render.text(f"{each.word}\t{each.help}\n" if each.help else f"{each.word}\n")


def for_kubectl() -> int:
    """Answer kubectl, which asks a program named `kubectl_complete-ferry` about the words of its plugin."""
    for each in _found(sys.argv[1:]):
        render.text(f"{each.word}\t{each.help}\n" if each.help else f"{each.word}\n")
    render.line(_NO_FILES)
    return 0


def _found(line: Sequence[str]) -> list[Candidate]:
    try:
        return candidates(line, _names)
    except (Error, OSError):
        return []  # a shell that completes is no place for complaints


def _names(what: str, given: Given) -> list[str]:
    where = Where(kubeconfig=given.kubeconfig, context=given.context, namespace=given.namespace)
    clock = SystemClock()
    found = hub.find(where, os.environ, clock, is_quiet=True)
    if what == "contexts":
        return sorted(found.config.contexts) if found.config else []
    try:
        return asyncio.run(_listed(what, where, found, clock))
    except TimeoutError:
        return []


async def _listed(what: str, where: Where, found: hub.Found, clock: SystemClock) -> list[str]:
    from jobferry.dispatch.queues import QUEUES  # noqa: PLC0415 (contexts are known without)
    from jobferry.kube.client import connect  # noqa: PLC0415
    from jobferry.kube.resources import JOBS, NAMESPACES  # noqa: PLC0415
    from jobferry.workers.resource import WORKERS  # noqa: PLC0415

    kinds = {"jobs": JOBS, "workers": WORKERS, "queues": QUEUES, "namespaces": NAMESPACES}
    async with connect(found.access, name="hub", clock=clock) as client:
        asked = hub.Hub(client=client, found=found, where=where)
        async with timeout(clock, WITHIN):
            return [each["metadata"]["name"] for each in await asked.all(kinds[what])]
