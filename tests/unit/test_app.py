import pytest

from jobferry import app
from jobferry.errors import BadInput
from jobferry.kube.command import Command
from jobferry.settings import Lease, Namespaces, Settings

HERE = ("ml", "batch", "kube-system", "kube-public", "jobferry-system")
OWN = Lease(namespace="batch")


@pytest.mark.parametrize(
    ("said", "travels"),
    [
        (Namespaces(), {"ml"}),
        (Namespaces(deny=("m*",)), set()),
        (Namespaces(allow=("*",)), {*HERE}),
        (Namespaces(allow=("*",), deny=("kube-*",)), {"ml", "batch", "jobferry-system"}),
        (Namespaces(allow=("kube-system", "ml")), {"kube-system", "ml"}),
    ],
)
def test_the_clusters_own_namespaces_and_ours_go_nowhere_unless_they_are_named(
    said: Namespaces, travels: set[str]
) -> None:
    bounds = app.bounds(Settings(namespaces=said, lease=OWN))

    assert {each for each in HERE if bounds.let(each)} == travels


def test_exec_plugins_are_whole_command_lines() -> None:
    rules = app._rules(Settings(exec_plugins=("aws", "A=1 gke *")), frozenset())

    # What once was a program with any arguments is now one without.
    allowed = {Command("aws"), Command("gke", ("*",), (("A", "1"),))}
    assert rules.policy.programs == frozenset(allowed)


def test_a_command_line_that_makes_no_sense_is_told_by_the_name_of_its_setting() -> None:
    with pytest.raises(BadInput, match=r"^execPlugins: 'A=1': a command line must name"):
        app._rules(Settings(exec_plugins=("A=1",)), frozenset())
