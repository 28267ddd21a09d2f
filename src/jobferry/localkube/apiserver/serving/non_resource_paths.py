"""Paths that are not resources: discovery, OpenAPI, health, version, metrics."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson

from jobferry import metrics
from jobferry.localkube.apiserver import discovery, status
from jobferry.localkube.apiserver.identity.tokens import Tokens
from jobferry.localkube.apiserver.openapi.answering import Documents
from jobferry.localkube.apiserver.registry import Registry
from jobferry.localkube.apiserver.requests import accept
from jobferry.localkube.apiserver.requests.call import Answer, Call, json_bytes, text_answer
from jobferry.localkube.apiserver.serving import issuer
from jobferry.objects import Obj

VERSION: Obj = {
    "major": "1",
    "minor": "35",
    "emulationMajor": "1",
    "emulationMinor": "35",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "34",
    "gitVersion": "v1.35.8+localkube",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "python",
    "platform": "any/any",
}
"""What localkube answers like; a client that looks closely finds that it is not that itself."""

HEALTH = ("healthz", "livez", "readyz")

_OLD_OPENAPI = {"swagger": "2.0", "info": {"title": "Kubernetes", "version": "v1.35.8"}}
_OLD_OPENAPI_BYTES = b"\n\x032.0\x12\x15\n\nKubernetes\x12\x07v1.35.8\x42\x00"
"""The same in protobuf."""
_OLD_OPENAPI_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


@dataclass
class Paths:
    """Answers everything that is not about a resource."""

    registry: Registry
    documents: Documents
    render_metrics: Callable[[], bytes]
    address: str
    tokens: Tokens
    _kept: dict[str, tuple[int, bytes, str]] = field(default_factory=dict)
    """Discovery as bytes with its tag, by path and form, and the state of the registry it is of."""

    async def answer(self, call: Call) -> Answer:
        """Answer, or say that there is nothing here."""
        parts = call.target.path.removeprefix("/").split("/")
        match parts:
            case [""] | ["index.html"]:
                return Answer(200, orjson.dumps({"paths": self._listed()}))
            case [name, *rest] if name in HEALTH and rest in ([], ["ping"]):
                return text_answer(200, _health(call, name))
            case ["version"] | ["version", ""]:
                _check_is_get(call)
                return Answer(200, orjson.dumps(VERSION, option=orjson.OPT_INDENT_2))
            case ["metrics"]:
                return Answer(200, self.render_metrics(), content_type=metrics.CONTENT_TYPE)
            case [".well-known", "openid-configuration", *rest] if rest in ([], [""]):
                return issuer.configuration(call, self.tokens, self.address)
            case ["openid", "v1", "jwks", *rest] if rest in ([], [""]):
                return issuer.key_set(call, self.tokens)
            case ["openapi", "v2"]:
                return _old_openapi(call)
            case ["openapi", "v3", *rest]:
                return self.documents.answer(call, "/".join(rest) if rest else None)
            case ["api" | "apis", *_]:
                return self._discovered(call, call.target.path.strip("/").split("/"))
        raise status.no_page()

    def _listed(self) -> list[str]:
        versions = [
            f"/apis/{group}/{version}" if group else f"/api/{version}"
            for group, version in self.registry.group_versions()
        ]
        groups = {f"/apis/{group}" for group, _ in self.registry.group_versions() if group}
        fixed = ["/api", "/apis", "/metrics", "/openapi/v3", "/version"]
        fixed += [issuer.CONFIGURATION, issuer.KEY_SET, *(f"/{name}" for name in HEALTH)]
        return sorted({*versions, *groups, *fixed})

    def _discovered(self, call: Call, parts: list[str]) -> Answer:
        header = call.headers.get("accept", "")
        form = accept.discovery_form(header, aggregated=len(parts) == 1)
        aggregated, pretty = form.version, call.is_pretty
        key = f"{aggregated} {pretty} {'/'.join(parts)}"
        kept = self._kept.get(key)
        if kept is None or kept[0] != self.registry.generation:
            found = self._discover(parts, aggregated)
            content = json_bytes(found, pretty=pretty)
            tag = hashlib.sha256(content).hexdigest().upper()
            kept = self._kept[key] = (self.registry.generation, content, tag)
        if parts[0] == "api" or len(parts) > 2:
            _check_is_get(call)
        _, content, tag = kept
        content_type = accept.JSON
        if aggregated:
            content_type += f";g=apidiscovery.k8s.io;v={aggregated};as=APIGroupDiscoveryList"
        headers = (("ETag", f'"{tag}"'), ("Vary", "Accept"))
        if call.headers.get("if-none-match", "").strip('"') == tag:
            return Answer(304, content_type=content_type, headers=headers)
        return Answer(200, content, content_type=content_type, headers=headers)

    def _discover(self, parts: list[str], aggregated: str) -> Obj:
        found: Obj | None = None
        if aggregated:
            found = discovery.aggregated(
                self.registry, core=parts == ["api"], version=aggregated
            )
        elif parts == ["api"]:
            found = discovery.core_versions(self.address)
        elif parts == ["apis"]:
            found = discovery.group_list(self.registry)
        elif parts[0] == "api":
            found = discovery.resource_list(self.registry, "", parts[1])
        elif len(parts) == 2:
            found = discovery.one_group(self.registry, parts[1])
        else:
            found = discovery.resource_list(self.registry, parts[1], parts[2])
        if found is not None:
            return found
        group = parts[1] if parts[0] == "apis" else ""
        raise self.registry.nothing_in(group)


def _check_is_get(call: Call) -> None:
    if call.method != "GET":
        raise status.method_not_allowed()


def _health(call: Call, name: str) -> str:
    """Say that all is well; whoever wants to know more hears what was looked at."""
    if "verbose" not in call.query:
        return "ok"
    excluded = "ping" in call.query.get("exclude", ())
    return f"[+]ping {'excluded: ' if excluded else ''}ok\n{name} check passed\n"


def _old_openapi(call: Call) -> Answer:
    """Answer with a document of OpenAPI v2 that describes nothing: kubectl looks there for unknown kinds."""
    if "proto-openapi.spec.v2" in call.headers.get("accept", ""):
        return Answer(200, _OLD_OPENAPI_BYTES, content_type=_OLD_OPENAPI_TYPE)
    return Answer(200, orjson.dumps({**_OLD_OPENAPI, "paths": {}}))
