"""CEL: what expressions mean, and which are refused."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.crds.cel import declared, programs, types
from jobferry.localkube.apiserver.crds.cel.compiler import Refused, Unusable
from jobferry.localkube.apiserver.crds.cel.values import NONE, CelError, OutOfBudget

SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "n": {"type": "number"},
        "s": {"type": "string"},
        "x-y": {"type": "string"},
        "namespace": {"type": "string"},
        "l": {"type": "array", "items": {"type": "string"}},
        "o": {"type": "object", "properties": {"x": {"type": "string"}}},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "t": {"type": "string", "format": "date-time"},
        "ts": {"type": "array", "items": {"type": "string", "format": "date-time"}},
        "d": {"type": "string", "format": "duration"},
        "b": {"type": "string", "format": "byte"},
        "i": {"x-kubernetes-int-or-string": True},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "other": {"type": "array", "items": {"type": "string"}},
        "map": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "properties": {
                    "k": {"type": "string"},
                    "at": {"type": "string", "format": "date-time"},
                },
            },
        },
    },
}
SELF = {
    "a": 5,
    "n": 2,
    "s": "hello",
    "x-y": "dash",
    "namespace": "ns",
    "l": ["b", "a"],
    "o": {},
    "m": {"one": 1, "two": 2},
    "t": "2020-01-01T00:00:00Z",
    "ts": ["2020-01-01T00:00:00Z", "2021-01-01T00:00:00+01:00"],
    "d": "90m",
    "b": "YWJj",
    "i": "5%",
    "set": ["a", "b"],
    "other": ["b", "a"],
    "map": [
        {"k": "a", "at": "2020-01-01T00:00:00Z"},
        {"k": "b", "at": "2020-01-01T01:00:00+01:00"},
    ],
}


def evaluate(text: str, old: Any = NONE, budget: int = 10_000) -> Any:
    found = declared.declared(SCHEMA)
    assert found is not None
    type_ = found[0]
    variables = {"self": (type_, 0), "oldSelf": (types.optional_of(type_), 1)}
    program = programs.compile_text(text, variables)
    return program.run([SELF, old, budget, *([None] * program.frame_size)])


@pytest.mark.parametrize(
    "text",
    [
        "self.a == 5 && !(self.a != 5)",
        "self.a < 5.5 && self.n == 2.0",
        "has(self.a) && !has(self.o.x)",
        "self.x__dash__y == 'dash' && self.namespace == 'ns' && self.__namespace__ == 'ns'",
        "self.l.all(x, x.size() == 1) && self.l.exists(x, x == 'a') && self.l.exists_one(x, x == 'a')",
        "self.l.map(x, x + '!') == ['b!', 'a!'] && self.l.filter(x, x > 'a') == ['b']",
        "self.m.all(k, self.m[k] > 0) && self.m.all(k, v, v < 3) && 'one' in self.m",
        "self.t == timestamp('2020-01-01T00:00:00Z') && self.t.getFullYear() == 2020",
        "self.ts.all(t, t < timestamp('2022-01-01T00:00:00Z')) && self.ts[1] > self.ts[0]",
        "self.d == duration('1h30m') && self.d.getMinutes() == 90",
        "self.b == b'abc'",
        "type(self.i) == string && self.i.endsWith('%')",
        "self.set == self.other",
        "self.map[0].at == self.map[1].at",
        "oldSelf.?a.orValue(1) == 1 && !oldSelf.hasValue()",
        "self.?o.?x.orValue('none') == 'none' && self.l[?5].hasValue() == false",
        "true || 1 / 0 == 1",
        "1 / 0 == 1 || true",
        "!(false && 1 / 0 == 1)",
        "[1, 2, 3].sum() == 6 && [3, 1, 2].max() == 3 && ['a', 'b'].isSorted()",
        "[[1], [2, 3]].flatten() == [1, 2, 3] && [1, 1, 2].distinct() == [1, 2]",
        "self.l.sortBy(x, x) == ['a', 'b'] && [3, 1].sort() == [1, 3] && lists.range(2) == [0, 1]",
        "sets.contains(self.l, ['a']) && sets.equivalent([1, 1], [1]) && sets.intersects([1], [1, 2])",
        "'a-b'.split('-') == ['a', 'b'] && ['a', 'b'].join(',') == 'a,b' && 'abc'.charAt(1) == 'b'",
        "'%s is %d, %.2f'.format(['it', 5, 1.5]) == 'it is 5, 1.50'",
        "'abc'.substring(1, 2) == 'b' && 'aXb'.lowerAscii() == 'axb' && 'abcabc'.lastIndexOf('b') == 4",
        "'a1b2'.find('[0-9]') == '1' && 'a1b2'.findAll('[0-9]') == ['1', '2']",
        "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('500m').add(quantity('500m')).asInteger() == 1",
        "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.1.1') && !isIP('x')",
        "url('https://a.b:8/c?d=e').getPort() == '8' && url('https://a/?d=e').getQuery()['d'] == ['e']",
        "semver('1.10.0').isGreaterThan(semver('1.9.0')) && !isSemver('v1')",
        "format.dns1123Label().validate('A_').hasValue() && !format.named('nope').hasValue()",
        "int('7') == 7 && string(1.5) == '1.5' && double('2') == 2.0 && uint(3) == 3u",
        "7 / 2 == 3 && -7 / 2 == -3 && -7 % 2 == -1",
        "{'a': 1}.a == 1 && {'a': 1}['a'] == 1 && size({'a': 1}) == 1",
        "dyn(1) == 1.0 && dyn(1) != dyn('1') && dyn(true) != dyn(1)",
        "self.a in [1, 5] && !('x' in self.l)",
        "optional.of(1).optMap(x, x + 1).value() == 2",
        "self.set + ['b', 'c'] == ['c', 'b', 'a'] && self.other + ['b'] == ['b', 'a', 'b']",
        "(self.map + [self.map[0]]).size() == 2",
        "string(self.ts[1]) == '2021-01-01T00:00:00+01:00' && self.ts[1].getHours('') == 23",
        "self.d.getMilliseconds() == 5400000 && string(duration('1h0.5s')) == '3600.5s'",
        "string(1e20) == '1e+20' && string(123456.5) == '123456.5' && string(1e-7) == '1e-07'",
        "'%f, %e'.format([12345.5, 0.001]) == '12,345.500000, 1.000000\u00d710⁻⁰³'",
        "'%s'.format([[1, 'a', 2.0, {'k': null}]]) == '[1, \"a\", 2.000000, {\"k\":null}]'",
        "'%x %X %o %b'.format(['hi', 255, 8, true]) == '6869 FF 10 1'",
        "strings.quote('a\"\\n') == '\"a\\\\\"\\\\n\"' && 'ab'.indexOf('b', 9) == -1",
        "'abc'.findAll('a|') == ['a', '', ''] && 'x'.findAll('x??') == ['', '']",
        "type(ip('::1')) == net.IP && type(cidr('::/0')) == net.CIDR",
        "url('mailto:a@b').getScheme() == 'mailto' && url('//h/p').getHost() == 'h'",
        "url('http://a/b c?x=%zz&y=1;2&z=1#f').getEscapedPath() == '/b%20c'",
        "url('http://a/?x=%zz&y=1;2&z=1#f').getQuery() == {'z': ['1']}",
        "url('http://[::1%25e]:8/').getHostname() == '::1%e' && !isURL('http://a%41/')",
        "isURL('http://a:99999/') && !isURL('http://a:b/') && !isURL('a') && !isURL('http://[::1')",
        "!isCIDR('::ffff:1.2.3.4/120') && !isCIDR('fe80::1%e/64') && !isQuantity(' 1')",
        "isSemver('v01.2', true) && !isSemver('1.2.3-01') && !isSemver('1.2.3-a..b')",
        "!isSemver('', true) && !isSemver('1.2-a', true) && !isSemver('99999999999999999999.0.0')",
        "!optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue()",
        "!(dyn([1]) in {1: 2})",
        "dyn([1.0, 2.0]).sum() == 3.0 && {'a': 1, 'a': 2}.a == 2",
        "r'\\d' == '\\\\d' && '\\u0041' == 'A' && '''a'b''' == \"a'b\"",
    ],
)
def test_an_expression_holds(text: str) -> None:
    assert evaluate(text) is True


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("self.o.x == 'a'", "no such key: x"),
        ("self.m.three == 3", "no such key: three"),
        ("self.l[5] == 'a'", "index out of bounds: 5"),
        ("1 / 0 == 1", "division by zero"),
        ("1 % 0 == 1", "modulus by zero"),
        ("9223372036854775807 + 1 == 0", "integer overflow"),
        ("self.i < 5", "no such overload"),
        ("[].max() == 1", "max called on empty list"),
        ("optional.none().value() == 1", "optional.none() dereference"),
        ("self.l.all(x, 1 / 0 == 1)", "division by zero"),
        ("-9223372036854775808 % -1 == 0", "integer overflow"),
        ("uint(1e308 * 10.0) == 1u", "unsigned integer overflow"),
        ("[dyn(1), dyn('a')].sort() == []", "list elements must have the same type"),
        ("[dyn(1), dyn('a')].sum() == 1", "no such overload"),
        ("[null].sort() == []", "list elements must be comparable"),
        ("null < null", "no such overload"),
        ("dyn(self.l).orValue([]) == []", "no such overload"),
        ("dyn(1).optMap(x, x).hasValue()", "no such overload"),
        ("dyn([1]).join() == ''", "no such overload"),
        ("dyn(1)[?0].hasValue()", "no such overload: _[?_](int, int)"),
        ("dyn([1]).unwrapOpt() == []", "no such overload"),
        ("{[1]: 1} == {}", "unsupported key type: list"),
        ("lists.range(99999999) == []", "operation cancelled: actual cost limit exceeded"),
        (
            "'%d'.format([dyn('a')]) == ''",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
    ],
)
def test_an_expression_has_no_value(text: str, words: str) -> None:
    with pytest.raises(CelError) as caught:
        evaluate(text)
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("self.nope == 1", 5, "undefined field 'nope'"),
        ("has(self.nope)", 4, "undefined field 'nope'"),
        ("foo == 1", 1, "undeclared reference to 'foo' (in container '')"),
        (
            "self.a == 'x'",
            8,
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
        (
            "self.s.startsWith(1)",
            18,
            "found no matching overload for 'startsWith' applied to 'string.(int)'",
        ),
        ("self.a && true", 5, "expected type 'bool' but found 'int'"),
        ("namespace == 'a'", 1, "reserved identifier: namespace"),
        ("self.s.matches('(')", 16, "invalid matches argument"),
        ("[1, 'a'].size() == 2", 5, "expected type 'int' but found 'string'"),
        ("self.true == 1", 6, "Syntax error: mismatched input 'true' expecting IDENTIFIER"),
        ("self.a! == 1", 7, "Syntax error: mismatched input '!' expecting <EOF>"),
        ("timestamp(-62135596801) == self.t", 11, "invalid timestamp argument"),
        ("duration(1) == self.d", 10, "invalid duration argument"),
        ("self.l.all(x, x, true)", 15, "duplicate variable name: x"),
        ("'%s'.format([]) == ''", 12, "index 0 out of range"),
        (
            "'%s'.format([1, 2]) == ''",
            12,
            "too many arguments supplied to string.format (expected 1, got 2)",
        ),
        (
            "'%d %d'.format([1, self.s]) == ''",
            24,
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
    ],
)
def test_a_wrong_expression_is_refused_where_it_is_wrong(
    text: str, at: int, words: str
) -> None:
    with pytest.raises(Refused) as caught:
        evaluate(text)
    assert (
        str(caught.value) == f"ERROR: <input>:1:{at}: {words}\n | {text}\n | {'.' * (at - 1)}^"
    )


def test_entries_that_do_not_fit_the_first_are_all_told_of() -> None:
    with pytest.raises(Refused) as caught:
        evaluate("{'a': 'x', 'b': 1, 'c': true}.size() == 3")
    assert str(caught.value).count("expected type 'string' but found") == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("int('a') == 1", "type conversion error from 'string' to 'int'"),
        ("self.s.find(')') == ''", "error parsing regexp: unexpected ): `)`"),
    ],
)
def test_a_value_that_can_never_be_made_is_told_of_beforehand(text: str, words: str) -> None:
    with pytest.raises(Unusable) as caught:
        evaluate(text)
    assert str(caught.value) == words


def test_a_text_cannot_be_made_to_grow_for_ever() -> None:
    doubled = "optional.of('aaaaaaaaaa')" + ".optMap(s, s + s)" * 40
    with pytest.raises(OutOfBudget):
        evaluate(f"{doubled}.hasValue()")
    with pytest.raises(OutOfBudget):
        evaluate("'aaaa'" + ".replace('a', 'aaaa')" * 20 + " == ''")


def test_an_expression_may_be_long_but_not_deep() -> None:
    assert evaluate(" && ".join(["self.a == 5"] * 5000)) is True
    for deep in (" == true" * 251, " + 1" * 251, ".a" * 251, " ? 1 : (1" * 2000):
        with pytest.raises(Refused, match="<input>:-1:0: max recursion depth exceeded"):
            evaluate(f"1{deep}")


def test_a_loop_ends_when_its_budget_does() -> None:
    with pytest.raises(OutOfBudget):
        evaluate("lists.range(100).all(x, lists.range(100).all(y, true))", budget=500)


def test_what_would_lose_its_meaning_is_refused() -> None:
    with pytest.raises(Refused, match="this server cannot evaluate dyn"):
        evaluate("dyn(self) == dyn(self)")
