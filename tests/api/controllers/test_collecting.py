"""What is left behind is collected; namespaces begin and end."""

from collections.abc import Callable

import pytest

from jobferry.kube.client import Client
from jobferry.kube.resources import CONFIG_MAPS, NAMESPACES
from jobferry.objects import Obj, owners
from jobferry.testing.wait import until, until_gone
from tests.api.controllers.things import (
    ACCOUNTS,
    has,
    is_deleted,
    is_there,
    make,
    names,
)

pytestmark = [pytest.mark.timeout(60)]


async def test_dependents_go_in_the_background(client: Client, place: str) -> None:
    top = await make(client, place, "top")
    middle = await make(client, place, "middle", top)
    await make(client, place, "bottom", middle)
    await make(client, place, "other")

    await client.delete(CONFIG_MAPS, "top", place, propagation="Background")

    await until_gone(client, CONFIG_MAPS, "bottom", place)
    assert await names(client, place) == {"other"}


async def test_an_owner_goes_after_those_that_block_it(client: Client, place: str) -> None:
    top = await make(client, place, "top")
    await make(client, place, "blocking", top, finalizers=["example.com/keep"])
    await make(client, place, "free", top, blocks=False, finalizers=["example.com/keep"])
    await client.delete(CONFIG_MAPS, "top", place, propagation="Foreground")
    await until(client, CONFIG_MAPS, "blocking", place, is_deleted)
    assert "top" in await names(client, place)

    await client.patch(
        CONFIG_MAPS, "blocking", {"metadata": {"finalizers": None}}, namespace=place
    )

    await until_gone(client, CONFIG_MAPS, "top", place)
    await until(client, CONFIG_MAPS, "free", place, is_deleted)
    await client.patch(CONFIG_MAPS, "free", {"metadata": {"finalizers": None}}, namespace=place)


async def test_orphans_stay(client: Client, place: str) -> None:
    top, other = await make(client, place, "top"), await make(client, place, "other")
    await make(client, place, "child", top, other)

    await client.delete(CONFIG_MAPS, "top", place, propagation="Orphan")

    await until_gone(client, CONFIG_MAPS, "top", place)
    child = await client.get(CONFIG_MAPS, "child", place)
    assert [each["name"] for each in child["metadata"]["ownerReferences"]] == ["other"]


async def test_a_circle_of_owners_goes(client: Client, place: str) -> None:
    first = await make(client, place, "first")
    second = await make(client, place, "second", first)
    third = await make(client, place, "third", second)
    reference = owners.owner_reference(third, controller=False)
    body = {"metadata": {"ownerReferences": [reference]}}
    await client.patch(CONFIG_MAPS, "first", body, namespace=place)

    await client.delete(CONFIG_MAPS, "first", place, propagation="Foreground")

    for name in ("first", "second", "third"):
        await until_gone(client, CONFIG_MAPS, name, place)


async def test_an_owner_of_another_uid_is_none(client: Client, place: str) -> None:
    top = await make(client, place, "top")
    reference = {**owners.owner_reference(top, controller=False), "uid": "another"}

    await make(client, place, "stray", ownerReferences=[reference])

    await until_gone(client, CONFIG_MAPS, "stray", place)
    assert await names(client, place) == {"top"}


async def test_one_owner_is_enough_to_stay(client: Client, place: str) -> None:
    one, other = await make(client, place, "one"), await make(client, place, "other")
    await make(client, place, "child", one, other)

    await client.delete(CONFIG_MAPS, "one", place, propagation="Background")

    await until(
        client,
        CONFIG_MAPS,
        "child",
        place,
        lambda found: len(found["metadata"]["ownerReferences"]) == 1,
    )
    await client.delete(CONFIG_MAPS, "other", place, propagation="Foreground")
    await until_gone(client, CONFIG_MAPS, "child", place)


async def test_a_namespace_tells_what_keeps_it_and_goes(client: Client, place: str) -> None:
    await make(client, place, "kept", finalizers=["example.com/keep"])
    await client.delete(NAMESPACES, place)

    found = await until(client, NAMESPACES, place, None, has("NamespaceFinalizersRemaining"))

    told = {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in found["status"]["conditions"]
    }
    assert told == {
        "NamespaceDeletionDiscoveryFailure": (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 1 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            (
                "Some content in the namespace has finalizers remaining: "
                "example.com/keep in 1 resource instances"
            ),
        ),
    }
    await client.patch(CONFIG_MAPS, "kept", {"metadata": {"finalizers": None}}, namespace=place)
    await until_gone(client, NAMESPACES, place)


async def test_the_account_and_the_certificate_come_back(client: Client, place: str) -> None:
    certificate = await until(client, CONFIG_MAPS, "kube-root-ca.crt", place, is_there)
    account = await client.get(ACCOUNTS, "default", place)
    assert set(certificate["data"]) == {"ca.crt"}
    assert "BEGIN CERTIFICATE" in certificate["data"]["ca.crt"]
    assert list(certificate["metadata"]["annotations"]) == ["kubernetes.io/description"]

    def is_new(of: Obj) -> Callable[[Obj], bool]:
        return lambda found: found["metadata"]["uid"] != of["metadata"]["uid"]

    await client.delete(ACCOUNTS, "default", place)
    await until(client, ACCOUNTS, "default", place, is_new(account))
    await client.patch(
        CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "x"}}, namespace=place
    )
    await until(
        client,
        CONFIG_MAPS,
        "kube-root-ca.crt",
        place,
        lambda found: found["data"] == certificate["data"],
    )
