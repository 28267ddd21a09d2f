"""`jobferry demo`: a hub, two workers, the dispatcher, and a handful of Jobs that do real work."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from jobferry import log
from jobferry.cli import pod_logs, render
from jobferry.cli.arguments import Parser
from jobferry.clock import SystemClock
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS
from jobferry.local.layout import HUB
from jobferry.objects import Obj

_ABOUT = """Starts a hub and two workers, sends Jobs to the hub, and shows where they run and what comes back.
Everything is gone at the end."""

OURS = "jobferry.io/dispatcher"
_LOCAL = "each a small Kubernetes in a process of its own"
_REAL = "real etcd, kube-apiserver and kube-controller-manager"

PI = """
from decimal import Decimal as D, getcontext
getcontext().prec = 60
pi = sum(D(1) / 16**k * (D(4)/(8*k+1) - D(2)/(8*k+4) - D(1)/(8*k+5) - D(1)/(8*k+6)) for k in range(60))
print("pi =", str(pi)[:52])
"""

SWEEP = """
import os
low = int(os.environ["JOB_COMPLETION_INDEX"]) * 20_000
primes = [n for n in range(max(low, 2), low + 20_000) if all(n % d for d in range(2, int(n**0.5) + 1))]
print(f"{len(primes)} primes from {low} to {low + 20_000}")
"""


def job(name: str, program: str, *, delegated: bool = True, **spec: object) -> Obj:
    """Return an ordinary Job; all that delegates it is one field."""
    container = {
        "name": "main",
        "image": "python:3",
        "command": [sys.executable, "-c", program],
    }
    pod = {"restartPolicy": "Never", "containers": [container]}
    managed = {"managedBy": OURS} if delegated else {}
    return {
        "metadata": {"name": name},
        "spec": {**managed, "template": {"spec": pod}, **spec},
    }


HANDFUL = (
    job("pi", PI),
    job("primes", SWEEP, completionMode="Indexed", completions=6, parallelism=3),
    job("broken", "raise SystemExit('the input is not there')", backoffLimit=0),
    job(
        "stays-home", "import os; print('process', os.getpid(), 'of the hub')", delegated=False
    ),
)
"""One that is delegated, one in six parts, one that fails, and one that stays on the hub."""


def main(arguments: Sequence[str]) -> None:
    """Show it."""
    parser = Parser("jobferry demo", "[--real]", _ABOUT)
    parser.add_argument(
        "--real",
        action="store_true",
        help="on real control planes, which `make kube` builds; their pods are only played",
    )
    given = parser.parse_args(arguments)
    log.configure(level="ERROR")
    asyncio.run(_show(is_real=given.real))


async def _show(*, is_real: bool) -> None:
    from jobferry.cli import stages, story  # noqa: PLC0415 (a wrong argument is told before the rest is loaded)

    clock = SystemClock()
    began = clock.monotonic()
    _say(f"Starting a hub and two workers: {_REAL if is_real else _LOCAL} ...")
    async with AsyncExitStack() as stack:
        stage = stages.real(clock) if is_real else stages.local(clock)
        clients = await stack.enter_async_context(stage)
        names = [each["metadata"]["name"] for each in HANDFUL]
        stories = {name: story.Story(client, names, _say) for name, client in clients.items()}
        for each in stories.values():
            await stack.enter_async_context(each.told())
        _say(f"Ready after {clock.monotonic() - began:.1f} s.")
        _say(f"Creating {len(HANDFUL)} Jobs on the hub, all but one with managedBy: {OURS}")
        for job in HANDFUL:
            await clients[HUB].create(JOBS, job, namespace="default")
        await stories[HUB].ended.wait()
        if not is_real:
            await _show_logs(clients, stories[HUB].places)
    _say("All have ended. The hub shows what happened elsewhere; nobody needed the workers.")


async def _show_logs(clients: Mapping[str, Client], places: Mapping[str, str]) -> None:
    _say("What they printed:")
    for name, place in places.items():
        async for line in pod_logs.lines(clients[place], name):
            _say(f"  {place:<9} {line}")


def _say(words: str) -> None:
    render.text(f"{words}\n")
