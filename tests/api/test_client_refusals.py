"""Every kind of refusal, as a real API server has them."""

from dataclasses import replace

import pytest

from jobferry.clock import SystemClock
from jobferry.kube import calls, errors
from jobferry.kube.access import Access, Fixed, Identity
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import CONFIG_MAPS, JOBS, NODES
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing.control_plane import ControlPlane

pytestmark = pytest.mark.api

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def config_map(name: str, namespace: str, **data: str) -> Obj:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def as_user(access: Access) -> Client:
    return connect(access, name="plane", clock=SystemClock())


async def test_a_taken_name_is_told(cluster: Client, namespace: str) -> None:
    await cluster.create(CONFIG_MAPS, config_map("m", namespace))

    with pytest.raises(errors.AlreadyExists, match=r'^plane: POST .*"m" already exists$'):
        await cluster.create(CONFIG_MAPS, config_map("m", namespace))


async def test_an_object_that_changed_meanwhile_is_told(
    cluster: Client, namespace: str
) -> None:
    read = await cluster.create(CONFIG_MAPS, config_map("m", namespace))
    await cluster.patch(CONFIG_MAPS, "m", {"data": {"a": "1"}}, namespace=namespace)

    with pytest.raises(errors.Conflict, match="the object has been modified"):
        await cluster.update(CONFIG_MAPS, read | {"data": {"a": "2"}})

    version = read["metadata"]["resourceVersion"]
    guarded = {"metadata": {"resourceVersion": version}, "data": {"a": "3"}}
    with pytest.raises(errors.Conflict):
        await cluster.patch(CONFIG_MAPS, "m", guarded, namespace=namespace)


async def test_what_is_wrong_with_an_object_is_told_field_by_field(
    cluster: Client, namespace: str
) -> None:
    template = {"spec": {"containers": [{"name": "A B", "image": "x"}], "restartPolicy": "No"}}
    job = {"metadata": {"name": "j", "namespace": namespace}, "spec": {"template": template}}

    with pytest.raises(errors.Invalid) as caught:
        await cluster.create(JOBS, job)

    fields = {cause.field: cause.reason for cause in caught.value.causes}
    assert fields["spec.template.spec.containers[0].name"] == "FieldValueInvalid"
    assert fields["spec.template.spec.restartPolicy"] == "FieldValueNotSupported"
    assert "\n" not in str(caught.value)


async def test_an_unknown_field_is_refused_where_that_is_asked_for(
    cluster: Client, namespace: str
) -> None:
    obj = config_map("m", namespace) | {"dta": {}}

    with pytest.raises(errors.BadRequest, match='unknown field "dta"'):
        await cluster.create(CONFIG_MAPS, obj, field_validation="Strict")
    assert "dta" not in await cluster.create(CONFIG_MAPS, obj)


async def test_an_unknown_kind_is_told(cluster: Client) -> None:
    unknown = Resource("example.com", "v1", "widgets", "Widget")

    with pytest.raises(errors.NotFound, match="404 page not found") as caught:
        await cluster.list(Scope(resource=unknown))

    assert "CRD" in (caught.value.hint or "")


async def test_a_missing_right_names_the_user_the_verb_and_the_kind(
    plane: ControlPlane, namespace: str
) -> None:
    scope = Scope(resource=CONFIG_MAPS, namespace=namespace)
    async with as_user(plane.access("zoe")) as zoe:
        with pytest.raises(
            errors.Forbidden, match='User "zoe" cannot list resource "configmaps"'
        ):
            await zoe.list(scope)
        with pytest.raises(errors.Forbidden, match='cannot watch resource "configmaps"'):
            async with zoe.stream(calls.watch(scope, "0", timeout=5)):
                pass


async def test_a_user_is_acted_for_by_whatever_name(plane: ControlPlane) -> None:
    access = replace(plane.access(), headers=(("Impersonate-User", "Зоя"),))

    async with as_user(access) as zoe:
        with pytest.raises(errors.Forbidden, match='User "Зоя" cannot get resource "nodes"'):
            await zoe.get(NODES, "n")


async def test_a_token_that_the_server_does_not_know_is_told(plane: ControlPlane) -> None:
    access = replace(
        plane.access(), credentials=Fixed(Identity(authorization="Bearer nonsense"))
    )

    async with as_user(access) as nobody:
        with pytest.raises(errors.Unauthorized) as caught:
            await nobody.get(NODES, "n")

    assert caught.value.hint
