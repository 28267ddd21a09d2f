import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from jobferry.errors import BadInput
from jobferry.kube import kubeconfig
from jobferry.kube.access import ANONYMOUS, Access
from jobferry.kube.kubeconfig import Kubeconfig
from jobferry.testing.certificates import Authority
from jobferry.testing.clock import ManualClock

AUTHORITY = Authority(datetime(2026, 1, 1, tzinfo=UTC))


def config(
    *names: str, current: str = "", server: str = "https://api", **user: Any
) -> dict[str, Any]:
    """Make a kubeconfig in which each name is a context, a cluster and a user."""
    return {
        "clusters": [
            {"name": name, "cluster": {"server": f"{server}/{name}"}} for name in names
        ],
        "users": [{"name": name, "user": user or {"token": f"of-{name}"}} for name in names],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": name}} for name in names
        ],
        "current-context": current,
    }


def write(path: Path, content: Mapping[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(dict(content)))
    return path


def access(found: Kubeconfig, context: str | None = None) -> Access:
    return found.access(context, clock=ManualClock(), environ={})


def from_list(*paths: Path | str) -> Kubeconfig:
    return kubeconfig.from_environment({"KUBECONFIG": os.pathsep.join(map(str, paths))})


async def test_the_current_context_of_a_file_is_used(tmp_path: Path) -> None:
    file = write(tmp_path / "config", config("east", "west", current="west"))

    chosen = access(kubeconfig.from_file(file))

    assert chosen.server.url == "https://api/west"
    assert chosen.namespace == "default"
    assert (await chosen.credentials.identity()).authorization == "Bearer of-west"


def test_another_context_can_be_chosen_by_name(tmp_path: Path) -> None:
    file = write(tmp_path / "config", config("east", "west", current="west"))

    assert access(kubeconfig.from_file(file), "east").server.url == "https://api/east"


def test_a_json_kubeconfig_is_read(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(json.dumps(config("east", current="east"), indent="\t"))

    assert access(kubeconfig.from_file(file)).server.url == "https://api/east"


def test_namespace_and_impersonation_of_a_context_are_used(tmp_path: Path) -> None:
    content = config("east", current="east", token="abc", **{"as": "ann"})
    content["contexts"][0]["context"]["namespace"] = "ml"

    chosen = access(kubeconfig.from_file(write(tmp_path / "config", content)))

    assert chosen.namespace == "ml"
    assert chosen.headers == (("Impersonate-User", "ann"),)


async def test_a_context_without_a_user_is_anonymous(tmp_path: Path) -> None:
    content = config("east", current="east")
    del content["contexts"][0]["context"]["user"]

    chosen = access(kubeconfig.from_file(write(tmp_path / "config", content)))

    assert await chosen.credentials.identity() == ANONYMOUS


def test_of_each_name_the_entry_of_the_first_file_counts(tmp_path: Path) -> None:
    first = write(tmp_path / "1", config("east", server="https://first"))
    second = write(
        tmp_path / "2", config("east", "west", current="west", server="https://second")
    )
    third = write(tmp_path / "3", config("north", current="north", server="https://third"))

    merged = from_list(first, second, third)

    assert set(merged.contexts) == {"east", "west", "north"}
    assert merged.current_context == "west"
    assert access(merged, "east").server.url == "https://first/east"
    assert access(merged).server.url == "https://second/west"
    assert access(merged, "north").server.url == "https://third/north"


def test_entries_of_one_name_are_not_mixed(tmp_path: Path) -> None:
    first = write(
        tmp_path / "1", {"clusters": [{"name": "east", "cluster": {"tls-server-name": "x"}}]}
    )
    second = write(tmp_path / "2", config("east", current="east"))

    with pytest.raises(
        BadInput, match=rf"^{first}: clusters\[name=east\].cluster.server: not set$"
    ):
        access(from_list(first, second))


def test_missing_empty_and_repeated_files_of_a_list_are_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "config", config("east", current="east"))
    empty = tmp_path / "empty"
    empty.touch()

    merged = from_list(tmp_path / "no", "", empty, file, file)

    assert access(merged).server.url == "https://api/east"


def test_without_a_list_the_one_in_the_home_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config", config("east", current="east"))

    for environ in ({"HOME": str(tmp_path)}, {"HOME": str(tmp_path), "KUBECONFIG": ""}):
        assert kubeconfig.from_environment(environ).current_context == "east"


def test_files_are_found_from_the_folder_of_the_kubeconfig_that_names_them(
    tmp_path: Path,
) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "pki").mkdir(parents=True)
    (tmp_path / "two" / "pki" / "ca.crt").write_bytes(AUTHORITY.certificate)
    first = write(tmp_path / "one" / "config", config("east"))
    content = config("west", current="west")
    content["clusters"][0]["cluster"]["certificate-authority"] = "pki/ca.crt"
    second = write(tmp_path / "two" / "config", content)

    assert access(from_list(first, second)).server.ca == AUTHORITY.certificate


def test_files_are_found_when_the_kubeconfig_is_named_by_a_relative_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca.crt").write_bytes(AUTHORITY.certificate)
    content = config("west", current="west")
    content["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"
    write(tmp_path / "config", content)
    monkeypatch.chdir(tmp_path)

    assert access(kubeconfig.from_file(Path("config"))).server.ca == AUTHORITY.certificate


def test_the_content_of_a_secret_is_read_under_its_label() -> None:
    content = config("east", current="east")
    content["clusters"][0]["cluster"]["certificate-authority"] = "ca.crt"

    found = kubeconfig.from_bytes(json.dumps(content).encode(), "secret ml/east")

    with pytest.raises(
        BadInput, match=r"^secret ml/east: clusters.*authority: a relative path$"
    ):
        access(found)


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"^{tmp_path}/no: no such file$"):
        kubeconfig.from_file(tmp_path / "no")


def test_a_list_of_which_nothing_is_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"^{tmp_path}/a, {tmp_path}/b: no such file$"):
        from_list(tmp_path / "a", tmp_path / "b")


def test_a_list_without_a_name_is_an_error() -> None:
    with pytest.raises(BadInput, match=r"^KUBECONFIG: no such file$"):
        from_list("", "")


def test_a_folder_in_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"^{tmp_path}: cannot be read: Is a directory$"):
        kubeconfig.from_file(tmp_path)


def test_one_broken_file_of_a_list_is_an_error(tmp_path: Path) -> None:
    good = write(tmp_path / "good", config("east", current="east"))
    bad = tmp_path / "bad"
    bad.write_text("a: b: c")

    with pytest.raises(BadInput, match=f"^{bad}: not valid YAML, line 1: "):
        from_list(good, bad)


def broken(**changes: Any) -> Kubeconfig:
    content = config("east", "west", current="east") | changes
    return kubeconfig.from_bytes(json.dumps(content).encode(), "config")


@pytest.mark.parametrize(
    ("found", "context", "problem"),
    [
        (broken(), "north", "contexts: there is none named 'north'"),
        (broken(**{"current-context": ""}), None, "current-context: not set"),
        (broken(**{"current-context": "north"}), None, "contexts: there is none named 'north'"),
        (
            broken(clusters=[]),
            None,
            r"contexts\[name=east\].context.cluster: there is no cluster named 'east'",
        ),
        (
            broken(users=None),
            None,
            r"contexts\[name=east\].context.user: there is no user named 'east'",
        ),
        (
            broken(contexts=[{"name": "east"}]),
            None,
            r"contexts\[name=east\].context.cluster: not set",
        ),
    ],
)
def test_what_refers_to_nothing_is_refused(
    found: Kubeconfig, context: str | None, problem: str
) -> None:
    with pytest.raises(BadInput, match=f"^config: {problem}$"):
        access(found, context)


def test_the_names_that_exist_are_shown() -> None:
    with pytest.raises(BadInput) as caught:
        access(broken(), "north")

    assert caught.value.hint == "Those that exist: east, west."


def test_nothing_secret_is_shown() -> None:
    found = kubeconfig.from_bytes(
        json.dumps(config("a", current="a", token="hunter2")).encode(), "c"
    )

    assert "hunter2" not in repr(found)
    assert "hunter2" not in repr(access(found))


def a_full_one() -> dict[str, Any]:
    pair = AUTHORITY.client("ann")
    user = {
        "token": "abc",
        "client-certificate-data": base64.b64encode(pair.certificate).decode(),
        "client-key-data": base64.b64encode(pair.key).decode(),
        "as": "ann",
        "as-groups": ["dev"],
        "as-user-extra": {"scope": ["x"]},
    }
    full = config("east", "plugin", current="east")
    full["users"][0]["user"] = user
    full["clusters"][0]["cluster"] |= {
        "certificate-authority-data": base64.b64encode(AUTHORITY.certificate).decode(),
        "proxy-url": "http://proxy:3128",
        "tls-server-name": "kubernetes",
    }
    full["clusters"][1]["cluster"]["extensions"] = [
        {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    ]
    full["users"][1]["user"] = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "plugin",
            "args": ["token"],
            "env": [{"name": "A", "value": "b"}],
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
    }
    return full


FULL = a_full_one()
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        -1.5,
        "",
        "x",
        "https://",
        "\x00",
        "é\n",
        [],
        [None],
        {},
        {"": None},
        {"name": []},
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A good kubeconfig of which some values are dropped, or replaced by something odd or by each other."""
    content = deepcopy(FULL)
    for _ in range(draw(st.integers(1, 4))):
        places = list(places_in(content))
        parent, key = draw(st.sampled_from(places))
        if draw(st.booleans()):
            del parent[key]
        else:
            others = st.sampled_from([there[at] for there, at in places])
            parent[key] = deepcopy(draw(ODD | others))  # else two places would share it
        if not any(places_in(content)):
            break
    return content


def places_in(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a tree: a map or list, and a key or index of it."""
    if not isinstance(value, dict | list):
        return
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        yield from places_in(value[key])


@pytest.mark.parametrize("context", ["east", "plugin"])
def test_the_full_one_is_good(context: str) -> None:
    assert access(
        kubeconfig.from_bytes(json.dumps(FULL).encode(), "config"), context
    ).server.url


def read_through(content: bytes, context: str | None) -> str | None:
    """Read as far as it goes; return the error, if there is one."""
    try:
        access(kubeconfig.from_bytes(content, "config"), context)
    except BadInput as error:
        return str(error)
    return None


@given(mutated(), st.sampled_from([None, "east", "plugin"]))
def test_whatever_is_wrong_with_it_a_kubeconfig_gives_access_or_one_line(
    content: dict[str, Any], context: str | None
) -> None:
    error = read_through(json.dumps(content).encode(), context)

    assert error is None or re.fullmatch("config: .+", error)


LOOKS_LIKE_YAML = st.text(alphabet="-: []{}&*!|>%'\"#,?ab0\n\t", max_size=60).map(str.encode)


@given(st.binary(max_size=60) | LOOKS_LIKE_YAML)
def test_whatever_the_bytes_they_give_one_line(content: bytes) -> None:
    assert re.fullmatch("config: .+", read_through(content, None) or "")
