"""Bodies that are meant to break whoever reads them."""

_LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)

BOMBS: tuple[bytes, ...] = (
    *(
        b"",
        b" ",
        b"null",
        b"[]",
        b"{}",
        b"0",
        b'"',
        b"\x00",
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf{}",
    ),
    *(
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 500 + b"]" * 500,
        b"[[]," * 3000,
        b'{"a":' * 600 + b"1" + b"}" * 600,
    ),
    *(
        b'{"metadata":' + b'{"a":' * n + b"1" + b"}" * n + b"}"
        for n in (100, 505, 511, 512, 900)
    ),
    *(
        b"9" * 5000,
        b'{"a":' + b"9" * 400 + b"}",
        b"1e999",
        b"-0",
        b'{"a":1e-999}',
        b'"\\ud800"',
        b'{"\\ud800":1}',
    ),
    *(
        b"a: &a [*a]",
        b"a: &a [*a, *a]",
        b"&a {a: *a, b: *a}",
        b"<<: *a",
        b"a: &a {<<: *a}",
        b"? [a]\n: b",
        b"? {a: b}\n: c",
    ),
    *(
        _LAUGHS.encode(),
        b"metadata: {name: x, labels: &l {a: b}, annotations: *l}",
        b"--- {}\n--- {}\n",
        b"%YAML 9.9\n---\n{}",
    ),
    *(
        b"!!python/object:os.system {}",
        b"a: !!binary YQ==",
        b"a: !!set {x}",
        b"a: !!timestamp 2026-01-01",
        b"a: !x y",
        b"!!float x",
    ),
    *(
        b"a: !!int x",
        b"a: !!bool x",
        b"a: !!null x",
        b"a: " + b"9" * 5000,
        b'a: "\\ud800"',
        b'a: "\\U0010ffff"',
        b"a: 0o9",
        b"a: 0x_",
        b"a: 0b_",
    ),
    *(
        b"a: 99999999999999999999999",
        b"a: -99999999999999999999999",
        b"a: .5e999",
        b"a: .inf",
        b"{" * 5000,
        b"- " * 5000,
        b"a:\n" + b" - -" * 3000,
    ),
    *(
        b"a: 1__0",
        b"a: +",
        b"a: -.",
        b"1: 2\n'1': 3",
        b"true: 1",
        b"~: 1",
        b".5: 1",
        b"1e400: 1",
    ),
    *(
        b"k8s\x00",
        b"k8s\x00\x0a",
        b"k8s\x00" + b"\x12\xff\xff\xff\xff\x7f",
        b"k8s\x00" + b"\x0b" * 5000,
        b"k8s\x00" + b"\x12\x02\x0a\x00" * 999,
    ),
    b'{"metadata":{"name":"x"},"kind":["a"],"apiVersion":{}}',
    b'{"kind":"Pod","kind":"Job","metadata":null,"spec":1}',
    b'{"data":{' + b",".join(b'"k%d":"v"' % n for n in range(30_000)) + b"}}",
    b'[{"op":"copy","from":"","path":"/a"},'
    + b",".join([b'{"op":"copy","from":"/a","path":"/a/a"}'] * 30)
    + b"]",
    b"[" + b",".join([b'{"op":"copy","from":"","path":"/metadata/annotations"}'] * 25) + b"]",
    b"[" + b",".join([b'{"op":"test","path":"/a","value":1}'] * 10_001) + b"]",
)
