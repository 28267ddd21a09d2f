"""Who plays in the demo: workers, and Jobs that do real work. Some take their time, so that there is something to see."""

import sys

from jobferry.clock import Seconds
from jobferry.objects import Obj

WORKERS = ("worker-1", "worker-2")

LOST_AFTER: Seconds = 2.0
"""How long a lost worker is waited for. Usual is a quarter of an hour, which nobody wants to watch."""

OURS = "jobferry.io/dispatcher"

MOVED = "darts"
"""The Job that loses its worker."""

BROKEN = "broken"
"""The Job that fails."""

PI = """
from decimal import Decimal as D, getcontext
getcontext().prec = 60
pi = sum(D(1) / 16**k * (D(4)/(8*k+1) - D(2)/(8*k+4) - D(1)/(8*k+5) - D(1)/(8*k+6)) for k in range(60))
print("pi =", str(pi)[:52])
"""

DARTS = """
import random, time
throws = 200_000
hits = sum(random.random() ** 2 + random.random() ** 2 < 1 for _ in range(throws))
time.sleep(0.7)
print(f"{hits} of {throws} darts hit: pi is about {4 * hits / throws:.3f}")
"""

PRIMES = """
import os, time
low = int(os.environ["JOB_COMPLETION_INDEX"]) * 10_000
primes = [n for n in range(max(low, 2), low + 10_000) if all(n % d for d in range(2, int(n**0.5) + 1))]
time.sleep(0.7)
print(f"{len(primes)} primes from {low} to {low + 10_000}")
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
    job(MOVED, DARTS, completions=8, parallelism=2),
    job("primes", PRIMES, completionMode="Indexed", completions=6),
    job(BROKEN, "raise SystemExit('the input is not there')", backoffLimit=0),
    job(
        "stays-home", "import os; print('process', os.getpid(), 'of the hub')", delegated=False
    ),
)
"""One that is short, one of many runs, one in parts, one that fails, and one that stays on the hub."""
