from jobferry.localkube.apiserver.shapes import (
    ANYTHING,
    LEAF,
    Leaf,
    ListMap,
    SetOf,
    Shape,
    Struct,
)
from jobferry.localkube.apiserver.types import shaping, tables


def at(shape: Shape, *path: str) -> Shape:
    for name in path:
        if isinstance(shape, ListMap):
            shape = shape.item
        assert isinstance(shape, Struct)
        found = shape.fields.get(name) or shape.others
        assert found is not None, name
        shape = found
    return shape


POD = shaping.shape_of("v1", "Pod")


def test_containers_are_told_apart_by_name_and_ports_by_two_keys_with_defaults() -> None:
    containers = at(POD, "spec", "containers")
    ports = at(containers, "ports")

    assert isinstance(containers, ListMap)
    assert isinstance(ports, ListMap)
    assert containers.keys == ("name",)
    assert ports.keys == ("containerPort", "protocol")
    assert ports.defaults == {"containerPort": 0, "protocol": "TCP"}


def test_labels_are_owned_one_by_one_and_selectors_as_a_whole() -> None:
    service = shaping.shape_of("v1", "Service")

    assert isinstance(at(POD, "metadata", "labels"), Struct)
    assert at(POD, "metadata", "labels", "anything") == Leaf("string")
    assert isinstance(at(service, "spec", "selector"), Leaf)
    assert isinstance(at(shaping.shape_of("batch/v1", "Job"), "spec", "selector"), Leaf)


def test_lists_are_sets_or_one_value() -> None:
    args = at(POD, "spec", "containers", "args")

    assert at(POD, "metadata", "finalizers") == SetOf(Leaf("string"))
    assert isinstance(args, Leaf)
    assert isinstance(args.inner, ListMap)
    assert (args.inner.keys, args.inner.item) == ((), Leaf("string"))


def test_scalars_say_what_they_are() -> None:
    container = ("spec", "containers")

    assert at(POD, *container, "image") == Leaf("string")
    assert at(POD, *container, "tty") == Leaf("boolean")
    assert at(POD, "spec", "priority") == Leaf("numeric")
    assert at(POD, *container, "resources", "limits", "cpu") == Leaf("untyped")
    assert at(POD, "metadata", "creationTimestamp") == Leaf("untyped")


def test_what_no_schema_describes_may_be_anything() -> None:
    claim = shaping.shape_of("resource.k8s.io/v1", "DeviceClass")
    slot = at(claim, "spec", "config")
    crd = shaping.shape_of("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    versions = at(crd, "spec", "versions")

    assert isinstance(slot, Leaf)
    assert isinstance(slot.inner, ListMap)
    assert at(slot.inner, "opaque", "parameters") is LEAF
    assert isinstance(versions, Leaf)
    assert isinstance(versions.inner, ListMap)
    assert at(versions.inner, "schema", "openAPIV3Schema", "default") is ANYTHING


def test_owners_are_told_apart_by_uid_and_each_is_one_value() -> None:
    owners = at(POD, "metadata", "ownerReferences")

    assert isinstance(owners, ListMap)
    assert owners.keys == ("uid",)
    assert isinstance(owners.item, Leaf)


def test_every_kind_has_a_shape() -> None:
    for version, kind, _ in tables.kinds():
        assert isinstance(shaping.shape_of(version, kind), Struct)
