"""How tables are compared with those of a real API server."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from jobferry.clock import SystemClock
from jobferry.localkube.apiserver.printing.columns import Columns
from jobferry.objects import Obj
from tests.api.raw_http import RawHttp

OBJECT = {"includeObject": "Object"}
CONTAINERS = [{"name": "main", "image": "a:1"}, {"name": "side", "image": "b"}]
POD_TEMPLATE = {"spec": {"containers": CONTAINERS, "restartPolicy": "Never"}}


def moments_around(http: RawHttp, *request: Any, **options: Any) -> tuple[Any, list[datetime]]:
    """Ask, and say from when to when the answer may be."""
    clock = SystemClock()
    before = clock.now()
    answered = http.ask(*request, **options)
    return answered, [before, clock.now()]


def assert_same(table: Obj, columns: Columns, moments: list[datetime]) -> None:
    """Compare a table (whose rows hold whole objects) with what we would print."""
    for row in table["rows"]:
        candidates = [columns.cells(row["object"], now) for now in moments]
        either = [list(pair) for pair in zip(*candidates, strict=True)]
        assert len(row["cells"]) == len(either) == len(columns.definitions)
        for cell, ours, column in zip(row["cells"], either, columns.definitions, strict=True):
            assert cell in ours, (column["name"], row["object"])
            assert type(cell) is type(ours[0])
        assert row.get("conditions", []) == list(columns.conditions(row["object"]))


def without_descriptions(definitions: list[Obj]) -> list[Obj]:
    return [{**each, "description": ""} for each in definitions]


def ago(rng: Random) -> str:
    """Return a moment in the past, or a little in the future."""
    scale = rng.choice((60, 600, 10_000, 100_000, 10**6, 10**8, 4 * 10**8))
    moment = SystemClock().now() - timedelta(seconds=rng.uniform(-3, scale))
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro(moment: str) -> str:
    return moment.replace("Z", ".123456Z")
