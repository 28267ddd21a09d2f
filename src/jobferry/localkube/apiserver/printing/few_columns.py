"""The columns of kinds that need only a few."""

from datetime import datetime
from typing import Any

from jobferry.localkube.apiserver.printing import columns
from jobferry.localkube.apiserver.printing.columns import Columns, column
from jobferry.objects import Obj, quantities


def _namespace_cells(namespace: Obj, now: datetime) -> list[Any]:
    phase = (namespace.get("status") or {}).get("phase", "")
    return [columns.name_of(namespace), phase, columns.age_of(namespace, now)]


def _secret_cells(secret: Obj, now: datetime) -> list[Any]:
    count = len(secret.get("data") or ())
    return [
        columns.name_of(secret),
        secret.get("type", ""),
        count,
        columns.age_of(secret, now),
    ]


def _config_map_cells(config_map: Obj, now: datetime) -> list[Any]:
    count = len(config_map.get("data") or ()) + len(config_map.get("binaryData") or ())
    return [columns.name_of(config_map), count, columns.age_of(config_map, now)]


def _lease_cells(lease: Obj, now: datetime) -> list[Any]:
    holder = (lease.get("spec") or {}).get("holderIdentity") or ""
    return [columns.name_of(lease), holder, columns.age_of(lease, now)]


def _priority_class_cells(priority_class: Obj, now: datetime) -> list[Any]:
    return [
        columns.name_of(priority_class),
        priority_class.get("value", 0),
        priority_class.get("globalDefault", False),
        columns.age_of(priority_class, now),
        priority_class.get("preemptionPolicy") or "",
    ]


def _quota_cells(quota: Obj, now: datetime) -> list[Any]:
    status = quota.get("status") or {}
    used = status.get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name, hard in sorted((status.get("hard") or {}).items()):
        text = f"{name}: {quantities.parse(used.get(name))}/{quantities.parse(hard)}"
        (limits if name.startswith("limits.") else requests).append(text)
    return [
        columns.name_of(quota),
        ", ".join(requests),
        ", ".join(limits),
        columns.age_of(quota, now),
    ]


def _binding_cells(binding: Obj, now: datetime) -> list[Any]:
    role = binding.get("roleRef") or {}
    users: list[str] = []
    groups: list[str] = []
    accounts: list[str] = []
    for subject in binding.get("subjects") or ():
        name = subject.get("name", "")
        match subject.get("kind"):
            case "User":
                users.append(name)
            case "Group":
                groups.append(name)
            case "ServiceAccount":
                accounts.append(f"{subject.get('namespace', '')}/{name}")
    return [
        columns.name_of(binding),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        columns.age_of(binding, now),
        ", ".join(users),
        ", ".join(groups),
        ", ".join(accounts),
    ]


NAMESPACES = Columns(
    [columns.NAME, column("Status", "Whether it is active or on its way out."), columns.AGE],
    _namespace_cells,
)
"""Namespaces."""

SECRETS = Columns(
    [
        columns.NAME,
        column("Type", "What the secret is for."),
        column("Data", "How many entries it has."),
        columns.AGE,
    ],
    _secret_cells,
)
"""Secrets."""

CONFIG_MAPS = Columns(
    [columns.NAME, column("Data", "How many entries it has."), columns.AGE],
    _config_map_cells,
)
"""ConfigMaps."""

LEASES = Columns(
    [columns.NAME, column("Holder", "Who holds the lease."), columns.AGE], _lease_cells
)
"""Leases."""

PRIORITY_CLASSES = Columns(
    [
        columns.NAME,
        column("Value", "The priority that pods get.", type="integer"),
        column("Global-Default", "Whether pods without a class get it.", type="boolean"),
        columns.AGE,
        column("PreemptionPolicy", "Whether its pods may push out others."),
    ],
    _priority_class_cells,
)
"""PriorityClasses."""

RESOURCE_QUOTAS = Columns(
    [
        columns.NAME,
        column("Request", "What is used of what may be requested."),
        column("Limit", "What is used of what limits may add up to."),
        columns.AGE,
    ],
    _quota_cells,
)
"""ResourceQuotas."""

ROLE_BINDINGS = Columns(
    [
        columns.NAME,
        column("Role", "The role that is granted."),
        columns.AGE,
        column("Users", "The users who get it.", wide=True),
        column("Groups", "The groups who get it.", wide=True),
        column("ServiceAccounts", "The service accounts that get it.", wide=True),
    ],
    _binding_cells,
)
"""RoleBindings and ClusterRoleBindings."""
