"""Steps of paths: their text, their order, how messages show them."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.managed import path_steps
from jobferry.localkube.apiserver.shapes import LEAF, ListMap


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", '"a"'),
        ('a"\\b', '"a\\"\\\\b"'),
        ("<&>\u2028", '"\\u003c\\u0026\\u003e\\u2028"'),
        ("\b\f\n\x01é", '"\\u0008\\u000c\\n\\u0001é"'),
        ("\\b", '"\\\\b"'),
        (1, "1"),
        (1.0, "1"),
        (2.5, "2.5"),
        (True, "true"),
        (None, "null"),
        ([1, "a"], '[1,"a"]'),
        ({"b": 1, "a": False}, '{"a":false,"b":1}'),
    ],
)
def test_values_are_written_as_go_writes_them(value: Any, text: str) -> None:
    assert path_steps.value_text(value) == text


def test_the_values_of_several_keys_are_sorted_by_name() -> None:
    shape = ListMap(("protocol", "port"), LEAF)

    assert (
        path_steps.of_item(shape, {"protocol": "TCP", "port": 80})
        == 'k:{"port":80,"protocol":"TCP"}'
    )


def test_a_key_that_is_left_out_is_not_in_the_step() -> None:
    shape = ListMap(("name", "port"), LEAF, {"port": None})

    assert path_steps.of_item(shape, {"name": "x"}) == 'k:{"name":"x"}'


def test_a_key_that_is_no_string_has_a_step_too() -> None:
    step = path_steps.maker(ListMap(("port",), LEAF))

    assert [step({"port": 80}), step({"port": "80"})] == ['k:{"port":80}', 'k:{"port":"80"}']


def test_steps_come_in_the_order_of_upstream() -> None:
    steps = [
        ".",
        "f:a",
        "f:b",
        'k:{"name":"a"}',
        'k:{"name":"a","port":1}',
        'k:{"name":"a!"}',
        'k:{"port":9}',
        'k:{"port":80}',
        "v:2.5",
        "v:10",
        'v:"a"',
        'v:"a!"',
        "v:false",
        "v:true",
        "v:[1]",
        'v:{"a":1}',
        "v:null",
        "i:2",
        "i:10",
    ]

    shuffled = steps[::-1]
    shuffled.sort(key=path_steps.rank)

    assert shuffled == steps


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        ("f:a.b/c", ".a.b/c"),
        ('k:{"name":"a\\"b","port":8}', '[name="a\\"b",port=8]'),
        ('v:"x\\u003c"', '[="x<"]'),
        ("v:true", "[=true]"),
        ("v:null", "[=null]"),
        ('v:[1,{"a":null}]', "[=[1,a=null]]"),
        ("i:3", "[3]"),
    ],
)
def test_steps_are_shown_as_upstream_shows_them(step: str, shown: str) -> None:
    assert path_steps.shown(step) == shown


@pytest.mark.parametrize(
    ("sent", "ours"),
    [
        ('k:{"port": 80.0, "name": "\\u0061"}', 'k:{"name":"a","port":80}'),
        ('v: "x"', 'v:"x"'),
        ("i:+07", "i:7"),
        ("f:", "f:"),
    ],
)
def test_a_step_that_a_client_wrote_gets_our_form(sent: str, ours: str) -> None:
    assert path_steps.canonical(sent) == ours


@pytest.mark.parametrize("step", ["", "f", "fx", "k:{", "k:[]", "v:", "i:x"])
def test_what_is_no_step_is_refused(step: str) -> None:
    with pytest.raises(path_steps.BadStep):
        path_steps.canonical(step)
