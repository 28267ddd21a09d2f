"""Jobferry runs Kubernetes batch work on many clusters from one.

Importing this package loads nothing heavy: the promised names below are fetched when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jobferry.errors import Error

__version__ = "0.1.0.dev0"

__all__ = ["Error", "__version__"]

_HOMES = {"Error": "jobferry.errors"}


def __getattr__(name: str) -> Any:
    """Import a promised name from its module on first use (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
