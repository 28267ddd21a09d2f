from contextlib import suppress
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from jobferry import settings
from jobferry.errors import BadInput
from jobferry.settings import DEFAULTS, Setting, Settings, every
from jobferry.settings.readers import Address
from tools import settings_page

ALL = list(every())


def write(folder: Path, content: str | bytes) -> Path:
    file = folder / "jobferry.yaml"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def refusal(file: Path | None = None, **words: dict[str, str]) -> BadInput:
    with pytest.raises(BadInput) as caught:
        settings.load(file=file, **words)
    return caught.value


# Where they come from


def test_what_nobody_sets_has_its_default() -> None:
    assert settings.load() == Settings() == DEFAULTS


def test_a_flag_beats_the_environment_which_beats_a_file(tmp_path: Path) -> None:
    file = write(tmp_path, "passes: 1\nrequestsInFlight: 1\nlease: {duration: 30, name: one}")
    environ = {"JOBFERRY_PASSES": "2", "JOBFERRY_REQUESTS_IN_FLIGHT": "2", "OTHER": "2"}

    found = settings.load(file=file, environ=environ, flags={"passes": "3"})

    assert (found.passes, found.requests_in_flight) == (3, 2)
    assert (found.lease.duration, found.lease.name) == (30, "one")
    assert found.lease.namespace == DEFAULTS.lease.namespace


def test_an_empty_variable_is_none(tmp_path: Path) -> None:
    file = write(tmp_path, "listen: ':80'")

    found = settings.load(file=file, environ={"JOBFERRY_LISTEN": "", "JOBFERRY_PASSES": ""})

    assert (found.listen, found.passes) == (Address("", 80), DEFAULTS.passes)


def test_an_empty_flag_takes_back_what_a_file_says(tmp_path: Path) -> None:
    file = write(tmp_path, "listen: ':80'")

    assert settings.load(file=file, flags={"listen": ""}).listen is None


def test_variables_that_kubernetes_makes_for_a_service_of_our_name_do_no_harm() -> None:
    links = {"JOBFERRY_PORT": "tcp://10.0.0.1:80", "JOBFERRY_SERVICE_HOST": "10.0.0.1"}

    assert settings.load(environ=links) == DEFAULTS


@pytest.mark.parametrize("content", ["", "# nothing\n", "{}", "[]", "lease: {}"])
def test_a_file_may_say_nothing(content: str, tmp_path: Path) -> None:
    assert settings.load(file=write(tmp_path, content)) == DEFAULTS


def test_a_list_is_a_list_in_a_file_and_has_commas_elsewhere(tmp_path: Path) -> None:
    file = write(tmp_path, "managedBy: [a.io/b, c.io/d]\nexecPlugins:\n- aws\n- /opt/g c\n")

    found = settings.load(file=file)
    same = settings.load(flags={"managedBy": "a.io/b,c.io/d", "execPlugins": "aws,/opt/g c"})

    assert found == same
    assert found.managed_by == ("a.io/b", "c.io/d")
    assert found.exec_plugins == ("aws", "/opt/g c")


# What is wrong is said with its place


@pytest.mark.parametrize("place", ["file", "environ", "flags"])
def test_a_wrong_value_is_told_with_its_place(place: str, tmp_path: Path) -> None:
    wrong = "few"
    if place == "file":
        said = refusal(write(tmp_path, f"lease:\n  duration: {wrong}\n"))
        named = f"{tmp_path}/jobferry.yaml: lease.duration"
    elif place == "environ":
        said = refusal(environ={"JOBFERRY_LEASE_DURATION": wrong})
        named = "JOBFERRY_LEASE_DURATION"
    else:
        said = refusal(flags={"lease.duration": wrong})
        named = "--lease-duration"

    assert str(said) == f"{named}: expected a whole number from 1 up, found 'few'"


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("passes", ["0", "-1", "1.5", "", "x"]),
        ("workerLostAfter", ["0", "-1", "nan", "inf", "", "15m"]),
        (
            "managedBy",
            ["", ",", "dispatcher", "/a", "a/", "A.io/b", "a.io/b c", "a/" + "b" * 62],
        ),
        ("dispatcher", ["a_b", "A", "-a", "a/", "a/" + "b" * 62, "a" * 64]),
        ("listen", ["80", "host", "h:x", "h:65536", "::1:80", "[h]:80", "h:"]),
        ("kubeconfigFolder", ["etc", "./etc", "~"]),
        ("lease.namespace", ["", "A", "a_b", "-"]),
        ("namespaces.allow", ["A", "a_b", "a b", "kube-?"]),
        ("log.level", ["", "INFO", "loud", "info|debug"]),
    ],
)
def test_values_that_make_no_sense_are_refused(key: str, wrong: list[str]) -> None:
    for text in wrong:
        assert repr(text) in str(refusal(flags={key: text}))


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("workerLostAfter", "0.5", 0.5),
        ("managedBy", "a.io/b,a.io/b,x/Y_1", ("a.io/b", "x/Y_1")),
        ("dispatcher", "east", "east"),
        ("dispatcher", "a/" + "b" * 61, "a/" + "b" * 61),
        ("listen", "127.0.0.1:8080", Address("127.0.0.1", 8080)),
        ("listen", "[::1]:0", Address("::1", 0)),
        ("kubeconfigFolder", "/etc/jobferry", Path("/etc/jobferry")),
        ("execPlugins", "", ()),
    ],
)
def test_values_that_make_sense_are_taken(key: str, text: str, value: object) -> None:
    found = settings.load(flags={key: text})

    each = next(each for each in ALL if each.key == key)
    assert getattr(found, each.path[0]) == value


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("pases: 1", "pases: there is no such setting", "Is passes meant?"),
        ("lease: {length: 1}", "lease.length: there is no such setting", None),
        ("passes: {a: 1}", "passes.a: there is no such setting", None),
        (
            "passes: [1]",
            "passes: expected a whole number from 1 up, found something nested",
            None,
        ),
        (
            "execPlugins: [[a]]",
            "execPlugins: expected command lines, found something nested",
            None,
        ),
        (
            "execPlugins: [{a: b}]",
            "execPlugins: expected command lines, found something nested",
            None,
        ),
        ("- passes", "expected settings by their names", None),
        ("text", "expected settings by their names", None),
        ("passes: 1\n\tlisten: x", "not valid YAML, line 2", None),
        ("{[a]: b}", "not valid YAML, line 1", None),
        (b"\xff\xfe\x00", "not valid YAML", None),
        (
            "lease: {name: {a: b}}",
            "lease.name: expected the name of an object or nothing, found something nested",
            None,
        ),
    ],
)
def test_a_file_with_something_else_in_it_is_refused(
    content: str | bytes, message: str, hint: str | None, tmp_path: Path
) -> None:
    file = write(tmp_path, content)

    said = refusal(file)

    assert str(said) == f"{file}: {message}"
    assert hint is None or said.hint == hint


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert (
        str(refusal(tmp_path / "no"))
        == f"{tmp_path}/no: cannot be read: No such file or directory"
    )
    assert "cannot be read" in str(refusal(tmp_path))


@hypothesis.settings(deadline=None)
@hypothesis.given(
    content=st.text(" \n\t-:,&*!|>#'\"{}[]%ab", max_size=30).map("lease: ".__add__)
)
def test_whatever_is_in_a_file_it_is_understood_or_refused(
    content: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = write(tmp_path_factory.getbasetemp(), content)

    with suppress(BadInput):
        settings.load(file=file)


# What they mean


def test_a_dispatcher_is_named_after_the_first_value_it_claims() -> None:
    assert DEFAULTS.dispatcher_name == "jobferry.io/dispatcher"
    assert Settings(managed_by=("a.io/b", "c.io/d")).dispatcher_name == "a.io/b"
    assert Settings(dispatcher="east").dispatcher_name == "east"


def test_dispatchers_of_different_names_hold_different_leases() -> None:
    assert DEFAULTS.lease_name == "jobferry.io-dispatcher"
    assert Settings(managed_by=("a.io/B_c",)).lease_name == "a.io-b-c"
    assert Settings(lease=settings.Lease(name="mine")).lease_name == "mine"


def test_namespaces_are_listed_by_patterns(tmp_path: Path) -> None:
    file = write(tmp_path, "namespaces:\n  allow: [ml, team-*]\n  deny: ['*-secret']\n")

    found = settings.load(file=file).namespaces

    assert (found.allow, found.deny) == (("ml", "team-*"), ("*-secret",))


def test_nothing_that_could_harm_is_allowed_by_default() -> None:
    assert DEFAULTS.kubeconfig_folder is None
    assert DEFAULTS.exec_plugins == ()
    assert DEFAULTS.listen is None


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.key)
def test_each_default_is_a_value_that_could_be_given(each: Setting) -> None:
    assert each.reader.read(each.shown_default) == each.default
    assert each.doc.endswith(".")


def test_the_page_about_settings_is_up_to_date() -> None:
    assert settings_page.PAGE.read_text() == settings_page.page(), (
        "`.venv/bin/python tools/settings_page.py` writes it anew"
    )


def test_the_example_on_the_page_about_settings_is_right(tmp_path: Path) -> None:
    example = settings_page.page().split("```yaml\n")[1].split("```")[0]

    found = settings.load(file=write(tmp_path, example))

    assert found != DEFAULTS
