"""YAML in bodies. What reads it is loaded when the first one comes: most clients send JSON."""

from typing import Any, NamedTuple


class Document(NamedTuple):
    """What a text says."""

    value: Any
    repeated: list[str]
    """What a strict reader finds: keys that are there twice, in its words."""


def read(text: bytes) -> Document:
    """Read YAML as Kubernetes does; ValueError says what is wrong."""
    from jobferry.localkube.apiserver.requests import yaml_text  # noqa: PLC0415 (heavy)

    return Document(*yaml_text.read(text))


def errors(repeated: list[str]) -> str:
    """Put what is repeated into one message."""
    return "".join(("yaml: unmarshal errors:", *(f"\n  {line}" for line in repeated)))
