"""Jobs come to the same end whoever runs them: kube-controller-manager, or our own controller."""

import asyncio
import json
import operator
import sys
from collections.abc import Callable
from contextlib import suppress
from difflib import unified_diff
from functools import partial
from pathlib import Path
from pprint import pformat
from secrets import token_hex

import pytest
import yaml

from jobferry.clock import SystemClock
from jobferry.kube.client import Client, connect
from jobferry.localkube.controllers.job import external
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from tests.system import virtual
from tests.system.job_scenarios import FAILING, POLICIES, SIMPLE
from tests.system.job_scenarios_changed import CHANGED
from tests.system.job_stage import Audience, Scenario, Stage, Stuck, playing, short

ALL = [*SIMPLE, *FAILING, *POLICIES, *CHANGED]
MINE = "example.com/mine"
REPEATED = ("Suspended:", "Resumed:")
WRITES = {"create", "update", "patch", "delete"}
RBAC = "rbac.authorization.k8s.io"
CLUSTER_ROLES = Resource(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDINGS = Resource(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)


@pytest.mark.parametrize("scenario", ALL, ids=lambda scenario: scenario.name)
async def test_on_localkube(scenario: Scenario) -> None:
    async with (
        virtual.cluster() as cluster,
        virtual.running_jobs(cluster.client()),
        cluster.client() as client,
        playing(client) as audience,
    ):
        seen = await Stage(audience, scenario, "stage", None).play()

    assert short(seen) == scenario.seen


@pytest.mark.kube
@pytest.mark.timeout(300)
async def test_on_a_real_control_plane() -> None:
    """All at once, each twice: run by kube-controller-manager, and by ours beside it."""
    clock = SystemClock()
    async with ControlPlane(controllers=JOB_CONTROLLERS, audit=True) as plane:
        async with (
            connect(plane.access(), name="plane", clock=clock) as client,
            connect(plane.access("ours"), name="ours", clock=clock) as ours,
            supervise.tasks("ours", clock=clock) as tasks,
        ):
            await grant(client, "ours")
            tasks.start("job controller", partial(external.run, ours, MINE))
            seen = await play_all(client)
        refused = refusals(plane, "ours")

    wrong = [line for scenario in ALL for line in differences(scenario, *seen[scenario.name])]
    assert not wrong, "\n".join(["", *wrong])
    # Somebody was faster, or a pod was gone already; but never a status that breaks a rule.
    assert set(refused) <= {404, 409}, refused


async def grant(client: Client, user: str) -> None:
    """Give a user the rights that the manual asks for."""
    manual = Path(__file__).parents[3] / "docs" / "job-controller.md"
    role = yaml.safe_load(manual.read_text().split("```yaml")[1].split("```")[0])
    await client.create(CLUSTER_ROLES, role)
    binding = {
        "metadata": {"name": user},
        "roleRef": {
            "apiGroup": CLUSTER_ROLES.group,
            "kind": CLUSTER_ROLES.kind,
            "name": role["metadata"]["name"],
        },
        "subjects": [{"kind": "User", "name": user, "apiGroup": CLUSTER_ROLES.group}],
    }
    await client.create(BINDINGS, binding)


async def play_all(client: Client) -> dict[str, tuple[Obj, Obj]]:
    async with playing(client) as audience, asyncio.TaskGroup() as group:
        tasks = {
            scenario.name: group.create_task(play_both(audience, number, scenario))
            for number, scenario in enumerate(ALL)
        }
    return {name: task.result() for name, task in tasks.items()}


async def play_both(audience: Audience, number: int, scenario: Scenario) -> tuple[Obj, Obj]:
    theirs = Stage(audience, scenario, f"theirs-{number}", None)
    ours = Stage(audience, scenario, f"ours-{number}", MINE)
    async with asyncio.TaskGroup() as group:
        group.create_task(play(theirs, lambda seen: short(told_once(seen))))
        group.create_task(play(ours, short))

    def both() -> tuple[Obj, Obj]:
        return told_once(theirs.seen()), ours.seen()

    # Each kind of object has a watch of its own: a finalizer may seem to be there though its Job is over.
    namespaces = theirs.namespace, ours.namespace
    await audience.until(lambda: operator.eq(*both()), *namespaces, within=30)
    return both()


async def play(stage: Stage, look: Callable[[Obj], str]) -> None:
    with suppress(Stuck):  # then something else is seen, and that says more
        await stage.play(look)


def told_once(seen: Obj) -> Obj:
    """Leave out what kube-controller-manager says again.

    It says that a Job is suspended or resumed before it writes that, and again if it meets a newer Job then.
    """
    events = {
        words: 1 if words.split()[1] in REPEATED else count
        for words, count in seen["events"].items()
    }
    return {**seen, "events": events}


def differences(scenario: Scenario, theirs: Obj, ours: Obj) -> list[str]:
    """Say in few lines who did what else than the other or than was to be seen."""
    wrong = [
        f"{scenario.name}: {who}\n  wanted {scenario.seen}\n  seen   {short(seen)}"
        for who, seen in (("theirs", theirs), ("ours", ours))
        if short(seen) != scenario.seen
    ]
    if not wrong and theirs != ours:
        before, after = (pformat(seen, width=160).splitlines() for seen in (theirs, ours))
        changes = unified_diff(before, after, "theirs", "ours", n=0, lineterm="")
        wrong = [f"{scenario.name}: ours differs from theirs", *changes]
    return wrong


def refusals(plane: ControlPlane, user: str) -> list[int]:
    """Return the codes of a user's writes that were refused."""
    entries = [json.loads(line) for line in plane.audit_log.read_text().splitlines()]
    codes = [
        entry.get("responseStatus", {}).get("code", 0)
        for entry in entries
        if entry["user"]["username"] == user and entry["verb"] in WRITES
    ]
    assert codes, f"nothing of {user} in the audit log"
    return [code for code in codes if code >= 400]


@pytest.mark.api
async def test_the_command_runs_the_jobs_that_name_it(
    plane: ControlPlane, cluster: Client
) -> None:
    config = str(plane.kubeconfig_file)
    command = [sys.executable, "-m", "jobferry", "job-controller"]
    name = f"example.com/{token_hex(4)}"
    plane.run(name.replace("/", "-"), [*command, "--name", name, "--kubeconfig", config])
    async with playing(cluster) as audience:
        stage = Stage(audience, SIMPLE[1], f"command-{token_hex(4)}", name)
        seen = await stage.play()

    assert short(seen) == SIMPLE[1].seen
