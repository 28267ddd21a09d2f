import asyncio
from typing import Any

import pytest

from jobferry.localkube.apiserver.admission.request import UPDATE
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from jobferry.testing.clock import ManualClock, settle
from tests.unit.localkube.apiserver.admission.admission_world import (
    World,
    admission,
    container,
    pod,
    request,
    world,
)

PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
STRICT = {"kubernetes.io/enforce-mountable-secrets": "true"}


def with_account(name: str = "a", **more: Any) -> World:
    made = world()
    metadata = {"name": name, "namespace": "ns"} | more.pop("metadata", {})
    made.put("serviceaccounts", {"metadata": metadata} | more)
    return made


async def admitted(body: Obj, cluster: World | None = None) -> Obj:
    await admission(cluster or world()).admit(request("pods", body))
    spec: Obj = body["spec"]
    return spec


async def test_the_token_is_mounted_into_every_container() -> None:
    spec = await admitted(pod(initContainers=[container("i")]))

    mount = {"name": "kube-api-access-zzzzz", "readOnly": True, "mountPath": PATH}
    for each in (*spec["containers"], *spec["initContainers"]):
        assert each["volumeMounts"] == [mount]
    [volume] = spec["volumes"]
    assert volume["projected"]["defaultMode"] == 0o644
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    assert volume["projected"]["sources"][0] == token


async def test_who_mounts_something_else_there_gets_no_token() -> None:
    mine = {"name": "v", "mountPath": PATH}

    spec = await admitted(pod(containers=[container(volumeMounts=[mine])]))

    assert spec["containers"][0]["volumeMounts"] == [mine]
    assert "volumes" not in spec


@pytest.mark.parametrize(
    ("of_pod", "of_account", "wants"),
    [(None, None, True), (None, False, False), (True, False, True), (False, True, False)],
)
async def test_the_pod_decides_about_the_token_before_the_account(
    of_pod: bool | None, of_account: bool | None, wants: bool
) -> None:
    name = "automountServiceAccountToken"
    wish: Obj = {} if of_account is None else {name: of_account}
    cluster = with_account(**wish)
    own: Obj = {} if of_pod is None else {name: of_pod}
    body = pod(serviceAccountName="a", **own)

    assert ("volumes" in await admitted(body, cluster)) is wants


async def test_pull_secrets_come_from_the_account_unless_the_pod_has_its_own() -> None:
    cluster = with_account(imagePullSecrets=[{"name": "x"}])
    without = pod(serviceAccountName="a")
    own = pod(serviceAccountName="a", imagePullSecrets=[{"name": "y"}])

    assert (await admitted(without, cluster))["imagePullSecrets"] == [{"name": "x"}]
    assert (await admitted(own, cluster))["imagePullSecrets"] == [{"name": "y"}]


async def test_an_account_that_is_not_there_is_told() -> None:
    with pytest.raises(StatusError) as caught:
        await admitted(pod(serviceAccountName="nobody"))

    said = 'error looking up service account ns/nobody: serviceaccount "nobody" not found'
    assert str(caught.value) == f'pods "p" is forbidden: {said}'
    assert caught.value.code == 403


async def test_a_pod_waits_for_the_default_account_of_its_new_namespace() -> None:
    clock, cluster = ManualClock(), World()
    cluster.put("namespaces", {"metadata": {"name": "ns"}})
    asked = request("pods", pod())
    async with asyncio.TaskGroup() as tasks:
        admitting = tasks.create_task(admission(cluster, clock).admit(asked))
        await clock.pass_time(1)
        assert not admitting.done()
        cluster.put("serviceaccounts", {"metadata": {"name": "default", "namespace": "ns"}})
        await clock.pass_time(0.1)

    assert "volumes" in (asked.obj or {})["spec"]


async def test_it_does_not_wait_for_ever() -> None:
    clock, cluster = ManualClock(), World()
    cluster.put("namespaces", {"metadata": {"name": "ns"}})
    admitting = asyncio.ensure_future(admission(cluster, clock).admit(request("pods", pod())))
    await clock.pass_time(2)
    await settle()

    with pytest.raises(StatusError, match="error looking up service account ns/default"):
        await admitting


SECRET_VOLUME = {"name": "v", "secret": {"secretName": "s"}}
VARIABLE = {"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
WHY = "is not allowed because service account a does not reference that"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"volumes": [SECRET_VOLUME]}, f'volume with secret.secretName="s" {WHY} secret'),
        (
            {"containers": [container(env=[VARIABLE])]},
            f'container c with envVar E referencing secret.secretName="s" {WHY} secret',
        ),
        (
            {"initContainers": [container("i", envFrom=[{"secretRef": {"name": "s"}}])]},
            f'init container i with envFrom referencing secret.secretName="s" {WHY} secret',
        ),
        (
            {"imagePullSecrets": [{"name": "x"}, {"name": "s"}]},
            f'imagePullSecrets[1].name="s" {WHY} imagePullSecret',
        ),
    ],
)
async def test_an_account_may_keep_pods_from_other_secrets(spec: Obj, said: str) -> None:
    cluster = with_account(
        metadata={"annotations": STRICT},
        secrets=[{"name": "known"}],
        imagePullSecrets=[{"name": "x"}],
    )

    with pytest.raises(StatusError) as caught:
        await admitted(pod(serviceAccountName="a", **spec), cluster)

    assert str(caught.value) == f'pods "p" is forbidden: {said}'
    await admitted(pod(serviceAccountName="a", **spec), with_account())


async def test_a_pod_may_use_the_secrets_that_its_account_lists() -> None:
    cluster = with_account(metadata={"annotations": STRICT}, secrets=[{"name": "s"}])
    plain = {"name": "A", "value": "b"}
    body = pod(
        serviceAccountName="a",
        volumes=[SECRET_VOLUME, {"name": "w", "emptyDir": {}}],
        containers=[
            container(env=[VARIABLE, plain], envFrom=[{"configMapRef": {"name": "m"}}])
        ],
        ephemeralContainers=[{"name": "d", "env": [VARIABLE]}],
    )

    await admitted(body, cluster)
    asked = request("pods", body, UPDATE, subresource="ephemeralcontainers")
    await admission(cluster).admit(asked)
    await admission(cluster).validate(asked)


async def test_a_pod_that_lost_its_account_is_refused() -> None:
    with pytest.raises(StatusError, match="no service account specified for pod ns/p"):
        await admission(world()).validate(request("pods", pod()))


async def test_a_token_volume_that_is_there_is_used() -> None:
    mine = {"name": "kube-api-access-mine", "emptyDir": {}}

    spec = await admitted(pod(volumes=[mine]))

    assert spec["volumes"] == [mine]
    assert spec["containers"][0]["volumeMounts"][0]["name"] == "kube-api-access-mine"


async def test_debug_containers_are_held_to_the_same_secrets() -> None:
    cluster = with_account(metadata={"annotations": STRICT})
    debugging = [{"name": "d", "env": [VARIABLE]}]
    body = pod(serviceAccountName="a", ephemeralContainers=debugging, volumes=[SECRET_VOLUME])
    asked = request("pods", body, UPDATE, subresource="ephemeralcontainers")

    with pytest.raises(StatusError, match="ephemeral container d with envVar E referencing"):
        await admission(cluster).validate(asked)


def mirror(**spec: Any) -> Obj:
    body = pod(**spec)
    body["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    return body


async def test_a_mirror_pod_stays_as_it_is() -> None:
    spec = await admitted(mirror())

    assert "serviceAccountName" not in spec
    assert "volumes" not in spec


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"serviceAccountName": "default"}, "a mirror pod may not reference service accounts"),
        ({"volumes": [SECRET_VOLUME]}, "a mirror pod may not reference secrets"),
        ({"imagePullSecrets": [{"name": "s"}]}, "a mirror pod may not reference secrets"),
        ({"containers": [container(env=[VARIABLE])]}, "a mirror pod may not reference secrets"),
        (
            {"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "s"}}]}}]},
            "a mirror pod may not reference secrets",
        ),
        (
            {
                "volumes": [
                    {"name": "v", "projected": {"sources": [{"serviceAccountToken": {}}]}}
                ]
            },
            "a mirror pod may not use ServiceAccountToken volume projections",
        ),
    ],
)
async def test_a_mirror_pod_refers_to_nothing_here(spec: Obj, said: str) -> None:
    with pytest.raises(StatusError, match=said):
        await admitted(mirror(**spec))
