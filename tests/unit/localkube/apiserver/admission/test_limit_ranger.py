from typing import Any

import pytest

from jobferry.localkube.apiserver.admission.limit_ranger import ANNOTATION
from jobferry.localkube.apiserver.admission.request import UPDATE
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.admission.admission_world import (
    World,
    admission,
    container,
    pod,
    request,
    world,
)


def limited(*limits: Obj, name: str = "l", cluster: World | None = None) -> World:
    made = cluster or world()
    metadata = {"name": name, "namespace": "ns"}
    made.put("limitranges", {"metadata": metadata, "spec": {"limits": list(limits)}})
    return made


def limit(type: str = "Container", **lists: Any) -> Obj:
    return {"type": type} | lists


async def refusal(cluster: World, body: Obj, resource: str = "pods", **more: Any) -> str:
    if resource == "pods":
        body["spec"]["serviceAccountName"] = "default"
    with pytest.raises(StatusError) as caught:
        await admission(cluster).validate(request(resource, body, **more))
    assert caught.value.code == 403
    return str(caught.value).partition(" is forbidden: ")[2]


async def test_containers_get_what_they_do_not_say() -> None:
    cluster = limited(
        limit(default={"cpu": "1", "memory": "1Gi"}, defaultRequest={"cpu": "500m"})
    )
    body = pod(
        containers=[container("a", requests={"cpu": "2"}), container("b")],
        initContainers=[container("i", limits={"memory": "1", "cpu": "1"})],
    )

    await admission(cluster).admit(request("pods", body))

    first, second = body["spec"]["containers"]
    both = {"cpu": "1", "memory": "1Gi"}
    assert first["resources"] == {"requests": {"cpu": "2"}, "limits": both}
    assert second["resources"] == {"requests": {"cpu": "500m"}, "limits": both}
    assert body["metadata"]["annotations"][ANNOTATION] == (
        "LimitRanger plugin set: cpu, memory limit for container a; cpu request for container b; "
        "cpu, memory limit for container b; cpu request for init container i"
    )


async def test_a_pod_that_says_everything_is_left_alone() -> None:
    cluster = limited(limit(defaultRequest={"cpu": "1"}), limit("Pod", max={"cpu": "1"}))
    body = pod(containers=[container(requests={"cpu": "2"})])

    await admission(cluster).admit(request("pods", body))

    assert body["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "2"}}
    assert "annotations" not in body["metadata"]


SMALL = {"requests": {"cpu": "1m"}, "limits": {"cpu": "5m"}}


@pytest.mark.parametrize(
    ("rule", "resources", "said"),
    [
        (
            {"min": {"cpu": "1"}},
            {},
            "minimum cpu usage per Container is 1.  No request is specified",
        ),
        (
            {"min": {"cpu": "10m"}},
            SMALL,
            "minimum cpu usage per Container is 10m, but request is 1m",
        ),
        (
            {"min": {"cpu": "1"}},
            {"requests": {"cpu": "2"}, "limits": {"cpu": "500m"}},
            "minimum cpu usage per Container is 1, but limit is 500m",
        ),
        (
            {"max": {"cpu": "1"}},
            {},
            "maximum cpu usage per Container is 1.  No limit is specified",
        ),
        (
            {"max": {"cpu": "1"}},
            {"limits": {"cpu": "1001m"}},
            "maximum cpu usage per Container is 1, but limit is 1001m",
        ),
        (
            {"max": {"cpu": "1"}},
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            "maximum cpu usage per Container is 1, but request is 2",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            SMALL,
            "cpu max limit to request ratio per Container is 2, but provided ratio is 5.000000",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"limits": {"cpu": "1"}},
            (
                "cpu max limit to request ratio per Container is 2, "
                "but no request is specified or request is 0"
            ),
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "2"}},
            {"requests": {"cpu": "1"}},
            (
                "cpu max limit to request ratio per Container is 2, "
                "but no limit is specified or limit is 0"
            ),
        ),
    ],
)
async def test_what_breaks_a_rule_is_told(rule: Obj, resources: Obj, said: str) -> None:
    body = pod(containers=[{"name": "c", "resources": resources}])

    assert await refusal(limited(limit(**rule)), body) == said


async def test_several_problems_are_told_at_once_and_each_once() -> None:
    body = pod(
        containers=[container(name, limits={"cpu": "3", "memory": "3"}) for name in "ab"]
    )

    said = await refusal(limited(limit(max={"memory": "2", "cpu": "2"})), body)

    assert said == (
        "[maximum cpu usage per Container is 2, but limit is 3, "
        "maximum memory usage per Container is 2, but limit is 3]"
    )


async def test_a_pod_is_as_large_as_it_ever_gets() -> None:
    sidecar = container("s", limits={"cpu": "1"}, restartPolicy="Always")
    body = pod(
        containers=[container(limits={"cpu": "1"})],
        initContainers=[sidecar, container("i", limits={"cpu": "3"})],
    )

    said = await refusal(limited(limit("Pod", max={"cpu": "3"})), body)

    assert said == "maximum cpu usage per Pod is 3, but limit is 4"


async def test_each_limit_range_counts() -> None:
    cluster = limited(limit(max={"cpu": "5"}))
    limited(limit(max={"cpu": "2"}), name="m", cluster=cluster)

    assert "is 2, but" in await refusal(
        cluster, pod(containers=[container(limits={"cpu": "3"})])
    )


def claim(storage: str) -> Obj:
    spec = {"resources": {"requests": {"storage": storage}}}
    return {"metadata": {"name": "v", "namespace": "ns"}, "spec": spec}


@pytest.mark.parametrize("operation", ["CREATE", UPDATE])
async def test_claims_have_a_minimum_and_a_maximum(operation: str) -> None:
    cluster = limited(
        limit("PersistentVolumeClaim", min={"storage": "1Mi"}, max={"storage": "1Gi"})
    )
    claims = "persistentvolumeclaims"

    small = await refusal(cluster, claim("1"), claims, operation=operation)
    large = await refusal(cluster, claim("2Gi"), claims, operation=operation)

    about = "storage usage per PersistentVolumeClaim is"
    assert small == f"minimum {about} 1Mi, but request is 1"
    assert large == f"maximum {about} 1Gi, but request is 2Gi"


async def test_nothing_is_asked_of_what_is_going() -> None:
    cluster = limited(limit("PersistentVolumeClaim", max={"storage": "1"}))
    old = claim("2")
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    asked = request("persistentvolumeclaims", claim("2"), UPDATE, old=old)

    await admission(cluster).validate(asked)


async def test_a_resize_is_held_to_the_limits_but_no_other_update_is() -> None:
    cluster = limited(limit(max={"cpu": "1"}))
    body = pod(containers=[container(limits={"cpu": "2"})])
    made = admission(cluster)

    await made.validate(request("pods", body, UPDATE, old=pod()))
    with pytest.raises(StatusError, match="but limit is 2"):
        await made.validate(request("pods", body, UPDATE, old=pod(), subresource="resize"))
