from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects import labels
from jobferry.objects.labels import EVERYTHING, NOTHING, BadSelector

WEB = {"app": "web", "tier": "front", "example.com/rank": "7", "empty": ""}

keys = st.sampled_from(["a", "b", "c.d", "example.com/e", "in", "notin"])
values = st.sampled_from(["", "x", "y-1", "in", "10", "2"])
label_sets = st.dictionaries(keys, values)
lists = st.lists(values, min_size=1).map(",".join)
requirements = st.one_of(
    keys,
    keys.map("!{}".format),
    st.builds("{}{}{}".format, keys, st.sampled_from(["=", "==", "!="]), values),
    st.builds("{} {} ({})".format, keys, st.sampled_from(["in", "notin"]), lists),
    st.builds("{}{}{}".format, keys, st.sampled_from("<>"), st.integers(0, 20)),
)
selectors = st.lists(requirements).map(", ".join)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "app",
        "app=web",
        "app==web",
        "app = web , tier=front",
        "app!=db",
        "absent!=db",
        "!absent",
        "app in (db,web)",
        "app notin (db)",
        "absent notin (db)",
        "empty=",
        "empty in ()",
        "empty in (x,)",
        "empty in (,x)",
        "empty in (x,,y)",
        "example.com/rank>6",
        "example.com/rank<8",
        "example.com/rank>0,app",
    ],
)
def test_a_selector_matches_what_meets_every_requirement(text: str) -> None:
    assert labels.parse(text).matches(WEB)


@pytest.mark.parametrize(
    "text",
    [
        "absent",
        "!app",
        "app=db",
        "app==",
        "app!=web",
        "app in (db)",
        "app in ()",
        "absent in (web)",
        "app notin (db,web)",
        "example.com/rank>7",
        "example.com/rank<7",
        "app>1",
        "absent<1",
        "app=web,tier=back",
    ],
)
def test_a_selector_does_not_match_what_misses_one_requirement(text: str) -> None:
    assert not labels.parse(text).matches(WEB)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("b,a", "a,b"),
        (" x  in ( c , a,b,a ) ", "x in (a,b,c)"),
        ("x notin ()", "x notin ()"),
        ("x in (,)", "x in ()"),
        ("x==1,!y,z!=2", "x==1,!y,z!=2"),
        ("x=,y>1,z<2", "x=,y>1,z<2"),
        ("in in (in,notin),notin=in", "in in (in,notin),notin=in"),
    ],
)
def test_a_selector_prints_in_canonical_form(text: str, canonical: str) -> None:
    assert str(labels.parse(text)) == canonical


@given(selectors)
def test_canonical_text_reads_back_as_the_same_selector(text: str) -> None:
    selector = labels.parse(text)

    assert labels.parse(str(selector)) == selector


@given(keys, lists, label_sets)
def test_a_negated_requirement_matches_exactly_what_the_plain_one_does_not(
    key: str, listed: str, label_set: dict[str, str]
) -> None:
    for plain, negated in [("{} in ({})", "{} notin ({})"), ("{}", "!{}")]:
        matches = labels.parse(plain.format(key, listed)).matches(label_set)

        assert labels.parse(negated.format(key, listed)).matches(label_set) is not matches


BAD_NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
BAD_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',"
    "  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
BAD_PREFIX = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
NOT_PARSED = "unable to parse requirement: "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", NOT_PARSED + "found '', expected: identifier"),
        ("a b", NOT_PARSED + "found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a(", NOT_PARSED + "found '(', expected: in, notin, =, ==, !=, gt, lt"),
        ("a===b", NOT_PARSED + "found '=', expected: identifier"),
        ("a in b", NOT_PARSED + "found 'b' expected: '('"),
        ("a in", NOT_PARSED + "found '' expected: '('"),
        ("a in (", NOT_PARSED + "found '', expected: ',', ')' or identifier"),
        ("a in (=", NOT_PARSED + "found '=', expected: ',', ')' or identifier"),
        ("a in (b", NOT_PARSED + "found '', expected: ',' or ')'"),
        ("a in (b,", NOT_PARSED + "found '', expected: ',', or identifier"),
        (
            "a>x",
            NOT_PARSED + 'values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
        ("a=-", NOT_PARSED + f'values[0][a]: Invalid value: "-": {BAD_VALUE}'),
        (
            "a in (-,_)",
            NOT_PARSED + f'[values[0][a]: Invalid value: "-": {BAD_VALUE}, '
            f'values[1][a]: Invalid value: "_": {BAD_VALUE}]',
        ),
        ("-", NOT_PARSED + f'<nil>: Invalid value: "-": name part {BAD_NAME}'),
        ("é", NOT_PARSED + f'<nil>: Invalid value: "é": name part {BAD_NAME}'),
    ],
)
def test_bad_text_is_refused_in_the_words_of_an_api_server(text: str, message: str) -> None:
    with pytest.raises(BadSelector) as caught:
        labels.parse(text)

    assert str(caught.value) == message


@given(st.text("ab=!<>(), \t-in", max_size=12))
def test_any_text_is_read_or_refused_but_never_crashes(text: str) -> None:
    with suppress(BadSelector):
        labels.parse(text)


def test_an_absent_selector_object_matches_nothing_and_an_empty_one_everything() -> None:
    assert labels.from_object(None) == NOTHING
    assert not NOTHING.matches({})
    assert labels.from_object({}) == EVERYTHING
    assert EVERYTHING.matches(None)
    assert str(NOTHING) == str(EVERYTHING) == ""


def test_a_selector_object_means_the_same_as_its_text() -> None:
    selector = labels.from_object(
        {
            "matchLabels": {"tier": "front", "app": "web"},
            "matchExpressions": [
                {"key": "env", "operator": "In", "values": ["test", "prod"]},
                {"key": "zone", "operator": "NotIn", "values": ["z"]},
                {"key": "rank", "operator": "Exists"},
                {"key": "old", "operator": "DoesNotExist", "values": None},
            ],
        }
    )

    assert str(selector) == "app=web,env in (prod,test),!old,rank,tier=front,zone notin (z)"
    assert selector.matches({"app": "web", "tier": "front", "env": "test", "rank": ""})
    assert not selector.matches({"app": "web", "tier": "front", "env": "dev", "rank": ""})


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"matchLabels": {"a": "-"}}, f'values[0][a]: Invalid value: "-": {BAD_VALUE}'),
        (
            {"matchLabels": {"-": "-"}},
            (
                f'[key: Invalid value: "-": name part {BAD_NAME}, '
                f'values[0][-]: Invalid value: "-": {BAD_VALUE}]'
            ),
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
            '"Gt" is not a valid label selector operator',
        ),
        ({"matchExpressions": [{"key": "a"}]}, '"" is not a valid label selector operator'),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            (
                "values: Invalid value: null: "
                "for 'in', 'notin' operators, values set can't be empty"
            ),
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x", "y"]}]},
            (
                'values: Invalid value: ["x","y"]: '
                "values set must be empty for exists and does not exist"
            ),
        ),
        (
            {"matchExpressions": [{"operator": "Exists"}]},
            f'key: Invalid value: "": name part must be non-empty; name part {BAD_NAME}',
        ),
    ],
)
def test_a_bad_selector_object_is_refused_in_the_words_of_an_api_server(
    selector: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadSelector) as caught:
        labels.from_object(selector)

    assert str(caught.value) == message


@pytest.mark.parametrize("key", ["a", "A.b_c-1", "example.com/a", "n" * 63, f"{'p' * 253}/a"])
def test_a_good_key_has_no_problems(key: str) -> None:
    assert labels.key_problems(key) == []


@pytest.mark.parametrize(
    ("key", "problems"),
    [
        ("", ["name part must be non-empty", f"name part {BAD_NAME}"]),
        ("-a", [f"name part {BAD_NAME}"]),
        ("a\n", [f"name part {BAD_NAME}"]),
        ("n" * 64, ["name part must be no more than 63 bytes"]),
        ("/a", ["prefix part must be non-empty"]),
        ("Example.com/a", [f"prefix part {BAD_PREFIX}"]),
        (f"{'p' * 254}/a", ["prefix part must be no more than 253 bytes"]),
        (
            "a/b/c",
            [
                (
                    f"a valid label key {BAD_NAME} with an optional DNS subdomain prefix and '/' "
                    "(e.g. 'example.com/MyName')"
                )
            ],
        ),
    ],
)
def test_a_bad_key_is_told_in_the_words_of_an_api_server(key: str, problems: list[str]) -> None:
    assert labels.key_problems(key) == problems


@pytest.mark.parametrize(
    ("value", "problems"),
    [
        ("", []),
        ("v" * 63, []),
        ("v" * 64, ["must be no more than 63 bytes"]),
        ("a b", [BAD_VALUE]),
        ("é" * 32, ["must be no more than 63 bytes", BAD_VALUE]),
    ],
)
def test_a_value_is_judged_in_the_words_of_an_api_server(
    value: str, problems: list[str]
) -> None:
    assert labels.value_problems(value) == problems
