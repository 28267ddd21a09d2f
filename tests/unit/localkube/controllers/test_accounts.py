"""Namespaces get the account and the certificate that pods start with."""

from pathlib import Path

import pytest

from jobferry.kube.resources import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS
from jobferry.localkube.controllers import accounts
from jobferry.objects import Obj
from tests.unit.localkube.controllers.world import ROOT_CA, cluster


async def test_every_namespace_has_an_account_and_the_certificate(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.namespace("new")

        for place in ("default", "kube-system", "new"):
            assert await world.find(SERVICE_ACCOUNTS, "default", place)
            found = await world.find(CONFIG_MAPS, "kube-root-ca.crt", place)
            assert found
            assert found["data"] == {"ca.crt": ROOT_CA}
            assert accounts.DESCRIPTION in found["metadata"]["annotations"]


async def test_what_is_deleted_or_changed_is_made_again(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.client.delete(SERVICE_ACCOUNTS, "default", "default")
        await world.client.delete(CONFIG_MAPS, "kube-root-ca.crt", "default")
        body = {"data": {"ca.crt": "forged", "more": "x"}}
        await world.client.patch(CONFIG_MAPS, "kube-root-ca.crt", body, namespace="kube-system")
        await world.settle()

        assert await world.find(SERVICE_ACCOUNTS, "default")
        for place in ("default", "kube-system"):
            found = await world.find(CONFIG_MAPS, "kube-root-ca.crt", place)
            assert found
            assert found["data"] == {"ca.crt": ROOT_CA}


async def test_nothing_is_made_in_a_namespace_that_goes(tmp_path: Path) -> None:
    async with cluster(tmp_path, without=frozenset({"namespaces"})) as world:
        await world.namespace("old")
        await world.client.delete(NAMESPACES, "old")
        await world.client.delete(SERVICE_ACCOUNTS, "default", "old")
        await world.settle()

        assert await world.find(SERVICE_ACCOUNTS, "default", "old") is None


@pytest.mark.parametrize(
    ("found", "patched"),
    [
        (
            {
                "data": {"ca.crt": "pem"},
                "metadata": {"annotations": {accounts.DESCRIPTION: "x"}},
            },
            None,
        ),
        ({"metadata": {}}, {"ca.crt": "pem"}),
        ({"data": {"ca.crt": "pem"}, "metadata": {}}, {"ca.crt": "pem"}),
        ({"data": {"a": "b"}, "metadata": {}}, {"a": None, "ca.crt": "pem"}),
    ],
)
def test_a_certificate_is_corrected_only_if_it_is_wrong(
    found: Obj, patched: Obj | None
) -> None:
    body = accounts.correction(found, "pem")

    assert (body and body["data"]) == patched
