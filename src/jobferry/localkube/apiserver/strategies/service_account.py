"""ServiceAccount: an identity for what runs in pods."""

from collections.abc import Sequence

from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata, names
from jobferry.objects import Obj

_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


def _prepare(account: Obj) -> None:
    """Keep only the names of the secrets."""
    if secrets := account.get("secrets"):
        account["secrets"] = [
            {"name": secret["name"]} if secret.get("name") else {} for secret in secrets
        ]


def _prepare_update(new: Obj, _old: Obj) -> None:
    _prepare(new)


def _validate(account: Obj) -> Sequence[Problem]:
    return list(
        metadata.create_problems(account, namespaced=True, name_problems=names.is_subdomain)
    )


def _validate_update(new: Obj, old: Obj) -> Sequence[Problem]:
    return [*metadata.update_problems(new, old), *_validate(new)]


def _warn(account: Obj) -> Sequence[str]:
    if not _is_marked(account):
        return ()
    why = "prefer separate namespaces to isolate access to mounted secrets"
    return (f"metadata.annotations[{_MOUNTABLE}]: deprecated in v1.32+; {why}",)


def _warn_update(new: Obj, old: Obj) -> Sequence[str]:
    return () if _is_marked(old) else _warn(new)


def _is_marked(account: Obj) -> bool:
    return _MOUNTABLE in (account["metadata"].get("annotations") or {})


STRATEGY = Strategy(
    returns_deleted=True,
    prepare_create=_prepare,
    prepare_update=_prepare_update,
    validate_create=_validate,
    validate_update=_validate_update,
    warn_create=_warn,
    warn_update=_warn_update,
    name_problems=names.is_subdomain,
    versioned=None,
)
