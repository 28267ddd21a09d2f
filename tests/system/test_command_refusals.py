"""The daily commands where something is wrong: one line, a hint, and the exit code that the page promises."""

from pathlib import Path

import pytest

from jobferry.kube.resources import JOBS
from jobferry.testing.component import free_port
from tests.system.fleet import Fleet
from tests.system.jobs import job
from tests.system.terminal import NOBODY, Terminal
from tests.system.world import World

pytestmark = [pytest.mark.fleet("processes"), pytest.mark.timeout(120)]

# What goes wrong

ASKING = (
    ("jobs",),
    ("workers",),
    ("queues",),
    ("top",),
    ("why", "x"),
    ("describe", "x"),
    ("wait", "x"),
    ("cancel", "x"),
    ("logs", "x"),
    ("submit", "--", "x"),
    ("workers", "remove", "x"),
    ("workers", "drain", "x"),
    ("workers", "test", "x"),
)


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
async def test_who_may_nothing_is_told_which_right_is_missing(
    fleet: Fleet, tmp_path: Path, words: tuple[str, ...]
) -> None:
    terminal = Terminal(tmp_path, {"hub": fleet.planes["hub"].kubeconfig(NOBODY)})

    told = await terminal.refused(*words, code=1)

    assert 'User "nobody" cannot' in told
    assert "hint: Grant the verb" in told


@pytest.mark.parametrize(
    "words", [each for each in ASKING if each[-1] == "x" and each[0] != "submit"], ids=" ".join
)
async def test_a_name_that_is_not_there_is_told(
    terminal: Terminal, words: tuple[str, ...]
) -> None:
    told = await terminal.refused(*words, code=1)

    assert "there is no " in told
    assert "lists those that are there" in told


async def test_a_name_that_is_nearly_right_is_offered(world: World, terminal: Terminal) -> None:
    await world.submit(job("training"))

    told = await terminal.refused("describe", "trainin", "-n", world.namespace, code=1)

    assert "Is training meant?" in told


async def test_a_context_that_is_not_there_is_told(terminal: Terminal) -> None:
    told = await terminal.refused("jobs", "--context", "nowhere", code=2)

    assert "there is none named 'nowhere'" in told
    assert "Those that exist: east, hub, west." in told


async def test_a_hub_that_does_not_answer_is_told(terminal: Terminal, fleet: Fleet) -> None:
    config = terminal.kubeconfig.read_text()
    url = fleet.planes["hub"].url
    terminal.kubeconfig.write_text(
        config.replace(url, f"https://127.0.0.1:{free_port('127.0.0.1')}")
    )

    for words in (("jobs",), ("submit", "--", "x"), ("why", "x"), ("workers", "test", "x")):
        told = await terminal.refused(*words, code=1)
        assert "hint: Check that the server in the kubeconfig is right" in told


async def test_ctrl_c_ends_the_waiting_and_not_the_job(
    world: World, terminal: Terminal
) -> None:
    nowhere = {"selector": {"matchLabels": {"name": "nowhere"}}}
    queue = await world.queue("nowhere", workers=nowhere)
    words = ("submit", "--name=stays", f"--queue={queue}", "--wait", "-n", world.namespace)

    async with terminal.started(*words, "--", "x") as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"stays\n"
        ended = await terminal.interrupted(process)

    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "stays goes on: `jobferry wait stays` waits for it again.\n"
    assert await world.hub.get(JOBS, "stays", world.namespace)
