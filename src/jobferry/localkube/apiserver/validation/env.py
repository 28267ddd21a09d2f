"""What is wrong with environment variables and where their values come from."""

from collections.abc import Callable, Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import names, resources, values, volume_paths
from jobferry.objects import Obj, quantities

ENV_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName"),
    *("spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP"),
    "status.podIPs",
)
"""What a variable may show of its pod, sorted."""

VOLUME_FIELDS = (
    *("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace"),
    "metadata.uid",
)
"""What a file in a volume may show of its pod, sorted."""

_POD_FIELDS = frozenset(
    {*ENV_FIELDS, *VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
)
_AMOUNTS = (
    *("limits.cpu", "limits.ephemeral-storage", "limits.memory"),
    *("requests.cpu", "requests.ephemeral-storage", "requests.memory"),
)
_PAGES = ("limits.hugepages-", "requests.hugepages-")
_SIZES = (
    *("1", "1k", "1M", "1G", "1T", "1P", "1E"),
    *("1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"),
)
_SOURCES = (
    "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
    "`secretKeyRef` or `fileKeyRef`"
)


def env_problems(variables: Sequence[Obj], field: str) -> Iterator[Problem]:
    """Say what is wrong with variables."""
    for index, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            yield problems.required(f"{field}[{index}].name")
        elif complaints := names.env_name_problems(name):
            yield from values.each(f"{field}[{index}].name", name, complaints)
        source = variable.get("valueFrom")
        if source is not None:
            path = f"{field}[{index}].valueFrom"
            yield from _source_problems(source, path, has_value=bool(variable.get("value")))


def _source_problems(source: Obj, field: str, *, has_value: bool) -> Iterator[Problem]:
    count = 0
    for member, rule in _SOURCE_RULES:
        if source.get(member) is not None:
            count += 1
            yield from rule(source[member], f"{field}.{member}")
    if count == 0:
        yield problems.invalid(field, "", _SOURCES)
    elif has_value:
        yield problems.invalid(field, "", "may not be specified when `value` is not empty")
    elif count > 1:
        what = "may not have more than one field specified at a time"
        yield problems.invalid(field, "", what)


def env_from_problems(sources: Sequence[Obj], field: str) -> Iterator[Problem]:
    """Say what is wrong with variables that are taken together from one place."""
    for index, source in enumerate(sources):
        if prefix := source.get("prefix"):
            complaints = names.env_name_problems(prefix)
            yield from values.each(f"{field}[{index}].prefix", prefix, complaints)
        count = 0
        for member in ("configMapRef", "secretRef"):
            if source.get(member) is not None:
                count += 1
                yield from _ref_problems(source[member], f"{field}[{index}].{member}")
        if count == 0:
            what = "must specify one of: `configMapRef` or `secretRef`"
            yield problems.invalid(field, "", what)
        elif count > 1:
            what = "may not have more than one field specified at a time"
            yield problems.invalid(field, "", what)


def _ref_problems(ref: Obj, field: str) -> Iterator[Problem]:
    if name := ref.get("name"):
        yield from values.each(f"{field}.name", name, names.is_subdomain(name, True))
    else:
        yield problems.required(f"{field}.name")


def _env_field_problems(ref: Obj, field: str) -> Iterator[Problem]:
    return field_ref_problems(ref, field, ENV_FIELDS)


def field_ref_problems(ref: Obj, field: str, known: Sequence[str]) -> Iterator[Problem]:
    """Say what is wrong with a reference to a field of the pod."""
    version, path = ref.get("apiVersion") or "", ref.get("fieldPath") or ""
    if not version:
        yield problems.required(f"{field}.apiVersion")
    elif not path:
        yield problems.required(f"{field}.fieldPath")
    elif why := _unknown_field(version, path):
        what = f"error converting fieldPath: {why}"
        yield problems.invalid(f"{field}.fieldPath", path, what)
    elif subscripted := _split(path):
        of, key = subscripted
        yield from values.qualified(field, key.lower() if of.endswith("annotations") else key)
    else:
        path = "spec.nodeName" if path == "spec.host" else path
        if path not in known:
            yield problems.not_supported(f"{field}.fieldPath", path, known)


def _unknown_field(version: str, path: str) -> str:
    """Say why a field of the pod cannot be shown, if so."""
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted := _split(path):
        if subscripted[0] in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {path}"
    known = path in _POD_FIELDS or path == "spec.host"
    return "" if known else f"field label not supported: {path}"


def _split(path: str) -> tuple[str, str] | None:
    """Return the parts of `field['key']`, if a path has that form."""
    if not path.endswith("']"):
        return None
    of, bracket, key = path.removesuffix("']").partition("['")
    return (of, key) if of and bracket else None


def _env_amount_problems(ref: Obj, field: str) -> Iterator[Problem]:
    return amount_ref_problems(ref, field, in_volume=False)


def amount_ref_problems(ref: Obj, field: str, *, in_volume: bool) -> Iterator[Problem]:
    """Say what is wrong with a reference to a request or limit of a container."""
    amount = ref.get("resource") or ""
    if in_volume and not ref.get("containerName"):
        yield problems.required(f"{field}.containerName")
    elif not amount:
        yield problems.required(f"{field}.resource")
    elif amount not in _AMOUNTS and not amount.startswith(_PAGES):
        yield problems.not_supported(f"{field}.resource", amount, _AMOUNTS)
    divisor = ref.get("divisor")
    if divisor and resources.parse(divisor) != quantities.ZERO:
        yield from _divisor_problems(amount, str(resources.parse(divisor)), field)


def _divisor_problems(amount: str, divisor: str, field: str) -> Iterator[Problem]:
    of = amount.partition(".")[2]
    if amount.startswith(_PAGES):
        of = "hugepages"
    elif amount not in _AMOUNTS:
        return
    if of == "cpu":
        if divisor not in ("1m", "1"):
            what = "only divisor's values 1m and 1 are supported with the cpu resource"
            yield problems.invalid(f"{field}.divisor", amount, what)
    elif divisor not in _SIZES:
        called = {"ephemeral-storage": "local ephemeral storage"}.get(of, of)
        sizes = ", ".join(_SIZES)
        what = f"only divisor's values {sizes} are supported with the {called} resource"
        yield problems.invalid(f"{field}.divisor", amount, what)


def _key_ref_problems(ref: Obj, field: str) -> Iterator[Problem]:
    yield from values.subdomain(f"{field}.name", ref.get("name") or "")
    if key := ref.get("key"):
        yield from values.each(f"{field}.key", key, names.config_key_problems(key))
    else:
        yield problems.required(f"{field}.key")


def _file_ref_problems(ref: Obj, field: str) -> Iterator[Problem]:
    if key := ref.get("key"):
        yield from values.each(f"{field}.key", key, names.env_name_problems(key))
    else:
        yield problems.required(f"{field}.key")
    if volume := ref.get("volumeName"):
        yield from values.dns_label(f"{field}.volumeName", volume)
    else:
        yield problems.required(f"{field}.volumeName")
    if path := ref.get("path"):
        yield from volume_paths.backsteps(f"{field}.path", path)
    else:
        yield problems.required(f"{field}.path")


_SOURCE_RULES: tuple[tuple[str, Callable[[Obj, str], Iterator[Problem]]], ...] = (
    ("fieldRef", _env_field_problems),
    ("resourceFieldRef", _env_amount_problems),
    ("configMapKeyRef", _key_ref_problems),
    ("secretKeyRef", _key_ref_problems),
    ("fileKeyRef", _file_ref_problems),
)
