"""The types of built-in kinds beside a real API server: what it refuses, stores, sends and owns."""

import os
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.localkube.apiserver.managed import footprints
from jobferry.localkube.apiserver.openapi import documents
from jobferry.localkube.apiserver.printing.catalog import columns_for
from jobferry.localkube.apiserver.resource import VERBS, Resource, Subresource
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.types import (
    codec,
    duplicates,
    protobuf,
    schemas,
    shaping,
    tables,
)
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api.types_places import PLACES
from tests.api.types_refused import ODD, REFUSED
from tests.api.types_rich import RICH
from tests.api.types_wire import Wire

pytestmark = pytest.mark.kube
STRICT = {"fieldValidation": "Strict", "dryRun": "All"}
PROTOBUF = "application/vnd.kubernetes.protobuf"


@pytest.fixture(scope="module")
def server(plane: ControlPlane) -> Iterator[Wire]:
    with Wire(plane.url, plane.folder) as connection:
        yield connection


def refusal(kind: str, text: str) -> str | None:
    """Return what we say of a body."""
    body = text.encode()
    api_version = PLACES[kind][0]
    parsed = orjson.loads(body)
    try:
        decoded = codec.decode(api_version, kind, parsed, body)
    except StatusError as error:
        return str(error)
    strict = list(decoded.strict)
    if duplicates.find(body, parsed, api_version, kind):
        strict = duplicates.strict(body, api_version, kind)
    if not strict:
        return None
    about = f'{kind} in version "v1" cannot be handled as a {kind}'
    return f"{about}: strict decoding error: {', '.join(strict)}"


@pytest.mark.parametrize(("kind", "text"), REFUSED)
def test_a_body_is_refused_in_the_words_of_the_server(
    server: Wire, kind: str, text: str
) -> None:
    code, answer = server.send("POST", PLACES[kind][1], text.encode(), query=STRICT)

    assert (code, refusal(kind, text)) == (400, orjson.loads(answer)["message"])


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the paths to everything within a value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inner:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


@given(st.data())
@settings(max_examples=1000 if os.environ.get("JOBFERRY_SOAK") else 150)
def test_a_damaged_body_is_judged_as_the_server_judges_it(
    server: Wire, data: st.DataObject
) -> None:
    kind, obj = data.draw(st.sampled_from(RICH))
    body = orjson.loads(
        orjson.dumps({**obj, "metadata": obj.get("metadata", {}) | {"name": "x"}})
    )
    *path, last = data.draw(st.sampled_from(list(places(body))))
    inner = body
    for key in path:
        inner = inner[key]
    inner[last] = data.draw(st.sampled_from(ODD))
    if isinstance(inner, dict) and data.draw(st.booleans()):
        inner["foo"] = 1
    text = orjson.dumps(body)

    code, answer = server.send("POST", PLACES[kind][1], text, query=STRICT)
    message = orjson.loads(answer).get("message", "")
    theirs = message if code == 400 and "cannot be handled as" in message else None

    assert refusal(kind, text.decode()) == theirs


class Pair:
    """An object on the server, in both encodings."""

    def __init__(self, server: Wire, kind: str, obj: Obj, number: int) -> None:
        self.kind = kind
        self.api_version, place = PLACES[kind]
        name = obj.get("metadata", {}).get("name") or f"rich-{number}"
        sent = {
            "apiVersion": self.api_version,
            "kind": kind,
            **obj,
            "metadata": {"name": name, **obj.get("metadata", {})},
        }
        self.sent = sent
        code, answer = server.send("POST", place, orjson.dumps(sent))
        assert code == 201, answer
        self.place = f"{place}/{name}"
        self.json = self.protobuf = b""
        # Controllers of the server itself may still write: both must be of the same version.
        while self.json != (now := server.send("GET", self.place)[1]):
            self.json = now
            self.protobuf = server.send("GET", self.place, accept=PROTOBUF)[1]


@pytest.fixture(scope="module")
def pairs(server: Wire) -> Iterator[list[Pair]]:
    made = []
    try:
        for number, (kind, obj) in enumerate(RICH):
            made.append(Pair(server, kind, obj, number))
        yield made
    finally:
        for pair in made:
            server.send("DELETE", pair.place, query={"gracePeriodSeconds": "0"})


def test_what_the_server_stores_is_read_and_printed_unchanged(pairs: list[Pair]) -> None:
    for pair in pairs:
        parsed = orjson.loads(pair.json)
        decoded = codec.decode(pair.api_version, pair.kind, parsed, pair.json)

        assert decoded.strict == []
        assert orjson.dumps(decoded.obj) == orjson.dumps(parsed)
        assert decoded.obj is parsed


def test_the_order_of_fields_does_not_matter(pairs: list[Pair]) -> None:
    for pair in pairs:
        parsed = orjson.loads(pair.json)
        shuffled = orjson.loads(orjson.dumps(parsed, option=orjson.OPT_SORT_KEYS))
        decoded = codec.decode(pair.api_version, pair.kind, shuffled)

        assert orjson.dumps(decoded.obj) == orjson.dumps(parsed)


def test_protobuf_says_the_same_as_json(pairs: list[Pair]) -> None:
    for pair in pairs:
        api_version, kind, obj = protobuf.decode(pair.protobuf)
        decoded = codec.decode(api_version, kind, obj)

        assert (api_version, kind) == (pair.api_version, pair.kind)
        assert decoded.strict == []
        theirs = orjson.loads(pair.json)
        for claim in theirs.get("spec", {}).get("volumeClaimTemplates", ()):
            # Filled in when it is printed: protobuf does not say what a struct is.
            del claim["kind"], claim["apiVersion"]
        assert orjson.dumps(decoded.obj) == orjson.dumps(theirs)


AS_SENT = (
    "ConfigMap",
    "Lease",
    "ClusterRole",
    "RoleBinding",
    "ResourceQuota",
    "CSINode",
    "Event",
)


def test_what_is_sent_is_stored_as_we_read_it(pairs: list[Pair]) -> None:
    compared = [pair for pair in pairs if pair.kind in AS_SENT]
    for pair in compared:
        ours = codec.decode(pair.api_version, pair.kind, pair.sent).obj
        theirs = orjson.loads(pair.json)

        assert without_metadata(ours) == without_metadata(theirs)
    assert len(compared) >= len(AS_SENT)


def without_metadata(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}


def test_who_applies_an_object_owns_what_our_shapes_say(
    server: Wire, pairs: list[Pair]
) -> None:
    for pair in pairs:
        applied = {**pair.sent, "metadata": {**pair.sent["metadata"], "name": "applied"}}
        applied["metadata"].pop("finalizers", None)
        place = f"{PLACES[pair.kind][1]}/applied"
        query = {"fieldManager": "test", "dryRun": "All", "force": "true"}
        body = orjson.dumps(applied)
        if pair.kind == "CustomResourceDefinition":
            applied["metadata"]["name"] = pair.sent["metadata"]["name"]
            place, body = pair.place, orjson.dumps(applied)
        code, answer = server.send(
            "PATCH", place, body, content_type="application/apply-patch+yaml", query=query
        )
        assert code in (200, 201), answer
        managed = orjson.loads(answer)["metadata"].get("managedFields", [])
        found = [entry["fieldsV1"] for entry in managed if entry["manager"] == "test"]
        shape = shaping.shape_of(pair.api_version, pair.kind)
        ours = owned(footprints.footprint(shape, applied), pair.kind)

        assert found == ([ours] if ours else []), pair.sent


def owned(fields: Any, kind: str) -> Any:
    """Leave out what nobody owns: the name and kind, and what the endpoint resets."""
    kept = {
        key: value for key, value in fields.items() if key not in ("f:apiVersion", "f:kind")
    }
    metadata = {key: value for key, value in kept.pop("f:metadata").items() if key != "f:name"}
    if kind in ("Node", "Job"):
        kept.pop("f:status", None)
    return {**kept, **({"f:metadata": metadata} if metadata else {})}


def described(value: Any, *, names: bool = False) -> Any:
    """Leave out descriptions, which are not ours to copy."""
    if isinstance(value, dict):
        return {
            key: described(item, names=key == "properties" and not names)
            for key, item in value.items()
            if names or key != "description"
        }
    return [described(item) for item in value] if isinstance(value, list) else value


def test_the_schemas_are_those_of_the_server(server: Wire) -> None:
    ours = schemas.collect([name for _, _, name in tables.kinds()], [("", "v1")])
    theirs: Obj = {}
    for api_version in {version for version, _, _ in tables.kinds()} - {"meta"}:
        path = f"apis/{api_version}" if "/" in api_version else f"api/{api_version}"
        theirs |= orjson.loads(server.send("GET", f"/openapi/v3/{path}")[1])["components"][
            "schemas"
        ]
    compared = 0
    for name, schema in ours.items():
        if name in theirs and not name.endswith("JSONSchemaProps"):
            own, other = dict(schema), described(theirs[name])
            if ".meta.v1." in name:
                own.pop("x-kubernetes-group-version-kind", None)
                other.pop("x-kubernetes-group-version-kind", None)
            assert own == other, name
            compared += 1
    assert compared > 400


SUBRESOURCES = {
    "status": Subresource(),
    "log": Subresource(verbs=("get",)),
    "binding": Subresource(verbs=("create",), kind="Binding"),
    "eviction": Subresource(verbs=("create",), kind="Eviction", group="policy", version="v1"),
}
SCALE = Subresource(kind="Scale", group="autoscaling", version="v1")


def resource(
    group: str, kind: str, plural: str, *, namespaced: bool = True, **more: Any
) -> Resource:
    return Resource(
        group=group,
        version="v1",
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        namespaced=namespaced,
        strategy=Strategy(name_problems=lambda _name, _prefix: ()),
        codec=codec.BuiltIn(f"{group}/v1" if group else "v1", kind),
        columns=columns_for(group, kind),
        **more,
    )


SERVED = [
    resource("", "Pod", "pods", subresources=SUBRESOURCES),
    resource("", "Namespace", "namespaces", namespaced=False, verbs=VERBS[:2] + VERBS[3:]),
    resource("batch", "Job", "jobs", subresources={"status": Subresource()}),
    resource("apps", "ReplicaSet", "replicasets", subresources={"scale": SCALE}),
    resource(
        "authorization.k8s.io",
        "SubjectAccessReview",
        "subjectaccessreviews",
        namespaced=False,
        verbs=("create",),
    ),
]


def operations(document: Obj) -> dict[tuple[str, str], Any]:
    """Return what clients look for in the paths of a document."""
    found = {}
    for path, item in document["paths"].items():
        shared = item.get("parameters", [])
        for method, operation in item.items():
            if method == "parameters":
                continue
            parameters = [*operation.get("parameters", []), *shared]
            found[path, method] = (
                operation.get("operationId"),
                operation.get("x-kubernetes-action"),
                operation.get("x-kubernetes-group-version-kind"),
                sorted((each["in"], each["name"], str(each["schema"])) for each in parameters),
                sorted(operation.get("requestBody", {}).get("content", {})),
                sorted(operation["responses"]),
            )
    return found


@pytest.mark.parametrize("served", SERVED, ids=lambda served: served.plural)
def test_the_operations_are_those_of_the_server(server: Wire, served: Resource) -> None:
    path = documents.path_of(served.group, served.version)
    theirs = operations(orjson.loads(server.send("GET", f"/openapi/v3/{path}")[1]))
    ours = operations(orjson.loads(documents.document(served.group, served.version, [served])))
    # Its own parameters come from a type of options that we have no table of.
    ours = {key: value for key, value in ours.items() if not key[0].endswith("/log")}

    assert ours == {key: theirs.get(key) for key in ours}
