"""Both servers beside each other: rules that could cost too much are refused there, and warned of here."""

from typing import Any

import pytest

from jobferry.objects import Obj
from tests.api.crd_definition_cases import crd, version
from tests.api.twins import Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TEXT: Obj = {"type": "string"}
SHORT: Obj = {"type": "string", "maxLength": 20}
NUMBER: Obj = {"type": "integer"}


def many(items: Obj, most: int | None = None) -> Obj:
    return {"type": "array", "items": items} | ({} if most is None else {"maxItems": most})


def mapped(values: Obj, most: int | None = None) -> Obj:
    bound = {} if most is None else {"maxProperties": most}
    return {"type": "object", "additionalProperties": values, **bound}


def thing(*required: str, **properties: Obj) -> Obj:
    return {"type": "object", "properties": properties, "required": list(required)}


def ruled(text: str, schema: Obj) -> Obj:
    return {**schema, "x-kubernetes-validations": [{"rule": text}]}


NAMED = thing("name", name=TEXT, tags=many(TEXT))

CASES: dict[str, Obj] = {
    "no loop": ruled("self.a == 'x'", thing(a=TEXT)),
    "texts compared": ruled("self.a == self.b", thing(a=TEXT, b=TEXT)),
    "a search": ruled("self.a.contains('x')", thing(a=TEXT)),
    "a loop over numbers": ruled("self.a.all(x, x > 0)", thing(a=many(NUMBER))),
    "a loop with a search": ruled("self.a.all(x, x.contains('b'))", thing(a=many(TEXT))),
    "a bounded loop with a search": ruled(
        "self.a.all(x, x.contains('b'))", thing(a=many(TEXT, 10))
    ),
    "a loop with a search in short texts": ruled(
        "self.a.all(x, x.contains('b'))", thing(a=many(SHORT))
    ),
    "a loop in a loop": ruled("self.a.all(x, self.a.all(y, x == y))", thing(a=many(NUMBER))),
    "a bounded loop in a loop": ruled(
        "self.a.all(x, self.b.all(y, x == y))", thing(a=many(NUMBER), b=many(NUMBER, 100))
    ),
    "two bounded loops": ruled(
        "self.a.all(x, self.a.all(y, x == y))", thing(a=many(NUMBER, 100))
    ),
    "two long bounded loops": ruled(
        "self.a.all(x, self.a.all(y, x == y))", thing(a=many(NUMBER, 10_000))
    ),
    "in, inside a loop": ruled(
        "self.a.all(x, x in self.b)", thing(a=many(NUMBER), b=many(NUMBER))
    ),
    "in alone": ruled("1 in self.a", thing(a=many(NUMBER))),
    "members of items": ruled(
        "self.a.all(x, self.a.exists_one(y, x.name == y.name))", thing(a=many(NAMED))
    ),
    "lists in items": ruled("self.a.all(x, x.tags.size() > 0)", thing(a=many(NAMED))),
    "loops over lists in items": ruled(
        "self.a.all(x, x.tags.all(t, t != ''))", thing(a=many(NAMED))
    ),
    "a map": ruled("self.m.all(k, k != '')", thing(m=mapped(NUMBER))),
    "values of a map": ruled("self.m.all(k, self.m[k] > 0)", thing(m=mapped(NUMBER))),
    "values of a map with a search": ruled(
        "self.m.all(k, self.m[k].matches('^a'))", thing(m=mapped(TEXT))
    ),
    "for each item": many(ruled("self.name != ''", NAMED)),
    "for each item, a search": many(ruled("self.name.matches('^[a-z]+$')", NAMED)),
    "for each item, a loop": many(ruled("self.tags.all(t, t != 'a')", NAMED)),
    "for each of some items, a loop": many(ruled("self.tags.all(t, t != 'a')", NAMED), 3),
    "for each of few items, a search": many(ruled("self.name.matches('^a')", NAMED), 5),
    "filtered": ruled(
        "self.a.filter(x, x > 0).all(y, self.a.exists(z, z == y))", thing(a=many(NUMBER))
    ),
    "choices": ruled(
        "self.a.all(x, x.matches('^a'))", thing(a=many({"type": "string", "enum": ["a", "b"]}))
    ),
    "two variables": ruled(
        "self.a.all(i, x, self.a.all(j, y, i == j || x != y))", thing(a=many(NUMBER))
    ),
}


@pytest.mark.parametrize("title", CASES)
async def test_what_is_refused_for_its_cost_is_warned_of(twins: Twins, title: str) -> None:
    schema: Any = thing(spec=CASES[title])
    body = crd(versions=[version(schema)])

    both = await twins.ask("POST", CRDS, body, query={"dryRun": "All"})

    refused = both.real.code == 422
    assert refused == (b"exceeds budget" in both.real.body), both.real.body
    assert both.ours.code == 201, both.ours.body
    warned = any(name.lower() == "warning" for name in both.ours.headers)
    assert warned == refused, both.real.body
