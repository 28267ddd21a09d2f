"""YAML as Kubernetes writes it: text that could be taken for something else is in quotes."""

import re
from typing import Any

import yaml

from jobferry.localkube.apiserver.requests.yaml_text import BOOL, FLOAT, INT

try:
    from yaml import CSafeDumper as Base
except ImportError:  # PyYAML was built without libyaml
    from yaml import SafeDumper as Base  # type: ignore[assignment]

_NULLS = ("", "~", "null", "Null", "NULL")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+")
_OTHERS = (BOOL, INT, FLOAT, _DATE, _SEXAGESIMAL)


class _Dumper(Base):
    """Writes text so that every reader takes it for text."""


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    style = None
    if "\n" in text:
        style = "|"
    elif text in _NULLS or any(each.match(text) for each in _OTHERS):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def dump(value: Any) -> bytes:
    """Write a value, the members of objects by name."""
    text = yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=1 << 30)
    return text.encode()
