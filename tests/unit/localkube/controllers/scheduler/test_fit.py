"""Which nodes fit a pod, and what is said if none does."""

from typing import Any

import orjson
import pytest

from jobferry.localkube.controllers.scheduler import fit, ledger, requirements
from jobferry.localkube.controllers.scheduler.fit import Placed, Unfit
from jobferry.localkube.controllers.scheduler.ledger import Ledger
from jobferry.objects import Obj

AFFINITY = "node(s) didn't match Pod's node affinity/selector"
TAINT = "node(s) had untolerated taint(s)"


def node(
    name: str = "n", *, labels: Obj | None = None, amounts: Obj | None = None, **spec: Any
) -> bytes:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "10", **(amounts or {})}
    return orjson.dumps(
        {
            "metadata": {"name": name, "labels": labels or {}},
            "spec": spec,
            "status": {"allocatable": allocatable},
        }
    )


def asks(**spec: Any) -> requirements.Requirements:
    """Return what a pod asks for; `requests` is short for what its container does."""
    container = {"name": "c", "resources": {"requests": spec.pop("requests", {})}}
    container["ports"] = spec.pop("ports", [])
    return requirements.read({"containers": [container], **spec})


def book(*nodes: bytes) -> Ledger:
    found = Ledger()
    for each in nodes:
        offer = ledger.offer(each)
        found.offers[offer.name] = offer
    return found


def required(*expressions: Obj, fields: tuple[Obj, ...] = ()) -> Obj:
    term: Obj = {"matchExpressions": list(expressions), "matchFields": list(fields)}
    terms = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def expression(key: str, operator: str, *values: str) -> Obj:
    return {"key": key, "operator": operator, "values": list(values)}


def toleration(**parts: Any) -> Obj:
    return {"tolerations": [parts]}


TAINTED: Any = {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
EVICTING: Any = {"taints": [{"key": "k", "effect": "NoExecute"}]}
AVOIDED: Any = {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}
CORDONED = {"unschedulable": True}
IGNORES_CORDON = toleration(key="node.kubernetes.io/unschedulable", operator="Exists")


@pytest.mark.parametrize(
    ("pod", "of_node", "problems"),
    [
        ({}, {}, []),
        ({"requests": {"cpu": "4", "memory": "8Gi"}}, {}, []),
        ({"requests": {"cpu": "4001m"}}, {}, ["Insufficient cpu"]),
        (
            {"requests": {"cpu": "5", "memory": "9Gi"}},
            {},
            ["Insufficient cpu", "Insufficient memory"],
        ),
        ({"requests": {"example.com/gpu": "1"}}, {}, ["Insufficient example.com/gpu"]),
        ({"requests": {"example.com/gpu": "0"}}, {}, []),
        (
            {"requests": {"example.com/gpu": "1"}},
            {"amounts": {"example.com/gpu": "1"}},
            [],
        ),
        ({}, {"amounts": {"pods": "0"}}, ["Too many pods"]),
        (
            {"requests": {"cpu": "5"}},
            {"amounts": {"pods": "0"}},
            ["Too many pods", "Insufficient cpu"],
        ),
        ({"overhead": {"cpu": "5"}}, {}, ["Insufficient cpu"]),
        ({"nodeSelector": {"a": "b"}}, {"labels": {"a": "b"}}, []),
        ({"nodeSelector": {"a": "b"}}, {"labels": {"a": "c"}}, [AFFINITY]),
        ({"nodeSelector": {"a": "b", "c": "d"}}, {"labels": {"a": "b"}}, [AFFINITY]),
        ({"affinity": required(expression("a", "In", "b", "c"))}, {"labels": {"a": "c"}}, []),
        ({"affinity": required(expression("a", "In", "b"))}, {}, [AFFINITY]),
        ({"affinity": required(expression("a", "NotIn", "b"))}, {}, []),
        (
            {"affinity": required(expression("a", "NotIn", "b"))},
            {"labels": {"a": "b"}},
            [AFFINITY],
        ),
        ({"affinity": required(expression("a", "Exists"))}, {"labels": {"a": ""}}, []),
        (
            {"affinity": required(expression("a", "DoesNotExist"))},
            {"labels": {"a": ""}},
            [AFFINITY],
        ),
        ({"affinity": required(expression("a", "Gt", "3"))}, {"labels": {"a": "4"}}, []),
        (
            {"affinity": required(expression("a", "Lt", "3"))},
            {"labels": {"a": "4"}},
            [AFFINITY],
        ),
        (
            {"affinity": required(expression("a", "Gt", "3"))},
            {"labels": {"a": "x"}},
            [AFFINITY],
        ),
        ({"affinity": required()}, {}, [AFFINITY]),
        ({"affinity": required(fields=(expression("metadata.name", "In", "n"),))}, {}, []),
        (
            {"affinity": required(fields=(expression("metadata.name", "NotIn", "n"),))},
            {},
            [AFFINITY],
        ),
        ({}, TAINTED, [TAINT]),
        ({}, EVICTING, [TAINT]),
        ({}, AVOIDED, []),
        (toleration(key="k", value="v"), TAINTED, []),
        (toleration(key="k", value="w"), TAINTED, [TAINT]),
        (toleration(key="k", operator="Exists"), TAINTED, []),
        (toleration(operator="Exists"), TAINTED, []),
        (toleration(key="k", operator="Exists", effect="NoExecute"), TAINTED, [TAINT]),
        (toleration(key="k", operator="Exists", effect="NoExecute"), EVICTING, []),
        ({}, CORDONED, ["node(s) were unschedulable"]),
        (IGNORES_CORDON, CORDONED, []),
        ({"requests": {"cpu": "5"}}, TAINTED, [TAINT]),
    ],
)
def test_a_node_fits_unless_it_breaks_a_rule(
    pod: Obj, of_node: Obj, problems: list[str]
) -> None:
    offer = ledger.offer(node(**of_node))

    assert fit.problems(asks(**pod), offer, ledger.NOTHING_TAKEN) == problems


@pytest.mark.parametrize(
    ("taken", "wanted", "fits"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, False),
        ({"hostPort": 80}, {"hostPort": 81}, True),
        ({"hostPort": 80}, {"containerPort": 80}, True),
        ({"hostPort": 80, "protocol": "UDP"}, {"hostPort": 80}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, False),
    ],
)
def test_two_pods_cannot_have_the_same_port_of_a_node(
    taken: Obj, wanted: Obj, fits: bool
) -> None:
    nodes = book(node())
    nodes.charge("u", "n", asks(ports=[taken]))

    found = fit.place(asks(ports=[wanted]), nodes)

    reason = "1 node(s) didn't have free ports for the requested pod ports"
    expected = Placed("n") if fits else Unfit(f"0/1 nodes are available: {reason}.")
    assert found == expected


def test_what_pods_take_is_missing_until_they_are_gone() -> None:
    nodes = book(node())
    nodes.charge("a", "n", asks(requests={"cpu": "3"}))
    nodes.charge("b", "n", asks(requests={"cpu": "1"}))

    assert isinstance(fit.place(asks(requests={"cpu": "1m"}), nodes), Unfit)

    assert nodes.release("b")
    assert not nodes.release("b")
    assert fit.place(asks(requests={"cpu": "1"}), nodes) == Placed("n")


def test_the_reasons_of_all_nodes_are_counted() -> None:
    nodes = book(node("a"), node("b"), node("c", **TAINTED), node("d", amounts={"memory": "1"}))

    found = fit.place(asks(requests={"cpu": "5", "memory": "1Gi"}), nodes)

    assert found == Unfit(
        "0/4 nodes are available: 1 Insufficient memory, "
        "1 node(s) had untolerated taint(s), 3 Insufficient cpu."
    )


def test_a_cluster_without_nodes_says_so() -> None:
    assert fit.place(asks(), Ledger()) == Unfit("no nodes available to schedule pods")


PREFERS = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 10, "preference": {"matchExpressions": [expression("a", "Exists")]}},
            {"weight": 90, "preference": {"matchExpressions": [expression("b", "Exists")]}},
        ]
    }
}


@pytest.mark.parametrize(
    ("pod", "nodes", "best"),
    [
        ({}, [node("x", **AVOIDED), node("y")], "y"),
        ({}, [node("x"), node("y", amounts={"cpu": "4"})], "x"),
        ({"requests": {"cpu": "1"}}, [node("x"), node("y", amounts={"cpu": "16"})], "y"),
        (
            {"affinity": PREFERS},
            [node("x", labels={"a": ""}), node("y", labels={"b": ""})],
            "y",
        ),
        ({"affinity": PREFERS}, [node("x", labels={"a": ""}), node("y")], "x"),
    ],
)
def test_the_best_of_the_nodes_that_fit_is_taken(
    pod: Obj, nodes: list[bytes], best: str
) -> None:
    assert fit.place(asks(**pod), book(*nodes)) == Placed(best)


def test_pods_that_ask_for_nothing_are_spread_too() -> None:
    nodes = book(node("x"), node("y"))
    where = []
    for uid in "abcd":
        found = fit.place(asks(), nodes)
        assert isinstance(found, Placed)
        nodes.charge(uid, found.node, asks())
        where.append(found.node)

    assert sorted(where) == ["x", "x", "y", "y"]


def test_among_very_many_nodes_each_gets_its_turn() -> None:
    nodes = book(*(node(f"n{number}") for number in range(250)))
    found = set()
    for turn in range(250):
        placed = fit.place(asks(), nodes, turn)
        assert isinstance(placed, Placed)
        nodes.charge(str(turn), placed.node, asks())
        found.add(placed.node)

    assert len(found) == 250


def test_pods_that_ask_for_the_same_are_read_once() -> None:
    reader = requirements.Reader()

    def read(name: str, cpu: str) -> requirements.Requirements:
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
        return reader.of(
            orjson.dumps({"metadata": {"name": name}, "spec": {"containers": [container]}})
        )

    assert read("a", "1") is read("b", "1")
    assert read("a", "1") is not read("a", "2")
    assert read("a", "2").amounts == {"cpu": 2000}
