"""What commands show of workloads of other kinds than Jobs, and do with them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobferry.core.placement import ANNOTATION
from jobferry.kube.resources import PODS
from jobferry.objects import Obj
from tests.system.jobs import NORTH_FIRST, Holds, condition, job, runs
from tests.system.kinds import JOB_SET, Trial, define, known, rights, staged, trial, undefine
from tests.system.lab import Lab
from tests.system.terminal import Terminal
from tests.system.world import until_none
from tests.workloads.lives import LIVES

pytestmark = [pytest.mark.fleet("processes"), pytest.mark.timeout(120)]


@pytest.fixture
async def stage(lab: Lab) -> AsyncIterator[Lab]:
    """A lab whose clusters have JobSets, and whose dispatcher may use them."""
    async with staged(lab, JOB_SET):
        yield lab


@pytest.fixture
def seat(lab: Lab, tmp_path: Path) -> Terminal:
    """Somebody who has a context for the hub, and for each worker one of its name."""
    of = {"west": "west", **lab.clusters}
    planes = lab.fleet.planes
    return Terminal(tmp_path, {name: planes[each].kubeconfig() for name, each in of.items()})


async def on_north(lab: Lab) -> tuple[Trial, str]:
    """Submit a JobSet that goes to north; return it, and the queue that sees to that."""
    queue = await lab.world.queue("north-first", **NORTH_FIRST)
    found = trial(lab, JOB_SET, queue=queue)
    await found.submit()
    assert await found.where() == "north"
    await found.on("north")
    return found, queue


async def test_commands_show_other_kinds_too(stage: Lab, terminal: Terminal) -> None:
    found, world = trial(stage, JOB_SET), stage.world
    await found.submit()
    worker = await found.where()
    await found.on(worker)
    here = ("--context", "west", "-n", world.namespace, "-k", "jobset")

    listed = (await terminal.out("jobs", *here)).splitlines()
    assert listed[1].split()[:4] == [found.name, "Placed", worker, "1"]
    (shown,) = json.loads(await terminal.out("jobs", *here, "-o", "json"))["items"]
    placed = json.loads(shown["metadata"]["annotations"][ANNOTATION])
    assert (placed["attempt"], placed["shards"][0]["worker"]) == (1, worker)
    described = await terminal.out("describe", found.name, *here)
    assert f"Worker:     {worker} (attempt 1)" in described
    life = [
        line.split(maxsplit=2)[-1] for line in described.partition("Life:\n")[2].splitlines()
    ]
    assert life == ["made on the hub", f"Placed on worker {worker}"]
    assert f"is placed on {worker}, attempt 1" in await terminal.out("why", found.name, *here)
    kinds = {
        row.split()[0]: row.split()[1:4]
        for row in (await terminal.out("kinds", "--context", "west")).splitlines()
    }
    assert kinds[JOB_SET] == ["yes", "yes", "north,south"]
    assert kinds["RayJob.ray.io"][:2] == ["no", "no"]
    top = await terminal.out("top", "--context", "west", "-o", "json")
    assert sum(each["active"] for each in json.loads(top)["workers"]) == 1


async def test_a_new_worker_that_would_not_get_what_it_serves_is_told_of(
    stage: Lab, terminal: Terminal
) -> None:
    add = ("workers", "add", "new", "--from-context", "east", "--context", "west", "--yes")

    without, with_it = [
        (await terminal.run(*add, *kinds)).out for kinds in ((), ("--kinds", "JobSet"))
    ]

    assert "it gets no JobSet, though it serves that: with `--kinds JobSet` it would" in without
    assert "identity" in with_it
    assert "other kinds" not in with_it


async def test_a_new_worker_that_lacks_the_crd_of_a_kind_is_told_of_and_can_be_added(
    lab: Lab, terminal: Terminal
) -> None:
    add = ("workers", "add", "new", "--from-context", "east", "--context", "west")
    north = lab.world.workers["north"]

    without = await terminal.run(*add, "--kinds", "JobSet,Pod")
    await define(north, JOB_SET)
    try:
        with_it = await terminal.run(*add, "--kinds", "JobSet,Pod")
    finally:
        await undefine(north, JOB_SET)

    said = "no CRD there serves JobSet.jobset.x-k8s.io/v1alpha2: install it with its operator"
    assert (said in without.out, said in with_it.out) == (True, False)
    assert without.err.splitlines()[-1] == "hint: --yes makes it without asking."


async def test_commands_wait_for_other_kinds_and_cancel_them(
    stage: Lab, terminal: Terminal
) -> None:
    found, world = trial(stage, JOB_SET), stage.world
    here = ("--context", "west", "-n", world.namespace, "-k", "JobSet")
    await found.submit()
    worker = await found.where()

    late = await terminal.run("wait", found.name, *here, "--timeout", "1s")
    assert (late.code, f"why {found.name} --kind JobSet" in late.err) == (4, True)
    missing = await terminal.run("wait", "nosuch", *here)
    assert "`jobferry jobs -k JobSet` lists those that are there" in missing.err
    refused = await terminal.run("wait", found.name, *here, "--for", "placed")
    assert "--for placed does not go with --kind" in refused.err

    await found.play(worker, LIVES[JOB_SET][-1])
    assert (
        await terminal.out("wait", found.name, *here) == f"{found.name} has ended: Complete\n"
    )
    assert f"its mirror and pods on {worker} go, too" in await terminal.out(
        "cancel", found.name, *here
    )
    await until_none(world.hub, found.scope())
    await found.gone_from(worker)


async def test_workloads_of_other_kinds_are_watched_like_jobs(
    stage: Lab, terminal: Terminal
) -> None:
    first, second = trial(stage, JOB_SET, name="first"), trial(stage, JOB_SET, name="second")
    await first.submit()
    worker = await first.where()
    here = ("-n", stage.world.namespace, "--context", "west", "-k", "jobset")

    async with terminal.started("jobs", "-w", *here) as process:
        assert process.stdout is not None
        assert (await process.stdout.readline()).startswith(b"NAME ")
        line = (await process.stdout.readline()).decode().split()
        assert line[:4] == ["first", "Placed", worker, "1"]
        await second.submit()
        while b"second Placed" not in b" ".join((await process.stdout.readline()).split()):
            pass
        await first.play(worker, LIVES[JOB_SET][-1])
        while b"first Complete" not in b" ".join((await process.stdout.readline()).split()):
            pass
        ended = await terminal.interrupted(process)

    assert (ended.code, ended.err) == (130, "")


def telling(status: Obj) -> Holds:
    """Tell of a JobSet whether it shows how often it restarted by then, and whether it had ended."""

    def holds(obj: Obj) -> bool:
        told = obj.get("status") or {}
        return all(told.get(name) == status.get(name) for name in ("restarts", "terminalState"))

    return holds


async def test_a_watch_prints_no_line_for_what_it_does_not_show(
    stage: Lab, terminal: Terminal
) -> None:
    found = trial(stage, JOB_SET)
    await found.submit()
    worker = await found.where()
    *_, restarted, ended = LIVES[JOB_SET]
    here = ("-n", stage.world.namespace, "--context", "west", "-k", "jobset")

    async with terminal.started("jobs", "-w", *here) as process:
        assert process.stdout is not None
        await process.stdout.readline()
        lines = [(await process.stdout.readline()).split()[:4]]
        for color in ("red", "blue"):
            await found.edit({"metadata": {"labels": {"color": color}}})
        for status in (restarted, {**restarted, "restarts": 2}, ended):
            await found.play(worker, status)
            await found.until(telling(status))
        while lines[-1][1] != b"Complete":
            lines.append((await process.stdout.readline()).split()[:4])

    assert [line[1] for line in lines] == [b"Placed", b"Running", b"Complete"]


async def test_a_drain_counts_workloads_of_all_kinds(stage: Lab, terminal: Terminal) -> None:
    _, queue = await on_north(stage)
    await stage.world.run(job("long", queue=queue, seconds=3600), runs(1))

    said = await terminal.out("workers", "drain", "north", "--context", "west")

    assert said == (
        "Worker north is drained: its unfinished work (1 Job and 1 JobSet) goes on,"
        " and nothing new comes.\n"
    )


def pod(name: str, of: str) -> Obj:
    """A pod as JobSet's operator makes one, on a node of which nothing can be read."""
    return {
        "metadata": {"name": name, "labels": {"jobset.sigs.k8s.io/jobset-name": of}},
        "spec": {
            "nodeName": "nowhere",
            "containers": [{"name": f"{name}-{each}", "image": "i"} for each in "ab"],
        },
    }


async def test_logs_of_a_workload_are_those_of_the_pods_that_its_operator_made(
    stage: Lab, seat: Terminal
) -> None:
    found, _ = await on_north(stage)
    here = ("-n", stage.world.namespace, "-k", "JobSet")
    none = await seat.run("logs", found.name, *here)
    assert (none.code, none.err) == (0, f"{found.name} has no pods on north yet.\n")
    north, namespace = stage.world.workers["north"], stage.world.namespace
    for name, of in (("its", found.name), ("another", "x")):
        await north.create(PODS, pod(name, of), namespace=namespace)

    said = await seat.run("logs", found.name, *here)
    async with seat.started("logs", "-f", found.name, *here) as process:
        await found.play("north", LIVES[JOB_SET][-1])
        out, _ = await process.communicate()

    assert (said.code, said.out) == (0, "")
    assert [line.partition(":")[0] for line in said.err.splitlines()] == ["its-a", "its-b"]
    assert (process.returncode, out) == (0, b"")


async def test_a_mirror_of_a_kind_that_was_switched_off_is_not_promised_to_go(
    lab: Lab, terminal: Terminal
) -> None:
    async with known(lab, JOB_SET), rights(lab, JOB_SET):
        await lab.add_workers()
        async with lab.dispatcher():
            found, _ = await on_north(lab)
        async with lab.dispatcher(kinds=("Job",)):
            await lab.worker("north", lambda obj: obj["status"]["kinds"] == ["Job.batch/v1"])
            here = ("--context", "west", "-n", lab.world.namespace, "-k", "JobSet")
            said = await terminal.out("cancel", found.name, *here)
            assert "its mirror and pods on north stay: the dispatcher does not follow" in said
            await until_none(lab.world.hub, found.scope())
            await found.on("north")
        async with lab.dispatcher():
            await found.gone_from("north")


async def test_a_worker_that_hides_a_kind_says_so_in_the_list(
    lab: Lab, terminal: Terminal
) -> None:
    async with known(lab, JOB_SET), rights(lab, JOB_SET, on_workers=False):
        await lab.add_worker("north")
        async with lab.dispatcher():
            await lab.worker(
                "north", lambda obj: condition(obj, "Connected")["reason"] == "KindsUnseen"
            )
            said = await terminal.out("workers", "-o", "wide", "--context", "west")

    assert f"Takes work. Connected, but not for: {JOB_SET}: we have no rights on it" in said
