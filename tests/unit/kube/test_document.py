from pathlib import Path

import pytest

from jobferry.errors import BadInput
from jobferry.kube.document import Node, Source, Trust, parse


def read(content: str | bytes) -> Node:
    return parse(content.encode() if isinstance(content, str) else content, Source("config"))


@pytest.mark.parametrize("content", ["", " \n", "# nothing\n", "null", "---\n", "{}"])
def test_an_empty_document_has_no_entries(content: str) -> None:
    assert read(content)["clusters"].items() == []


def test_json_indented_by_tabs_is_read() -> None:
    assert read('{\n\t"current-context":\t"a"\n}')["current-context"].text() == "a"


def test_yaml_in_flow_style_is_read() -> None:
    assert read("{current-context: a}")["current-context"].text() == "a"


def test_a_byte_order_mark_is_skipped() -> None:
    assert read(b"\xef\xbb\xbfcurrent-context: a")["current-context"].text() == "a"


def test_the_first_of_several_documents_counts() -> None:
    assert (
        read("current-context: a\n---\ncurrent-context: b\n")["current-context"].text() == "a"
    )


def test_of_a_key_that_is_there_twice_the_last_counts() -> None:
    assert read("current-context: a\ncurrent-context: b\n")["current-context"].text() == "b"


def test_what_looks_like_a_date_is_text() -> None:
    assert read("current-context: 2020-01-01")["current-context"].text() == "2020-01-01"


def test_null_is_the_same_as_absent() -> None:
    root = read("clusters: null\ncontexts: [null, {name: x, context: null}]\n")

    assert root["clusters"].items() == []
    assert root["contexts"].named("context")["x"]["cluster"].text() == ""


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a: b: c", "not valid YAML, line 1: mapping values are not allowed in this context"),
        ("a:\n\tb: c", "not valid YAML, line 2: found character that cannot start any token"),
        ("a: 1\nb: *hunter2", "not valid YAML, line 2: an alias, tag or key that .*"),
        ("a: !hunter2 x", "not valid YAML, line 1: an alias, tag or key that .*"),
        ("a: &x {b: c}\nd: {<<: *x}", "not valid YAML, line 2: an alias, tag or key that .*"),
        ("[" * 100_000, "not valid YAML, line 1: nested too deeply"),
        ("- " * 100_000, "not valid YAML, line 1: nested too deeply"),
        (b"a: \xff", "not valid YAML"),
        ("a: !!int hunter2", "not valid YAML"),
        ("a: !!bool hunter2", "not valid YAML"),
        ("a: !!timestamp hunter2", "not valid YAML"),
        ("a: " + "9" * 5000, "not valid YAML"),
        ("kind: Secret\napiVersion: v1", "holds kind 'Secret' of 'v1', not a kubeconfig .*"),
        ("kind: Config\napiVersion: v2", "holds kind 'Config' of 'v2', not a kubeconfig .*"),
        ("[]", "expected a map, found a list"),
        ("just text", "expected a map, found text"),
    ],
)
def test_what_is_no_kubeconfig_is_refused_in_one_line(
    content: str | bytes, problem: str
) -> None:
    with pytest.raises(BadInput, match=f"^config: {problem}$") as caught:
        read(content)

    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "found"),
    [("[x]", "a list"), ("{x: y}", "a map"), ("12", "a number"), ("yes", "true or false")],
)
def test_a_value_of_the_wrong_type_is_refused_by_its_key(value: str, found: str) -> None:
    users = read(f"users: [{{name: ci, user: {{token: {value}}}}}]")["users"].named("user")

    with pytest.raises(
        BadInput, match=rf"^config: users\[name=ci\].user.token: expected text, found {found}$"
    ):
        users["ci"]["token"].text()


def test_a_number_in_place_of_text_comes_with_a_hint() -> None:
    with pytest.raises(BadInput) as caught:
        read("current-context: 12")["current-context"].text()

    assert caught.value.hint == "Put it in quotes."


@pytest.mark.parametrize("content", ['{"a": "x\\u0000y"}', '{"a": "\\ud800"}', 'a: "\\ud800"'])
def test_text_that_no_file_name_or_header_can_hold_is_refused(content: str) -> None:
    with pytest.raises(BadInput, match=r"^config: "):
        read(content)["a"].text()


def test_half_a_character_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^config: a: not valid Unicode$"):
        Node(Source("config"), "a", "\ud800").text()


def test_a_name_that_is_there_twice_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^config: users: the name 'a' is there twice$"):
        read("users: [{name: a}, {name: a}]")["users"].named("user")


def test_base64_may_have_line_breaks() -> None:
    assert read('a: "YW\\nJj"')["a"].data() == b"abc"


@pytest.mark.parametrize("content", ["@@", "YW Jj", "YWJ", "é"])
def test_wrong_base64_is_refused(content: str) -> None:
    with pytest.raises(BadInput, match=r"^config: a: not valid base64$"):
        read(f"a: '{content}'")["a"].data()


def test_paths_start_from_the_folder_of_the_file_that_names_them() -> None:
    root = parse(b"a: ../pki/ca.crt\nb: /ca.crt", Source("config", Path("/home/ann/.kube")))

    assert root.resolve(root["a"].text()) == Path("/home/ann/pki/ca.crt")
    assert root.resolve(root["b"].text()) == Path("/ca.crt")


def test_a_relative_path_without_a_folder_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^config: a: a relative path$"):
        read("a: ca.crt")["a"].file()


def test_an_absolute_path_needs_no_folder() -> None:
    given = read("a: /pki/ca.crt")["a"].file()

    assert given is not None
    assert given.content == Path("/pki/ca.crt")


def test_values_are_never_shown() -> None:
    assert "hunter2" not in repr(read("a: hunter2"))
    assert "hunter2" not in repr(read("a: hunter2")["a"])


# -- what a policy lets it name ----------------------------------------------------------------


def named(name: str, folder: Path | None, files: Path | None) -> Path:
    given = Node(Source("config", folder, Trust(files=files)), "a", name).file()
    assert given is not None
    assert isinstance(given.content, Path)
    return given.content


def test_a_file_in_the_folder_of_the_policy_is_taken(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()

    assert named("pki/ca.crt", tmp_path, tmp_path) == tmp_path / "pki/ca.crt"
    assert named("../ca.crt", tmp_path / "pki", tmp_path) == tmp_path / "ca.crt"
    assert named(f"{tmp_path}/ca.crt", None, tmp_path) == tmp_path / "ca.crt"


@pytest.mark.parametrize("name", ["/ca.crt", "../ca.crt", "pki/../../ca.crt", "../allowed2/ca"])
def test_a_file_outside_the_folder_of_the_policy_is_refused(tmp_path: Path, name: str) -> None:
    allowed = tmp_path / "allowed"

    with pytest.raises(BadInput) as caught:
        named(name, allowed, allowed)

    assert str(caught.value) == f"config: a: refused: not in the folder {allowed}"


def test_without_a_folder_every_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"^config: a: refused: files are not allowed here$"):
        named("ca.crt", tmp_path, None)


def test_a_link_counts_by_where_it_leads(tmp_path: Path) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "token"
    allowed.mkdir()
    outside.write_text("hunter2")
    (allowed / "file").symlink_to(outside)
    (allowed / "folder").symlink_to(tmp_path)

    for name in ("file", "folder/token"):
        with pytest.raises(BadInput, match="not in the folder"):
            named(name, allowed, allowed)


def test_a_link_inside_the_folder_is_followed_anew_at_each_reading(tmp_path: Path) -> None:
    """As a mounted Secret is renewed: a link is moved to a new folder and the old one removed."""
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "token").write_text(version)
    link = tmp_path / "data"
    link.symlink_to(tmp_path / "1")
    given = Node(Source("config", tmp_path, Trust(files=tmp_path)), "a", "data/token").file()
    assert given is not None
    assert given.read() == b"1"

    link.unlink()
    link.symlink_to(tmp_path / "2")

    assert given.read() == b"2"


def test_the_folder_of_the_policy_may_be_a_link_itself(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")

    assert named("ca.crt", link, link) == link / "ca.crt"
    assert named(f"{tmp_path}/real/ca.crt", None, link) == tmp_path / "real/ca.crt"


def test_what_is_written_in_place_is_no_file() -> None:
    node = Node(Source("config", policy=Trust(files=None)), "a", {"x-data": "YWJj"})

    given = node.material("x")

    assert given is not None
    assert given.content == b"abc"
