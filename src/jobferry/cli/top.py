"""`jobferry top`: how much work each worker has, and how much room."""

import os
from collections.abc import Sequence

from jobferry import settings
from jobferry.cli import documents, options, render, silence, tables
from jobferry.cli.arguments import Parser
from jobferry.cli.hub import Hub, kind_missing, run
from jobferry.cli.job_facts import plural
from jobferry.cli.picture import Objects, Picture, read
from jobferry.cli.tables import Column
from jobferry.kube import errors
from jobferry.objects import Obj, conditions
from jobferry.objects.quantities import ZERO
from jobferry.workers.resource import WORKERS

_ABOUT = """Shows how much work each Worker has: its mirrors, finished ones too; its unfinished Jobs, and how many of them it
takes; and of each resource what those Jobs request, of what the Worker is said to have (spec.capacity)."""

ALWAYS = ("cpu", "memory")


def main(arguments: Sequence[str]) -> None:
    """Show the load of all workers."""
    parser = Parser("jobferry top", "[option ...]", _ABOUT)
    options.add_output(parser, options.DATA_FORMATS)
    options.add_where(parser, namespaced=False)
    given = parser.parse_args(arguments)
    chosen = settings.load(environ=os.environ)

    async def show(hub: Hub) -> None:
        try:
            objects = await read(hub.client, chosen)
        except errors.NotFound:
            raise kind_missing(WORKERS) from None
        picture = Picture(hub.client, chosen, objects, hub.client.clock.now())
        found = loads(objects, picture)
        waiting = len(picture.waiting())
        if given.output == "table":
            render.text(f"{text(found)}\n{wait_text(waiting)}\n")
            await silence.warn(hub)
        else:
            render.text(documents.data(given.output, {"waiting": waiting, "workers": found}))

    run(options.where(given), show)


def loads(objects: Objects, picture: Picture) -> list[Obj]:
    """Return the load of each worker, in the order of their names."""
    return [
        _load(worker, picture)
        for worker in sorted(objects.workers, key=lambda each: each["metadata"]["name"])
    ]


def text(found: Sequence[Obj]) -> str:
    """Return loads to be read."""
    names = {name for each in found for name in each["capacity"]} - {*ALWAYS}
    resources = [*ALWAYS, *sorted(names)]
    titles = ["NAME", "READY", "MIRRORS", "ACTIVE", *(name.upper() for name in resources)]
    rows = [
        [
            each["name"],
            each["ready"],
            each["mirrors"],
            _of(str(each["active"]), each["maxActive"]),
            *(
                _of(each["used"].get(name, "0"), each["capacity"].get(name))
                for name in resources
            ),
        ]
        for each in found
    ]
    return tables.text([Column(title) for title in titles], rows)


def wait_text(number: int) -> str:
    """Say how many workloads wait."""
    return f"{plural(number, 'workload')} wait{'s' if number == 1 else ''} for a worker."


def _load(worker: Obj, picture: Picture) -> Obj:
    name, status = worker["metadata"]["name"], worker.get("status") or {}
    known = picture.workers[name]
    ready = conditions.is_true(status.get("conditions"), "Ready")
    return {
        "name": name,
        "ready": "True" if ready else "False",
        "mirrors": int(status.get("mirrors") or 0),
        "active": picture.load(name),
        "maxActive": known.max_load,
        "used": {
            each: str(amount) for each, amount in picture.used(name).items() if amount > ZERO
        },
        "capacity": {each: str(amount) for each, amount in known.capacity.items()},
    }


def _of(used: str, most: object) -> str:
    return used if most is None else f"{used} of {most}"
