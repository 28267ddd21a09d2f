"""The daily commands against a fleet: what they show, what they change, and how they end."""

import json
from pathlib import Path

import pytest

from jobferry.dispatch import manifests
from jobferry.kube.calls import Scope
from jobferry.kube.resources import JOBS, LEASES, SECRETS
from jobferry.settings import Settings
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from jobferry.workers.resource import WORKERS
from tests.system.fleet import RESOURCES, Fleet
from tests.system.jobs import FOREVER, complete, job, runs
from tests.system.lab import Lab
from tests.system.terminal import NOBODY, Terminal
from tests.system.world import World, named, until_none

pytestmark = [pytest.mark.fleet("processes"), pytest.mark.timeout(120)]


# Jobs


async def test_a_job_from_submit_to_cancel(world: World, terminal: Terminal) -> None:
    here = ("-n", world.namespace)

    made = await terminal.run(
        "submit", *here, "--name=sweep", "--completions=3", "--wait", "--timeout=60s", "--", "x"
    )
    assert (made.code, made.out) == (0, "sweep\n")
    assert made.err.startswith("sweep is complete on ")
    where = await world.where("sweep")

    listed = (await terminal.out("jobs", *here)).splitlines()
    assert listed[0].split() == ["NAME", "STATUS", "WORKER", "ATTEMPT", "PROGRESS", "AGE"]
    assert listed[1].split()[:5] == ["sweep", "Complete", where, "1", "3/3"]
    assert f"Placed on worker {where}" in await terminal.out("describe", "sweep", *here)
    assert await terminal.out("wait", "sweep", *here) == f"sweep is complete on {where}: 3/3\n"
    assert "has ended on" in await terminal.out("why", "sweep", *here)

    said = await terminal.out("cancel", "sweep", *here)
    assert said.startswith("sweep is cancelled")
    await until_none(world.hub, named(JOBS, "sweep", world.namespace))
    await world.gone("sweep")


async def test_jobs_are_chosen_and_shown_as_by_kubectl(
    world: World, terminal: Terminal
) -> None:
    here = ("-n", world.namespace)
    await world.run(job("one"), complete)
    await world.submit(job("home", manager=None))
    await world.edit("one", {"metadata": {"labels": {"team": "ml"}}})

    assert await terminal.out("jobs", *here, "-o", "name") == "job.batch/home\njob.batch/one\n"
    assert await terminal.out("jobs", *here, "-l", "team=ml", "-o", "name") == "job.batch/one\n"
    one = json.loads(await terminal.out("jobs", "one", *here, "-o", "json"))
    assert (one["kind"], one["metadata"]["name"]) == ("Job", "one")
    both = json.loads(await terminal.out("jobs", *here, "-o", "json"))
    assert [each["metadata"]["name"] for each in both["items"]] == ["home", "one"]
    assert "kind: List" in await terminal.out("jobs", *here, "-o", "yaml")
    wide = await terminal.out("jobs", "-A", "-o", "wide")
    assert wide.split()[:2] == ["NAMESPACE", "NAME"]
    assert world.namespace in wide
    home = next(
        line for line in (await terminal.out("jobs", *here)).splitlines() if "home" in line
    )
    assert home.split()[2] == "<hub>"
    none = await terminal.run("jobs", "-n", world.namespace, "-l", "team=none")
    assert (none.code, none.out) == (0, "")
    assert none.err == f"No Jobs with these labels in namespace {world.namespace}.\n"


async def test_watching_jobs_prints_each_change_until_ctrl_c(
    world: World, terminal: Terminal
) -> None:
    await world.run(job("first", seconds=FOREVER), runs(1))

    async with terminal.started("jobs", "-w", "-n", world.namespace) as process:
        assert process.stdout is not None
        assert (await process.stdout.readline()).startswith(b"NAME ")
        assert (await process.stdout.readline()).split()[:2] == [b"first", b"Running"]
        await world.submit(job("second"))
        while b"second Complete" not in b" ".join((await process.stdout.readline()).split()):
            pass
        ended = await terminal.interrupted(process)

    assert (ended.code, ended.err) == (130, "")


async def test_a_job_that_fits_nowhere_is_explained(world: World, terminal: Terminal) -> None:
    here = ("-n", world.namespace)
    nowhere = {"selector": {"matchLabels": {"name": "nowhere"}}}
    queue = await world.queue("nowhere", workers=nowhere)
    await terminal.out("submit", "--name=stuck", f"--queue={queue}", *here, "--", "x")

    late = await terminal.refused("wait", "stuck", "--timeout=100ms", *here, code=4)
    assert "stuck has not ended within 0.1 s" in late
    assert "`jobferry why stuck`" in late
    told = await terminal.out("why", "stuck", *here)
    assert f"{world.namespace}/stuck waits for a worker" in told
    assert "it is number 1 of 1" in told
    for name in ("east", "west"):
        assert f"{name}     no     its queue does not use it" in told
    found = json.loads(await terminal.out("why", "stuck", *here, "-o", "json"))
    assert found["line"] == {"place": 1, "length": 1}
    assert found["choice"] is None
    assert (await terminal.out("jobs", *here)).splitlines()[1].split()[1:3] == [
        "Waiting",
        "<none>",
    ]
    await world.event("stuck", "NoWorker")
    wide = (await terminal.out("jobs", *here, "-o", "wide")).splitlines()[1]
    assert "No worker can take it" in wide
    assert "no logs yet" in await terminal.refused("logs", "stuck", *here, code=1)
    assert "before it was placed" in await terminal.out("cancel", "stuck", *here)


async def test_a_job_that_fails_is_an_exit_code(world: World, terminal: Terminal) -> None:
    await world.submit(job("bad", exit_code=1, backoffLimit=0))

    ended = await terminal.run("wait", "bad", "-n", world.namespace)

    assert ended.code == 3
    assert ended.out.startswith("bad has failed on ")
    assert ended.err.splitlines()[0] == "jobferry: bad failed"


async def test_a_job_that_is_deleted_is_not_waited_for(
    world: World, terminal: Terminal
) -> None:
    await world.run(job("long", seconds=FOREVER), runs(1))

    async with terminal.started("wait", "long", "-n", world.namespace) as waiting:
        at_first = terminal.run("wait", "long", "--for=running", "-n", world.namespace)
        assert (await at_first).out.startswith("long runs on ")
        await world.delete("long")
        _, err = await waiting.communicate()

    assert waiting.returncode == 1
    assert err.startswith(b"jobferry: ")
    assert b"long" in err


async def test_what_is_not_delegated_is_left_alone(world: World, terminal: Terminal) -> None:
    here = ("-n", world.namespace)
    await world.submit(job("home", manager=None))

    assert "not delegated" in await terminal.refused("why", "home", *here, code=2)
    assert "kubectl delete job home" in await terminal.refused("cancel", "home", *here, code=2)
    assert "Delegated:  no" in await terminal.out("describe", "home", *here)


async def test_who_may_list_but_not_follow_is_told(
    world: World, fleet: Fleet, tmp_path: Path
) -> None:
    rules = [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get", "list"]}]
    role = {"metadata": {"name": "lists"}, "rules": rules}
    await world.hub.create(RESOURCES["Role"], role, namespace=world.namespace)
    bound = {
        "metadata": {"name": "lists"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lists"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "lister"}
        ],
    }
    await world.hub.create(RESOURCES["RoleBinding"], bound, namespace=world.namespace)
    await world.submit(job("long", seconds=FOREVER))
    lister = Terminal(tmp_path, {"hub": fleet.planes["hub"].kubeconfig("lister")})

    for words in (("wait", "long"), ("jobs", "-w")):
        told = await lister.refused(*words, "-n", world.namespace, code=1)
        assert 'User "lister" cannot watch' in told


async def test_a_hub_without_a_dispatcher_is_told(lab: Lab, terminal: Terminal) -> None:
    here = ("--context", "west", "-n", lab.world.namespace)
    await lab.add_worker("north")
    async with lab.dispatcher():
        await lab.world.run(job("long", seconds=FOREVER), runs(1))
    old = {"renewTime": "2020-01-01T00:00:00.000000Z", "leaseDurationSeconds": 15}
    name, namespace = Settings().lease_name, "jobferry-system"
    await lab.world.hub.patch(LEASES, name, {"spec": old}, namespace=namespace)

    commands = (("jobs",), ("describe", "long"), ("cancel", "long"))
    told = [await terminal.run(*words, *here) for words in commands]

    for each in told:
        assert each.code == 0
        assert each.err.startswith("No dispatcher seems to run: its Lease was last renewed")
    assert told[-1].out.endswith("pods on north go, too as soon as a dispatcher runs\n")


# Workers and queues


async def test_workers_queues_and_their_load_are_shown(
    world: World, terminal: Terminal
) -> None:
    queue = await world.queue("q", namespaces=[world.namespace], placement="Pack")

    workers = (await terminal.out("workers")).splitlines()
    assert [line.split()[:3] for line in workers[1:]] == [
        ["east", "True", "Ready"],
        ["west", "True", "Ready"],
    ]
    names = "worker.jobferry.io/east\nworker.jobferry.io/west\n"
    assert await terminal.out("workers", "list", "-o", "name") == names
    assert await terminal.out("workers", "-l", "name=east", "-o", "name") == names[:24]
    assert json.loads(await terminal.out("workers", "east", "-o", "json"))["kind"] == "Worker"
    shown = await terminal.out("queues", queue)
    assert shown.splitlines()[1].split()[:4] == [queue, world.namespace, "all", "Pack"]
    top = json.loads(await terminal.out("top", "-o", "json"))
    assert [each["name"] for each in top["workers"]] == ["east", "west"]
    assert "for a worker." in await terminal.out("top")
    assert "hub v1." in await terminal.out("version")


async def test_a_worker_is_tested_with_its_own_kubeconfig(
    world: World, terminal: Terminal
) -> None:
    found = (await terminal.out("workers", "test", "east")).splitlines()

    verdicts = {line.split()[0]: line.split()[1] for line in found[1:]}
    assert verdicts.pop("references") == "unknown"
    assert {*verdicts} == {"reach", "version", "kinds", "identity", "rights", "namespaces"}
    assert {*verdicts.values()} == {"ok"}


async def test_a_worker_is_drained_and_removed(lab: Lab, terminal: Terminal) -> None:
    at_hub = ("--context", "west")
    await lab.add_worker("north")

    async def drain() -> str:
        return str((await lab.world.hub.get(WORKERS, "north"))["spec"]["drain"])

    said = await terminal.out("workers", "drain", "north", *at_hub)
    assert "it has no unfinished work, and nothing new comes" in said
    assert await drain() == "NoNewWork"
    assert "no unf" in await terminal.out("workers", "drain", "north", "--move-away", *at_hub)
    assert await drain() == "MoveAway"
    assert "again" in await terminal.out("workers", "undrain", "north", *at_hub)
    assert await drain() == "None"
    assert "was not drained" in await terminal.out("workers", "undrain", "north", *at_hub)
    said = await terminal.out("workers", "remove", "north", *at_hub)
    assert said.splitlines()[0] == "Worker north is removed."
    await until_none(lab.world.hub, named(WORKERS, "north"))


async def test_a_context_becomes_a_worker_that_runs_jobs(lab: Lab, terminal: Terminal) -> None:
    add = ("workers", "add", "new", "--from-context", "east", "--context", "west")

    asked = await terminal.run(*add)
    assert asked.code == 2
    assert asked.err.splitlines()[-1] == "hint: --yes makes it without asking."
    assert {line.split()[0] for line in asked.out.splitlines()[1:]} == {
        *("address", "version", "kinds", "identity", "namespaces", "rights")
    }
    await until_none(lab.world.hub, named(WORKERS, "new"))

    made = await terminal.out(*add, "--yes", "--create-namespaces")
    assert "Worker new is added" in made
    spec = (await lab.world.hub.get(WORKERS, "new"))["spec"]
    assert spec["namespaces"]["create"] is True
    async with lab.dispatcher():
        await lab.world.run(job("first"), complete)
        assert await lab.world.where("first") == "new"
        same = ("workers", "add", "same", "--from-context", "east", "--context", "west")
        twice = await terminal.run(*same, "--yes")
        assert "the same cluster as Worker new" in twice.err
        tested = await terminal.out("workers", "test", "new", "--context", "west")
        assert "failed" not in tested
    taken = await terminal.refused(*add, "--yes", code=2)
    assert "the name is taken" in taken


async def test_a_new_worker_may_look_for_what_was_chosen(lab: Lab, terminal: Terminal) -> None:
    add = ("workers", "add", "seer", "--from-context", "east", "--context", "west", "--yes")
    east = lab.world.workers["north"]
    try:
        await terminal.out(*add, "--references", "most")
        tested = await terminal.out("workers", "test", "seer", "--context", "west")
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            given = Scope(resource=RESOURCES[kind], labels=manifests.ON_WORKERS)
            for each in (await east.list(given)).items:
                await east.delete(RESOURCES[kind], each["metadata"]["name"])

    assert "whether it has the Secret that workloads refer to is not ours to see" in tested


@pytest.mark.kube
async def test_a_real_cluster_that_has_nothing_of_ours_becomes_a_worker(
    lab: Lab, fleet: Fleet, tmp_path: Path
) -> None:
    configs = {"west": fleet.planes["west"].kubeconfig()}
    tokens = "serviceaccount-token-controller"
    async with ControlPlane(controllers=(*JOB_CONTROLLERS, tokens)) as fresh:
        terminal = Terminal(tmp_path, {**configs, "fresh": fresh.kubeconfig()})

        said = await terminal.out("workers", "add", "fresh", "--from-context", "fresh", "--yes")

        assert "Its token ends on" not in said
        async with lab.dispatcher():
            tested = await terminal.out("workers", "test", "fresh")
            assert "failed" not in tested
        secret = await lab.world.hub.get(SECRETS, "fresh", "jobferry-system")
        assert secret["metadata"]["ownerReferences"][0]["name"] == "fresh"


async def test_a_cluster_that_cannot_be_a_worker_is_refused_before_anything_is_made(
    lab: Lab, fleet: Fleet, tmp_path: Path
) -> None:
    configs = {name: fleet.planes[name].kubeconfig() for name in ("west", "east")}
    nobody = fleet.planes["east"].kubeconfig(NOBODY)
    terminal = Terminal(tmp_path, {**configs, "nobody": nobody})

    itself = await terminal.run("workers", "add", "other", "--from-context", "west", "--yes")
    powerless = await terminal.run(
        "workers", "add", "other", "--from-context", "nobody", "--yes"
    )
    unknown = await terminal.run("workers", "add", "other", "--from-context", "x", "--yes")

    assert (itself.code, powerless.code, unknown.code) == (1, 1, 2)
    assert "it is the hub itself" in itself.err
    assert "forbidden" in powerless.err.lower()
    assert "there is none named 'x'" in unknown.err
    await until_none(lab.world.hub, named(WORKERS, "other"))
