"""What is replaced in answers before those of two servers are compared, and how they differ then."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from jobferry.kube.wire import Answer
from jobferry.objects import Obj

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_AGE = re.compile(r"(\d+[smhdy])+|<invalid>")
_SCHEME = re.compile(r' in scheme "[^"]*"')
_RANDOM = re.compile(r"(?<=kube-api-access-)[a-z0-9]{5}|(?<=\bAb-)[a-z0-9]{5}")
_VERSIONS = re.compile(
    r"(?<=current: )\d+|(?<=in record \()\d+|(?<=in the precondition \()\d{2,}|(?<=ResourceVersion in object meta: )\d+|(?<=\\\"resourceVersion\\\":\\\")\d+"
)
_STRUCTS = re.compile(r"(?:Invalid|Duplicate|Unsupported) value: (?=[{\[])")
_PATCHED = re.compile(r'(?<=patch: Invalid value: )(?=")|(?<=^Invalid value: )(?="\{)')
_DIFF = re.compile(r"\n@@ .*", re.DOTALL)
_CEL_TYPE = re.compile(r"selfType\d+(?:\.[\w@]+)*")
_NOTICE = re.compile("there is no network here|nothing acts on")
_UNSAID = re.compile(
    r"^.(?:[\w.]*template\.)?(?:volume |metadata\.annotations|spec\.(?:podCIDRs|externalID"
    r"|containers|initContainers|volumes|nodeSelector|affinity|topologySpreadConstraints"
    r"|hostAliases|imagePullSecrets|overhead|terminationGracePeriodSeconds|dnsConfig)\b"
    r"|status\.(?:podIPs|hostIPs)\b)"
)
"""What only a real server warns of: old or odd fields of pods and nodes."""
_TEXTS = {"resourceVersion": "VERSION", "continue": "TOKEN", "serverAddress": "ADDRESS"}


@dataclass(frozen=True, slots=True)
class Seen:
    """An answer, less what no two servers have in common."""

    code: int
    body: Any
    warnings: tuple[str, ...] | None = ()
    """None: there was one that we do not give; of several headers only the last is known."""
    content_type: str = ""
    retry_after: str = ""


def seen(answer: Answer, *, any_order: bool = False) -> Seen:
    """Return an answer less what no two servers have in common; in any order: of causes."""
    content_type = answer.headers.get("content-type", "")
    warnings = tuple(
        _masked(text)
        for text in answer.headers.get("warning", "").removeprefix("299 - ").split(", 299 - ")
        if text and not _NOTICE.search(text)
    )
    body = _body(answer.body, content_type)
    if any_order:
        warnings = tuple(sorted(warnings))
        _sort_causes(body)
    said = None if any(map(_UNSAID.search, warnings)) else warnings
    return Seen(answer.code, body, said, content_type, answer.headers.get("retry-after", ""))


def _body(body: bytes, content_type: str) -> Any:
    if "json" not in content_type or not body:
        return body.decode(errors="replace")
    if b"\n{" in body and body.endswith(b"\n") and not body.startswith(b"{\n"):
        return [masked(orjson.loads(line)) for line in body.splitlines() if line]
    return masked(orjson.loads(body))


def _sort_causes(body: Any) -> None:
    """Put causes in order, for what Go keeps in maps; the message repeats them."""
    causes = isinstance(body, dict) and (body.get("details") or {}).get("causes")
    if causes:
        causes.sort(key=lambda each: (each.get("field", ""), each.get("message", "")))
        body["message"] = body["message"].partition(" is invalid: ")[0]


def masked(value: Any, key: str = "") -> Any:
    """Replace ids, versions and times in a value."""
    if isinstance(value, dict):
        found = {name: masked(each, name) for name, each in value.items()}
        _mask_generated_name(found)
        if found.get("kind") == "Table":
            _mask_table(found)
        return found
    if isinstance(value, list):
        return [masked(each) for each in value]
    if isinstance(value, str):
        return _TEXTS[key] if value and key in _TEXTS else _masked(value)
    return value


def _mask_generated_name(obj: Obj) -> None:
    base, name = obj.get("generateName"), obj.get("name")
    if base and isinstance(name, str) and name.startswith(base[:58]):
        obj["name"] = f"{base}xxxxx"


def _mask_table(table: Obj) -> None:
    """Replace descriptions of columns, which are not ours to copy, and ages."""
    for column in table.get("columnDefinitions") or ():
        column["description"] = "DESCRIPTION"
    for row in table.get("rows") or ():
        row["cells"] = [
            "AGE" if isinstance(cell, str) and _AGE.fullmatch(cell) else cell
            for cell in row["cells"]
        ]


def _masked(text: str) -> str:
    text = _UID.sub("UID", text)
    text = _VERSIONS.sub("VERSION", _TIME.sub("TIME", text))
    text = _CEL_TYPE.sub("object", text)
    text = _DIFF.sub("", _RANDOM.sub("xxxxx", _SCHEME.sub("", text)))
    return _without_structs(_with_sorted_patch(text))


def _with_sorted_patch(text: str) -> str:
    """Sort the members of a patched object in a message: Go sorts those that a patch touched."""
    found = _PATCHED.search(text)
    if found is None:
        return text
    try:
        shown, end = json.JSONDecoder(strict=False).raw_decode(text, found.end())
        patched = masked(json.loads(shown))
    except ValueError:
        return text
    return f"{text[: found.end()]}{json.dumps(patched, sort_keys=True)}{text[end:]}"


def _without_structs(text: str) -> str:
    """Leave out values in the form that Go has in memory."""
    shown, at = [], 0
    for found in _STRUCTS.finditer(text):
        if found.end() < at:
            continue
        try:
            _, end = json.JSONDecoder().raw_decode(text, found.end())
        except ValueError:
            continue
        shown += [text[at : found.end()], "..."]
        at = end
    return "".join([*shown, text[at:]])


def answers_differ(theirs: Seen, mine: Seen) -> Iterator[str]:
    """Say how two answers differ."""
    if theirs.code != mine.code:
        yield f"theirs: {theirs.code} {_gist(theirs.body)}"
        yield f"ours:   {mine.code} {_gist(mine.body)}"
        return
    if theirs.warnings is not None:
        yield from differences(theirs.warnings, mine.warnings, "warnings")
    for name in ("code", "content_type", "retry_after", "body"):
        yield from differences(getattr(theirs, name), getattr(mine, name), name)


def differences(theirs: Any, mine: Any, path: str = "") -> Iterator[str]:
    """Say where two answers differ."""
    if isinstance(theirs, dict) and isinstance(mine, dict):
        for key in [*theirs, *(key for key in mine if key not in theirs)]:
            if key not in mine:
                yield f"{path}.{key}: only theirs: {_shown(theirs[key])}"
            elif key not in theirs:
                yield f"{path}.{key}: only ours: {_shown(mine[key])}"
            else:
                yield from differences(theirs[key], mine[key], f"{path}.{key}")
    elif isinstance(theirs, list) and isinstance(mine, list) and len(theirs) == len(mine):
        for index, pair in enumerate(zip(theirs, mine, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif theirs != mine:
        first, second = json.dumps(theirs), json.dumps(mine)
        pairs = enumerate(zip(first, second, strict=False))
        at = next((index for index, pair in pairs if pair[0] != pair[1]), 0)
        start = max(0, at - 60)
        yield f"{path}, from {start}:"
        yield f"  theirs: {_cut(first[start:])}"
        yield f"  ours:   {_cut(second[start:])}"


def _gist(body: Any) -> str:
    said = body.get("message") if isinstance(body, dict) else None
    return _shown(said or body)


def _shown(value: Any) -> str:
    return _cut(json.dumps(value))


def _cut(text: str) -> str:
    return text if len(text) < 400 else f"{text[:400]} ..."
