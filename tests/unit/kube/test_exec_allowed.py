import re
from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.kube import command
from jobferry.kube.document import ANYTHING, Node, Trust
from jobferry.kube.exec_plugin import Plugin
from tests.unit.kube.exec_nodes import PLACE, exec_node, read


def allowing(*lines: str) -> Trust:
    return Trust(files=None, programs=frozenset(map(command.parse, lines)))


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("plugin", "plugin"),
        ("/opt/plugin", "/opt/plugin"),
        ("../opt/plugin", "/home/opt/plugin"),
        ("/opt/x/../plugin", "/opt/plugin"),
    ],
)
def test_a_program_on_the_list_is_run_wherever_files_are_allowed(
    command: str, program: str
) -> None:
    node = exec_node(Path("/home/ann"), allowing("other", program), command=command)

    assert read(node).command == program


@pytest.mark.parametrize("command", ["plug", "Plugin", "./plugin", "/opt/../plugin", "/plugin"])
def test_a_program_that_is_not_on_the_list_is_refused(command: str) -> None:
    node = exec_node(Path("/home/ann"), allowing("plugin", "/opt/plugin"), command=command)

    with pytest.raises(
        BadInput, match=rf"^{re.escape(PLACE)}\.command: refused: '.*' is not one"
    ):
        read(node)


def test_an_empty_list_allows_no_program() -> None:
    with pytest.raises(BadInput, match=r"command: refused: 'plugin' is not one"):
        read(exec_node(policy=allowing()))


EKS = "AWS_PROFILE=ci aws eks get-token --cluster-name *"


def eks(env: dict[str, str], *more: str, policy: Trust = ANYTHING) -> Plugin:
    """Read a plugin that asks for a token of the cluster "east", with more arguments and other variables."""
    args = ["eks", "get-token", "--cluster-name", "east", *more]
    given = [{"name": name, "value": value} for name, value in env.items()]
    return read(exec_node(policy=policy, command="aws", args=args, env=given))


def test_a_command_line_that_is_allowed_is_run() -> None:
    found = eks({"AWS_PROFILE": "ci"}, policy=allowing("other", EKS))

    assert found.arguments == ("eks", "get-token", "--cluster-name", "east")
    assert found.environ["AWS_PROFILE"] == "ci"


@pytest.mark.parametrize("allowed", [("aws",), ("aws eks get-token",), (EKS,)])
def test_a_program_that_is_allowed_gets_no_other_arguments(allowed: tuple[str, ...]) -> None:
    with pytest.raises(BadInput) as caught:
        eks({"AWS_PROFILE": "ci"}, "--endpoint-url=https://hunter2", policy=allowing(*allowed))

    assert str(caught.value) == (
        f"{PLACE}.args: refused: 'aws' is allowed, but not with these 5 arguments; the setting execPlugins"
        " must hold the whole command line, with its variables before the program"
    )


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "LD_PRELOAD",
        "DYLD_INSERT_LIBRARIES",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "NODE_OPTIONS",
        "BASH_ENV",
        "ENV",
        "PERL5LIB",
        "RUBYOPT",
        "JAVA_TOOL_OPTIONS",
        "GIT_SSH_COMMAND",
        "HTTPS_PROXY",
        "AWS_CONFIG_FILE",
    ],
)
def test_a_command_line_gets_no_variable_that_it_was_not_given(name: str) -> None:
    env = {"AWS_PROFILE": "ci", name: "/hunter2"}
    with pytest.raises(BadInput) as caught:
        eks(env, policy=allowing(EKS))

    names = ", ".join(sorted(env))
    assert f"{PLACE}.env: refused: " in str(caught.value)
    assert f"but not with the variables {names}; the setting" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert eks(env).environ[name] == "/hunter2"


def test_a_variable_that_is_pinned_can_be_neither_changed_nor_left_out() -> None:
    for env, given in (
        ({"AWS_PROFILE": "admin"}, "the variables AWS_PROFILE"),
        ({}, "no variables"),
    ):
        with pytest.raises(BadInput, match=f"but not with {given}; "):
            eks(env, policy=allowing(EKS))


def test_a_cluster_tells_a_plugin_only_what_is_allowed_for_all_of_them() -> None:
    def told(policy: Trust, *, provide: bool) -> Plugin:
        node = exec_node(policy=policy, provideClusterInfo=provide)
        extension = Node(node.source, "clusters[0].extension", {"run": "this"})
        return read(node, extension)

    assert "this" in told(ANYTHING, provide=True).environ["KUBERNETES_EXEC_INFO"]
    assert "this" not in told(allowing("plugin"), provide=False).environ["KUBERNETES_EXEC_INFO"]
    with pytest.raises(BadInput, match=r"clusters\[0\].extension: refused: what it tells"):
        told(allowing("plugin"), provide=True)
