import pytest

from jobferry.localkube.apiserver.admission.request import CONNECT, CREATE, DELETE, UPDATE
from jobferry.localkube.apiserver.status import StatusError
from tests.unit.localkube.apiserver.admission.admission_world import (
    World,
    admission,
    request,
    world,
)

BODY = {"metadata": {"name": "m", "namespace": "ns"}}


def going() -> World:
    made = world()
    made.put("namespaces", {"metadata": {"name": "ns"}, "status": {"phase": "Terminating"}})
    return made


@pytest.mark.parametrize("operation", [CREATE, UPDATE])
async def test_a_namespace_that_is_not_there_is_not_found(operation: str) -> None:
    with pytest.raises(StatusError) as caught:
        await admission(World()).admit(request("configmaps", BODY, operation))

    status = caught.value.status()
    assert status["message"] == 'namespaces "ns" not found'
    assert (status["code"], status["details"]) == (404, {"name": "ns", "kind": "namespaces"})


async def test_a_namespace_that_goes_takes_nothing_new() -> None:
    with pytest.raises(StatusError) as caught:
        await admission(going()).admit(request("configmaps", BODY))

    status = caught.value.status()
    assert status["code"] == 403
    assert status["message"] == (
        'configmaps "m" is forbidden: '
        "unable to create new content in namespace ns because it is being terminated"
    )
    assert status["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace ns is being terminated",
            "field": "metadata.namespace",
        }
    ]


@pytest.mark.parametrize("operation", [UPDATE, DELETE, CONNECT])
async def test_what_is_there_may_change_and_go_with_its_namespace(operation: str) -> None:
    await admission(going()).admit(request("configmaps", BODY, operation))


async def test_who_has_no_name_yet_is_called_by_its_prefix() -> None:
    body = {"metadata": {"generateName": "g-"}}

    with pytest.raises(StatusError, match=r'^configmaps "g-" is forbidden'):
        await admission(going()).admit(request("configmaps", body))
    with pytest.raises(StatusError, match=r'^configmaps "Unknown" is forbidden'):
        await admission(going()).admit(request("configmaps", {}))


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
async def test_some_namespaces_cannot_be_deleted(name: str) -> None:
    asked = request("namespaces", None, DELETE, name=name, namespace=name)

    with pytest.raises(StatusError) as caught:
        await admission(World()).admit(asked)

    said = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    assert str(caught.value) == said


async def test_other_namespaces_come_and_go() -> None:
    made = admission(World())

    await made.admit(request("namespaces", BODY, CREATE, namespace="m"))
    await made.admit(request("namespaces", None, DELETE, name="m", namespace="m"))


async def test_what_is_in_no_namespace_needs_none() -> None:
    await admission(World()).admit(request("priorityclasses", BODY, namespace=""))
