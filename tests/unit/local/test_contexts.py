import json
from pathlib import Path

from jobferry.local import contexts


def config(server: str) -> str:
    return json.dumps(
        {
            "clusters": [{"name": "any", "cluster": {"server": server}}],
            "users": [{"name": "any", "user": {"token": f"of {server}"}}],
            "contexts": [{"name": "any", "context": {"cluster": "any", "user": "any"}}],
        }
    )


def test_every_cluster_gets_a_context_of_its_name_and_the_first_is_current() -> None:
    merged = json.loads(
        contexts.merged({"hub": config("https://a"), "east": config("https://b")})
    )

    assert merged["current-context"] == "hub"
    assert [entry["name"] for entry in merged["contexts"]] == ["hub", "east"]
    assert merged["contexts"][1]["context"] == {"cluster": "east", "user": "east"}
    assert merged["clusters"][1] == {"name": "east", "cluster": {"server": "https://b"}}
    assert merged["users"][1]["user"] == {"token": "of https://b"}


def test_a_kubeconfig_is_for_its_owner_alone_even_if_the_last_one_was_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("old")
    path.chmod(0o644)

    contexts.write(path, {"hub": config("https://a")})

    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["current-context"] == "hub"


def test_a_link_in_its_place_is_replaced_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    path = tmp_path / "kubeconfig"
    path.symlink_to(elsewhere)

    contexts.write(path, {"hub": config("https://a")})

    assert elsewhere.read_text() == "theirs"
    assert not path.is_symlink()
