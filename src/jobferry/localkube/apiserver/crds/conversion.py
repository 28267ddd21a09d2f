"""Between the versions of a custom resource: what a definition may say, and what is done."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.validation import names
from jobferry.objects import Obj
from jobferry.objects.gotext import quote

STRATEGIES = ("None", "Webhook")
REVIEW_VERSIONS = ("v1", "v1beta1")
_PATH = "spec.conversion"
_FORM = "; desired format: https://host[/path]"


def accepted(conversion: Obj | None) -> bool:
    """Tell whether a review version is known, or none is given."""
    given = ((conversion or {}).get("webhook") or {}).get("conversionReviewVersions") or ()
    return not given or any(version in REVIEW_VERSIONS for version in given)


def bundle_problems(conversion: Obj | None) -> list[Problem]:
    """Find certificates that are none; a definition that is not established yet may have them."""
    client = ((conversion or {}).get("webhook") or {}).get("clientConfig") or {}
    given = client.get("caBundle") or ""
    if not given or b"-----BEGIN CERTIFICATE-----" in base64.b64decode(given):
        return []
    words = "unable to load root certificates: unable to parse bytes as PEM block"
    return [problems.invalid(f"{_PATH}.webhookClientConfig.caBundle", given, words)]


def check(
    conversion: Obj | None, lenient: bool = False, *, bad_bundle: bool = True
) -> list[Problem]:
    """Find what is wrong with `spec.conversion`; `bad_bundle` lets anything be a certificate."""
    if conversion is None:
        return []
    strategy = conversion.get("strategy") or ""
    found: list[Problem] = []
    if not strategy:
        found.append(problems.required(f"{_PATH}.strategy"))
    elif strategy not in STRATEGIES:
        found.append(problems.not_supported(f"{_PATH}.strategy", strategy, STRATEGIES))
    webhook = conversion.get("webhook") or {}
    client, versions = (
        webhook.get("clientConfig"),
        webhook.get("conversionReviewVersions") or [],
    )
    if strategy == "Webhook":
        found += _client(client) + ([] if bad_bundle else bundle_problems(conversion))
        return found + _reviews(versions, lenient)
    words = "should not be set when strategy is not set to Webhook"
    if client is not None:
        found.append(problems.forbidden(f"{_PATH}.webhookClientConfig", words))
    if versions:
        found.append(problems.forbidden(f"{_PATH}.conversionReviewVersions", words))
    return found


def _client(client: Obj | None) -> list[Problem]:
    path = f"{_PATH}.webhookClientConfig"
    if client is None:
        return [problems.required(path, "required when strategy is set to Webhook")]
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [problems.required(path, "exactly one of url or service is required")]
    if url is not None:
        return _url(url, f"{path}.url")
    return _service(service or {}, f"{path}.service")


def _url(url: str, path: str) -> list[Problem]:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [problems.required(path, f"url must be a valid URL: {error}{_FORM}")]
    found: list[Problem] = []
    if parts.scheme != "https":
        words = f"'https' is the only allowed URL scheme{_FORM}"
        found.append(problems.invalid(path, parts.scheme, words))
    host = parts.netloc.rpartition("@")[2]
    if not host:
        found.append(problems.invalid(path, "", f"host must be specified{_FORM}"))
    if "@" in parts.netloc:
        words = "user information is not permitted in the URL"
        found.append(problems.invalid(path, parts.netloc.rpartition("@")[0], words))
    if parts.fragment:
        words = "fragments are not permitted in the URL"
        found.append(problems.invalid(path, parts.fragment, words))
    if parts.query:
        words = "query parameters are not permitted in the URL"
        found.append(problems.invalid(path, parts.query, words))
    return found


def _service(service: Obj, path: str) -> list[Problem]:
    # Upstream mixes up the two: what it calls the name is the namespace.
    found = [
        problems.required(f"{path}.{shown}")
        for shown, name in (("name", "namespace"), ("namespace", "name"))
        if not service.get(name)
    ]
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        words = "port is not valid: must be between 1 and 65535, inclusive"
        found.append(problems.invalid(f"{path}.port", port, words))
    return found + _service_path(service.get("path"), f"{path}.path")


def _service_path(path: str | None, at: str) -> list[Problem]:
    if path in (None, "", "/"):
        return []
    assert path is not None  # noqa: S101  # the line above says so
    if path == "//":
        return [problems.invalid(at, path, "segment[0] may not be empty")]
    found: list[Problem] = []
    if not path.startswith("/"):
        found.append(problems.invalid(at, path, "must start with a '/'"))
    for index, step in enumerate(path[1:].removesuffix("/").split("/")):
        if not step:
            found.append(problems.invalid(at, path, f"segment[{index}] may not be empty"))
            continue
        found += [
            problems.invalid(at, path, f"segment[{index}]: {words}")
            for words in names.subdomain_problems(step)
        ]
    return found


def _reviews(versions: list[str], lenient: bool) -> list[Problem]:
    path = f"{_PATH}.conversionReviewVersions"
    if not versions:
        return [problems.required(path)]
    found: list[Problem] = []
    seen: set[str] = set()
    for index, version in enumerate(versions):
        at = f"{path}[{index}]"
        if version in seen:
            found.append(problems.invalid(at, version, "duplicate version"))
            continue
        seen.add(version)
        found += [
            problems.invalid(at, version, words) for words in names.old_label_problems(version)
        ]
    if not lenient and not any(version in REVIEW_VERSIONS for version in versions):
        words = f"must include at least one of {', '.join(REVIEW_VERSIONS)}"
        found.append(problems.invalid(path, versions, words))
    return found


@dataclass(frozen=True, slots=True)
class Converter:
    """How objects come to another version of their resource."""

    group: str
    kind: str
    strategy: str
    client: Mapping[str, object]

    def convert(self, obj: Obj, version: str) -> Obj:
        """Return an object in another version; raises `StatusError` where a webhook would have to do it."""
        wanted = f"{self.group}/{version}"
        if obj.get("apiVersion") == wanted:
            return obj
        if self.strategy != "Webhook":
            return {**obj, "apiVersion": wanted}
        raise self.unreachable(obj.get("apiVersion") or "")

    def unreachable(self, api_version: str) -> StatusError:
        """Return the failure of a webhook that cannot be called: this server calls none."""
        service = self.client.get("service")
        cause = f"dial tcp {_address(self.client)}: connect: connection refused"
        if isinstance(service, dict):
            cause = f"service {quote(service.get('name') or '')} not found"
        why = f"Post {_shown_url(self.client)}: {cause}"
        message = f"conversion webhook for {api_version}, Kind={self.kind} failed: {why}"
        return StatusError(500, "", message)


def _address(client: Mapping[str, object]) -> str:
    host = urlsplit(str(client.get("url") or "")).netloc
    return host if ":" in host else f"{host}:443"


def _shown_url(client: Mapping[str, object]) -> str:
    if url := client.get("url"):
        return f'"{url}?timeout=30s"'
    service = client.get("service")
    assert isinstance(service, dict)  # noqa: S101  # a checked definition has one or the other
    host = f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port', 443)}"
    path = service.get("path") or "/"
    return f'"https://{host}{path}?timeout=30s"'


def converter(crd: Obj) -> Converter:
    """Return what converts the objects of a definition."""
    spec = crd["spec"]
    conversion = spec.get("conversion") or {}
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    strategy = conversion.get("strategy") or "None"
    return Converter(spec["group"], spec["names"]["kind"], strategy, client)
