import asyncio
import json
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from jobferry.clock import Clock
from jobferry.errors import BadInput, Transient
from jobferry.kube import exec_plugin
from jobferry.kube.access import Identity
from jobferry.kube.document import Node, Source
from jobferry.kube.exec_plugin import Plugin
from jobferry.testing.certificates import Authority
from jobferry.testing.clock import ManualClock
from tests.unit.kube.exec_nodes import PLACE, V1, exec_node, read

PAIR = Authority(datetime(2026, 1, 1, tzinfo=UTC)).client("ann")


def credential(**status: Any) -> str:
    return json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status})


def plugin(*command: str) -> Plugin:
    program, *arguments = command
    return Plugin(
        place=PLACE,
        command=program,
        arguments=tuple(arguments),
        environ=os.environ,
        api_version=V1,
    )


def script(text: str, *arguments: str) -> Plugin:
    return plugin(sys.executable, "-c", text, *arguments)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def refusal(asked: Plugin, clock: Clock) -> str:
    with pytest.raises(Transient) as caught:
        await asked.ask(clock)
    message = str(caught.value)
    assert message.startswith(f"{PLACE}: {sys.executable}: ")
    assert len(message.splitlines()) == 1
    return message.removeprefix(f"{PLACE}: {sys.executable}: ")


async def test_a_token_is_issued(clock: ManualClock) -> None:
    issued = await script(f"print({credential(token='abc')!r})").ask(clock)

    assert issued.identity == Identity(authorization="Bearer abc")
    assert issued.renew_at is None


async def test_a_certificate_is_issued(clock: ManualClock) -> None:
    printed = credential(
        clientCertificateData=PAIR.certificate.decode(), clientKeyData=PAIR.key.decode()
    )

    issued = await script(f"print({printed!r})").ask(clock)

    assert issued.identity == Identity(certificate=PAIR.certificate, key=PAIR.key)


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("", "did not print an ExecCredential: Input data was truncated"),
        ("Please log in", "did not print an ExecCredential: JSON is malformed"),
        ("[]", "did not print an ExecCredential: Expected `object`, got `array`"),
        ("\udcff", "did not print an ExecCredential: "),
        (credential(token="a") * 2, "did not print an ExecCredential: JSON is malformed"),
        (credential(token=12), r"Expected `str`, got `int` - at `\$.status.token`"),
        (credential(token="a", expirationTimestamp="soon"), "Invalid RFC3339 encoded datetime"),
        (
            credential(token="a", expirationTimestamp="2030-01-01T00:00:00"),
            "timezone component",
        ),
        (
            f'{{"kind": "ExecCredential", "apiVersion": "{V1}"}}',
            "Object missing required field `status`",
        ),
        (
            credential(token="a").replace("/v1", "/v1beta1"),
            "printed 'ExecCredential' of 'client.authentication.k8s.io/v1beta1'",
        ),
        (credential(token="a").replace("ExecC", "C"), "printed 'Credential' of"),
        (credential(), "gave neither a token nor a certificate"),
        (credential(token=""), "gave neither a token nor a certificate"),
        (credential(token="hunter\n2"), "the token holds characters that no token has"),
        (
            credential(clientKeyData="x"),
            "gave only one of clientCertificateData and clientKeyData",
        ),
        (credential(clientCertificateData="x", clientKeyData="y"), "holds no PEM certificate"),
        (
            credential(clientCertificateData=PAIR.certificate.decode(), clientKeyData="y"),
            "holds no PEM private key",
        ),
        (
            credential(token="a", expirationTimestamp="2025-12-31T23:59:59Z"),
            r"the credential it gave expired at 2025-12-31T23:59:59\+00:00",
        ),
    ],
)
async def test_output_that_is_no_credential_is_refused_in_one_line(
    output: str, problem: str, clock: ManualClock
) -> None:
    text = f"import sys; sys.stdout.buffer.write({os.fsencode(output)!r})"

    message = await refusal(script(text), clock)

    assert re.search(problem, message)
    assert "hunter" not in message


async def test_a_plugin_that_talks_much_is_quoted_in_part(clock: ManualClock) -> None:
    printed = credential(token="a").replace("ExecCredential", "x" * 10_000)

    assert len(await refusal(script(f"print({printed!r})"), clock)) < 300


async def test_a_plugin_that_fails_is_quoted_with_its_last_line(clock: ManualClock) -> None:
    text = "import sys; sys.exit('usage: …\\n\\x1b[31mtoken \\tcache is locked\\n\\n')"

    assert await refusal(script(text), clock) == "exited with 1: [31mtoken cache is locked"


async def test_a_plugin_that_fails_without_a_word_is_reported_by_its_status(
    clock: ManualClock,
) -> None:
    assert await refusal(script("raise SystemExit(3)"), clock) == "exited with 3"
    assert await refusal(script("import os; os.abort()"), clock) == "ended by signal 6"


async def test_a_plugin_that_prints_without_end_is_stopped(clock: ManualClock) -> None:
    text = "import sys\nfor _ in range(100): sys.stdout.write('x' * 2**20)"

    assert await refusal(script(text), clock) == "printed more than 1048576 bytes"


@pytest.mark.parametrize(
    "text",
    [
        "import time; time.sleep(60)",
        "import os, time; os.close(1); time.sleep(60)",
        "import os, time; os.close(1); os.close(2); time.sleep(60)",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)",
        f"import time; print({credential(token='abc')!r}, flush=True); time.sleep(60)",
        "import subprocess; subprocess.Popen(['tail', '-f', '/dev/null'])",
    ],
    ids=["hangs", "closes stdout", "closes all", "ignores SIGTERM", "stays", "leaves a child"],
)
async def test_a_plugin_that_does_not_end_is_stopped(text: str, clock: ManualClock) -> None:
    asking = asyncio.create_task(refusal(script(text), clock))
    await clock.until_waiting()

    clock.advance(exec_plugin.TIMEOUT)

    assert await asking == "no answer within 60 s"


async def test_a_missing_plugin_comes_with_the_hint_how_to_install_it(
    clock: ManualClock,
) -> None:
    node = exec_node(command="no-such-plugin", installHint="Run \x1b[1mbrew install it\n")

    with pytest.raises(
        BadInput, match=f"^{re.escape(PLACE)}: no-such-plugin: no such program$"
    ) as caught:
        await read(node).ask(clock)

    assert caught.value.hint == "Run [1mbrew install it"


async def test_a_plugin_that_is_no_program_is_refused(
    clock: ManualClock, tmp_path: Path
) -> None:
    file = tmp_path / "plugin"
    file.write_text("not executable")

    with pytest.raises(BadInput, match=r"cannot be run: Permission denied$"):
        await plugin(str(file)).ask(clock)


async def test_a_plugin_is_run_with_its_arguments_and_environment(clock: ManualClock) -> None:
    text = f"import os, sys; print({credential(token='T')!r}.replace('T', os.environ['A'] + os.environ['B'] + sys.argv[1]))"
    node = exec_node(
        command=sys.executable, args=["-c", text, "c"], env=[{"name": "B", "value": "b"}]
    )

    issued = await read(node, A="a", B="replaced").ask(clock)

    assert issued.identity.authorization == "Bearer abc"


def told(asked: Plugin) -> Any:
    return json.loads(asked.environ["KUBERNETES_EXEC_INFO"])


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_plugin_is_told_its_version_and_that_there_is_no_terminal(version: str) -> None:
    api_version = f"client.authentication.k8s.io/{version}"

    assert told(read(exec_node(apiVersion=api_version))) == {
        "kind": "ExecCredential",
        "apiVersion": api_version,
        "spec": {"interactive": False},
    }


def test_a_plugin_that_wants_it_is_told_about_the_cluster() -> None:
    config = Node(Source("config"), "…", {"audience": "batch"})

    assert told(read(exec_node(provideClusterInfo=True), config))["spec"]["cluster"] == {
        "server": "https://10.0.0.1:6443",
        "tls-server-name": "api",
        "certificate-authority-data": "LS0gYSBDQSAtLQ==",
        "config": {"audience": "batch"},
    }


def test_what_cannot_be_told_as_json_is_refused() -> None:
    config = Node(Source("config"), "…", {1: {"a", "b"}})

    with pytest.raises(BadInput, match="exec: what the cluster's extension tells"):
        read(exec_node(provideClusterInfo=True), config)


def test_a_command_with_a_folder_starts_from_the_folder_of_the_kubeconfig() -> None:
    assert (
        read(exec_node(Path("/home/ann"), command="bin/plugin")).command
        == "/home/ann/bin/plugin"
    )
    assert read(exec_node(Path("/home/ann"), command="plugin")).command == "plugin"


def test_only_v1_must_say_how_interactive_it_is() -> None:
    beta = f"{V1}beta1"

    read(exec_node(apiVersion=beta, interactiveMode=None))
    with pytest.raises(BadInput, match=r"exec\.interactiveMode: not set$"):
        read(exec_node(interactiveMode=None))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"command": ""}, "command: not set"),
        ({"command": "bin/plugin"}, "command: a relative path"),
        ({"apiVersion": None}, "apiVersion: not set"),
        ({"apiVersion": f"{V1}alpha1"}, f"apiVersion: '{V1}alpha1' is not supported"),
        (
            {"interactiveMode": "Always"},
            "interactiveMode: the plugin needs a terminal, and there is none",
        ),
        ({"interactiveMode": "Maybe"}, "interactiveMode: 'Maybe' is not supported"),
        ({"args": "x"}, "args: expected a list, found text"),
        ({"args": [1]}, r"args\[0\]: expected text, found a number"),
        ({"env": [{"value": "x"}]}, r"env\[0\].name: not the name of a variable"),
        ({"env": [{"name": "a=b"}]}, r"env\[0\].name: not the name of a variable"),
        (
            {"provideClusterInfo": "yes"},
            "provideClusterInfo: expected true or false, found text",
        ),
    ],
)
def test_what_is_written_wrongly_is_refused_by_its_key(
    given: dict[str, Any], problem: str
) -> None:
    with pytest.raises(BadInput, match=f"^{re.escape(PLACE)}.{problem}$"):
        read(exec_node(**given))


def test_a_plugin_is_shown_without_its_arguments_and_environment() -> None:
    node = exec_node(args=["--password=hunter2"])

    assert "hunter2" not in repr(read(node, PASSWORD="hunter2"))
