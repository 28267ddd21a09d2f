"""Services."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies import service
from jobferry.objects import Obj

META = {"name": "s", "namespace": "n", "uid": "u", "resourceVersion": "1"}
PORT = {"port": 80}


def made(**spec: Any) -> Obj:
    obj: Obj = {"metadata": dict(META), "spec": spec}
    if "ports" in spec:
        spec["ports"] = [dict(each) for each in spec["ports"]]
    service.STRATEGY.default(obj)
    service.STRATEGY.prepare_create(obj)
    return obj


def changed(old: Obj, **spec: Any) -> Obj:
    ports = [dict(each) for each in old["spec"].get("ports", ())]
    new: Obj = {"metadata": dict(META), "spec": {**old["spec"], "ports": ports, **spec}}
    service.STRATEGY.default(new)
    service.STRATEGY.prepare_update(new, old)
    return new


def fields(obj: Obj) -> list[str]:
    return [each.field for each in service.STRATEGY.validate_create(obj)]


def test_defaults_are_those_of_kubernetes() -> None:
    assert made(ports=[PORT])["spec"] == {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ipFamilyPolicy": "SingleStack",
        "ipFamilies": ["IPv4"],
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }


def test_no_address_is_given_out_and_that_is_said() -> None:
    obj = made(ports=[PORT], type="NodePort")

    assert "clusterIP" not in obj["spec"]
    assert "nodePort" not in obj["spec"]["ports"][0]
    assert service.STRATEGY.warn_create(obj) == [service.NO_ADDRESS_GIVEN]
    assert not service.STRATEGY.warn_create(made(clusterIP="None"))


@pytest.mark.parametrize(
    ("spec", "families", "policy"),
    [
        ({}, ["IPv4", "IPv6"], "RequireDualStack"),
        ({"selector": {"a": "b"}}, ["IPv4"], "SingleStack"),
        ({"ipFamilyPolicy": "SingleStack"}, ["IPv4"], "SingleStack"),
        ({"ipFamilies": ["IPv6"]}, ["IPv6", "IPv4"], "RequireDualStack"),
    ],
)
def test_headless_services_have_families(spec: Obj, families: list[str], policy: str) -> None:
    obj = made(clusterIP="None", **spec)

    assert obj["spec"]["clusterIPs"] == ["None"]
    assert (obj["spec"]["ipFamilies"], obj["spec"]["ipFamilyPolicy"]) == (families, policy)
    assert fields(obj) == []


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({}, ["spec.ports"]),
        ({"ports": [PORT, PORT]}, ["spec.ports[0].name", "spec.ports[1].name", "spec.ports[1]"]),
        ({"ports": [{"port": 0}]}, ["spec.ports[0].port", "spec.ports[0].targetPort"]),
        ({"ports": [PORT], "clusterIP": "x"}, ["spec.clusterIPs[0]"]),
        ({"ports": [PORT], "clusterIP": "fd00::1"}, ["spec.clusterIPs[0]"]),
        ({"ports": [PORT], "ipFamilies": ["IPv6"]}, ["spec.ipFamilies[0]"]),
        ({"ports": [PORT], "type": "Odd"}, ["spec.type"]),
        ({"ports": [PORT], "sessionAffinity": "Odd"}, ["spec.sessionAffinity"]),
        ({"type": "ExternalName"}, ["spec.externalName"]),
        ({"type": "LoadBalancer", "clusterIP": "None"}, ["spec.clusterIPs[0]"]),
        ({"ports": [{**PORT, "nodePort": 30000}]}, ["spec.ports[0].nodePort"]),
        ({"ports": [PORT], "externalIPs": ["127.0.0.1"]}, ["spec.externalIPs[0]"]),
        ({"ports": [PORT], "externalTrafficPolicy": "Local"}, ["spec.externalTrafficPolicy"]),
        ({"ports": [PORT], "loadBalancerClass": "a"}, ["spec.loadBalancerClass"]),
        ({"ports": [PORT], "healthCheckNodePort": 1}, ["spec.healthCheckNodePort"]),
        ({"ports": [PORT], "trafficDistribution": "Odd"}, ["spec.trafficDistribution"]),
    ],
)  # fmt: skip
def test_services_are_checked(spec: Obj, found: list[str]) -> None:
    assert fields(made(**spec)) == found


def test_an_address_stays_when_an_update_leaves_it_out() -> None:
    old = made(clusterIP="10.0.0.1", ports=[PORT])

    new = changed(old, clusterIP="", clusterIPs=[])

    assert new["spec"]["clusterIPs"] == ["10.0.0.1"]
    assert not service.STRATEGY.validate_update(new, old)


def test_an_address_never_changes() -> None:
    old = made(clusterIP="10.0.0.1", ports=[PORT])

    found = service.STRATEGY.validate_update(changed(old, clusterIP="10.0.0.2"), old)

    assert [each.field for each in found] == ["spec.clusterIPs[0]"]


def test_ports_on_nodes_stay_by_name() -> None:
    old = made(type="NodePort", ports=[{"name": "a", "port": 80, "nodePort": 30080}])

    new = changed(old, ports=[{"name": "a", "port": 81}, {"name": "b", "port": 82}])

    assert [each.get("nodePort") for each in new["spec"]["ports"]] == [30080, None]


def test_what_a_new_type_does_not_need_goes() -> None:
    old = made(type="LoadBalancer", clusterIP="10.0.0.1", ports=[{**PORT, "nodePort": 30080}])

    inside = changed(old, type="ClusterIP")
    outside = changed(old, type="ExternalName", externalName="a.b")

    assert "nodePort" not in inside["spec"]["ports"][0]
    assert (
        not {"externalTrafficPolicy", "allocateLoadBalancerNodePorts"} & inside["spec"].keys()
    )
    assert not {"clusterIP", "clusterIPs", "ipFamilies"} & outside["spec"].keys()
    assert not service.STRATEGY.validate_update(inside, old)
    assert not service.STRATEGY.validate_update(outside, old)


def test_a_balancer_says_where_it_is() -> None:
    old = made(type="LoadBalancer", ports=[PORT])
    points = [{"ip": "1.2.3.4"}, {"ip": "x"}, {"hostname": "1.2.3.4", "ipMode": "VIP"}]
    new = {**old, "status": {"loadBalancer": {"ingress": points}}}

    service.STRATEGY.default(new)
    found = service.STATUS.validate_update(new, old)

    assert new["status"]["loadBalancer"]["ingress"][0]["ipMode"] == "VIP"
    assert [each.field.rpartition("ingress")[2] for each in found] == [
        *("[1].ip", "[2].ipMode", "[2].hostname")
    ]


def test_a_balancer_at_an_odd_address_is_warned_of() -> None:
    points = [{"hostname": "a"}, {"ip": "1.2.3.4"}, {"ip": "01.2.3.4"}]
    new = {"status": {"loadBalancer": {"ingress": points}}}

    (warning,) = service.STATUS.warn_update(new, {})

    assert warning.startswith("status.loadBalancer.ingress[2]: non-standard IP address")


def test_only_balancers_have_one() -> None:
    old = made(clusterIP="None")
    new = {**old, "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}

    found = service.STATUS.validate_update(new, old)

    assert [each.reason for each in found] == ["FieldValueForbidden"]


def test_selectors_may_ask_for_address_and_type() -> None:
    assert service.STRATEGY.fields(made(clusterIP="None")) == {
        "spec.clusterIP": "None",
        "spec.type": "ClusterIP",
    }
