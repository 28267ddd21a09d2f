import pytest

from jobferry import app
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
    bounds = app._bounds(Settings(namespaces=said, lease=OWN))

    assert {each for each in HERE if bounds.let(each)} == travels
