import base64
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from jobferry.errors import BadInput
from jobferry.kube.access import Access
from jobferry.kube.command import Command
from jobferry.kube.document import Trust
from jobferry.kube.wire import Answer
from jobferry.testing.clock import ManualClock
from jobferry.workers import source
from jobferry.workers.resource import Kubeconfig, SecretKey
from jobferry.workers.source import Rules, SecretForbidden, SecretNotFound
from tests.unit.kube.wires import Wire, client_over, status

SECRET = Kubeconfig(secret=SecretKey("jobferry-system", "east"))
LABEL = "Secret jobferry-system/east, key kubeconfig"


def config(**user: Any) -> str:
    entry = {"server": "https://east"}
    return yaml.safe_dump(
        {
            "clusters": [{"name": "c", "cluster": entry}],
            "users": [{"name": "u", "user": user or {"token": "of-file"}}],
            "contexts": [
                {"name": name, "context": {"cluster": "c", "user": "u"}} for name in "ab"
            ],
            "current-context": "a",
        }
    )


def secret(content: str, key: str = "kubeconfig") -> Answer:
    data = {key: base64.b64encode(content.encode()).decode()}
    return Answer(200, {}, orjson.dumps({"kind": "Secret", "data": data}))


async def access(where: Kubeconfig, rules: Rules, *answers: Answer) -> Access:
    return await source.access(client_over(Wire(*answers)), where, ManualClock(), rules)


async def refusal(where: Kubeconfig, rules: Rules, *answers: Answer) -> str:
    with pytest.raises(BadInput) as caught:
        await access(where, rules, *answers)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


def below(folder: Path) -> Rules:
    return Rules(policy=Trust(files=folder, programs=frozenset()))


def exec_user(command: str) -> dict[str, Any]:
    version = "client.authentication.k8s.io/v1"
    plugin = {"apiVersion": version, "command": command, "interactiveMode": "Never"}
    return {"exec": plugin}


# -- in a Secret -------------------------------------------------------------------------------


async def test_a_kubeconfig_is_read_from_a_secret() -> None:
    found = await access(SECRET, Rules(), secret(config(token="abc")))

    assert found.server.url == "https://east"
    assert (await found.credentials.identity()).authorization == "Bearer abc"


async def test_a_secret_without_the_key_is_refused_by_its_name() -> None:
    other = secret(config(), key="config")

    assert await refusal(SECRET, Rules(), other) == f"{LABEL}: there is no such key"


async def test_a_secret_that_is_missing_or_closed_to_us_is_told() -> None:
    with pytest.raises(SecretNotFound, match=f"{LABEL}: there is no such Secret"):
        await access(SECRET, Rules(), status(404, "NotFound"))
    with pytest.raises(SecretForbidden, match=LABEL):
        await access(SECRET, Rules(), status(403, "Forbidden"))


async def test_a_secret_cannot_have_a_file_of_the_dispatcher_sent_elsewhere(
    tmp_path: Path,
) -> None:
    token = tmp_path / "token"
    token.write_text("hunter2")
    answer = secret(config(tokenFile=str(token)))

    message = await refusal(SECRET, Rules(), answer)

    place = f"{LABEL}: users[name=u].user.tokenFile"
    assert message == f"{place}: refused: files are not allowed here"


async def test_a_secret_may_name_a_file_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc")
    answer = secret(config(tokenFile=f"{tmp_path}/token"))

    found = await access(SECRET, below(tmp_path), answer)

    assert (await found.credentials.identity()).authorization == "Bearer abc"


async def test_a_secret_cannot_have_a_program_run_that_is_not_listed() -> None:
    answer = secret(config(**exec_user("aws")))

    message = await refusal(SECRET, Rules(), answer)

    assert message.startswith(f"{LABEL}: users[name=u].user.exec.command: refused: 'aws'")


async def test_a_secret_may_name_a_program_that_is_listed() -> None:
    rules = Rules(policy=Trust(files=None, programs=frozenset({Command("aws")})))

    await access(SECRET, rules, secret(config(**exec_user("aws"))))


async def test_insecure_clusters_are_refused() -> None:
    for wrong, right in (
        ("server: https://east", "server: http://east"),
        ("server: https://east", "server: https://east\n    insecure-skip-tls-verify: true"),
    ):
        message = await refusal(SECRET, Rules(), secret(config().replace(wrong, right)))

        assert message.startswith(f"{LABEL}: clusters[name=c].cluster.")


# -- in a file ---------------------------------------------------------------------------------


def file(path: Path, **user: Any) -> Kubeconfig:
    path.write_text(config(**user))
    return Kubeconfig(file=str(path))


async def test_a_file_in_the_folder_is_read(tmp_path: Path) -> None:
    where = file(tmp_path / "east")

    found = await access(where, below(tmp_path))

    assert found.server.url == "https://east"


async def test_without_a_folder_files_are_refused(tmp_path: Path) -> None:
    message = await refusal(file(tmp_path / "east"), Rules())

    assert message == "spec.kubeconfig.file: refused: files are not allowed here"


@pytest.mark.parametrize("name", ["east", "folder/../east", "folder/link"])
async def test_a_file_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file(tmp_path / "east")
    (folder / "link").symlink_to(tmp_path / "east")

    message = await refusal(Kubeconfig(file=f"{tmp_path}/{name}"), below(folder))

    assert message == f"spec.kubeconfig.file: refused: not in the folder {folder}"


async def test_what_a_file_in_the_folder_names_must_be_there_too(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    where = file(folder / "east", tokenFile="../token")

    message = await refusal(where, below(folder))

    place = f"{folder}/east: users[name=u].user.tokenFile"
    assert message == f"{place}: refused: not in the folder {folder}"


@pytest.mark.parametrize("name", ["east", "", "../east", "/east\0"])
async def test_what_is_no_absolute_path_is_refused(name: str) -> None:
    message = await refusal(Kubeconfig(file=name), below(Path("/")))

    assert message == "spec.kubeconfig.file: not an absolute path"


async def test_a_file_that_the_operator_named_may_name_anything(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("abc")
    where = file(tmp_path / "config", tokenFile="token")
    rules = Rules(trusted=frozenset({tmp_path / "config"}))

    found = await access(where, rules)

    assert (await found.credentials.identity()).authorization == "Bearer abc"


async def test_a_file_beside_one_that_the_operator_named_is_refused(tmp_path: Path) -> None:
    rules = Rules(trusted=frozenset({tmp_path / "config"}))

    message = await refusal(file(tmp_path / "config2"), rules)

    assert message == "spec.kubeconfig.file: refused: files are not allowed here"


async def test_a_worker_that_names_nothing_is_refused() -> None:
    message = await refusal(Kubeconfig(), Rules())

    assert message == "spec.kubeconfig names neither a secret nor a file"
