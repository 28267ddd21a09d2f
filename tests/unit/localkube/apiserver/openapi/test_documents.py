from typing import Any

import orjson

from jobferry.localkube.apiserver.openapi import documents
from jobferry.localkube.apiserver.printing.catalog import columns_for
from jobferry.localkube.apiserver.resource import Resource, Subresource
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.types import codec

NAME = "io.k8s.api.batch.v1.Job"


def resource(group: str, kind: str, plural: str, **more: Any) -> Resource:
    version = f"{group}/v1" if group else "v1"
    return Resource(
        group=group,
        version="v1",
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        strategy=Strategy(name_problems=lambda _name, _prefix: ()),
        codec=codec.BuiltIn(version, kind),
        columns=columns_for(group, kind),
        **{"namespaced": True, **more},
    )


SCALE = Subresource(kind="Scale", group="autoscaling", version="v1")
JOBS = resource("batch", "Job", "jobs", subresources={"status": Subresource()})
SETS = resource("apps", "ReplicaSet", "replicasets", subresources={"scale": SCALE})
WIDGETS = resource("example.com", "Widget", "widgets", built_in=False)
VERSIONS = [("", "v1"), ("batch", "v1")]


def document(*resources: Resource, **more: Any) -> Any:
    group = resources[0].group
    return orjson.loads(documents.document(group, "v1", resources, VERSIONS, **more))


def test_a_document_has_the_schemas_of_its_kinds_and_all_that_they_refer_to() -> None:
    found = document(JOBS)
    schemas = found["components"]["schemas"]
    text = orjson.dumps(found).decode()
    referred = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}

    assert schemas[NAME]["properties"]["spec"] == {
        "allOf": [{"$ref": "#/components/schemas/io.k8s.api.batch.v1.JobSpec"}],
        "default": {},
    }
    assert schemas[NAME]["x-kubernetes-group-version-kind"] == [
        {"group": "batch", "kind": "Job", "version": "v1"}
    ]
    assert referred <= schemas.keys()
    assert "description" not in orjson.dumps(schemas).decode().replace('"description":{', "")


def test_lists_say_how_they_are_merged() -> None:
    container = document(JOBS)["components"]["schemas"]["io.k8s.api.core.v1.Container"]
    ports = container["properties"]["ports"]

    assert container["required"] == ["name"]
    assert ports["x-kubernetes-list-type"] == "map"
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    assert ports["x-kubernetes-patch-strategy"] == "merge"
    assert ports["x-kubernetes-patch-merge-key"] == "containerPort"


def test_options_belong_to_every_version_that_is_served() -> None:
    name = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    kinds = document(JOBS)["components"]["schemas"][name]["x-kubernetes-group-version-kind"]

    assert [(kind["group"], kind["version"]) for kind in kinds] == VERSIONS


def test_paths_say_what_can_be_done() -> None:
    paths = document(JOBS)["paths"]
    one = paths["/apis/batch/v1/namespaces/{namespace}/jobs/{name}"]

    assert set(paths) == {
        "/apis/batch/v1/",
        "/apis/batch/v1/jobs",
        "/apis/batch/v1/namespaces/{namespace}/jobs",
        "/apis/batch/v1/namespaces/{namespace}/jobs/{name}",
        "/apis/batch/v1/namespaces/{namespace}/jobs/{name}/status",
    }
    assert set(one) == {"get", "put", "patch", "delete", "parameters"}
    assert one["patch"]["x-kubernetes-action"] == "patch"
    assert [parameter["name"] for parameter in one["patch"]["parameters"]] == [
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
    ]
    assert "application/strategic-merge-patch+json" in one["patch"]["requestBody"]["content"]


def test_a_subresource_may_have_a_kind_of_its_own() -> None:
    found = document(SETS)
    scale = found["paths"]["/apis/apps/v1/namespaces/{namespace}/replicasets/{name}/scale"]

    assert scale["put"]["x-kubernetes-group-version-kind"] == {
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
    }
    assert "io.k8s.api.autoscaling.v1.Scale" in found["components"]["schemas"]


def test_a_resource_has_only_the_paths_of_its_verbs() -> None:
    review = resource(
        "authorization.k8s.io",
        "SubjectAccessReview",
        "subjectaccessreviews",
        namespaced=False,
        verbs=("create",),
    )
    paths = document(review)["paths"]

    assert set(paths["/apis/authorization.k8s.io/v1/subjectaccessreviews"]) == {
        "post",
        "parameters",
    }
    assert len(paths) == 2


def test_custom_kinds_bring_their_schemas() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    found = document(WIDGETS, custom={"Widget": schema})
    one = found["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]

    assert (
        found["components"]["schemas"]["com.example.v1.Widget"]["properties"]
        == schema["properties"]
    )
    assert (
        "application/strategic-merge-patch+json" not in one["patch"]["requestBody"]["content"]
    )


def test_the_index_leads_to_the_documents_and_changes_when_they_do() -> None:
    index = orjson.loads(
        documents.index({("batch", "v1"): documents.hash_of([JOBS]), ("", "v1"): "A"})
    )

    assert list(index["paths"]) == ["api/v1", "apis/batch/v1"]
    assert index["paths"]["api/v1"]["serverRelativeURL"] == "/openapi/v3/api/v1?hash=A"
    assert documents.hash_of([JOBS]) != documents.hash_of([resource("batch", "Job", "jobs")])
    assert documents.hash_of([WIDGETS], {"Widget": {"a": 1}}) != documents.hash_of(
        [WIDGETS], {}
    )
