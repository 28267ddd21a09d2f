"""Why a patch was refused, and what a kube-apiserver answers then.

BadPatch
├── Malformed           400  it is not a patch of its type
├── TooManyOperations   413
├── DoesNotApply        422  it cannot be carried out on this object
│   └── TestFailed           the object is not what the patch expects
└── CannotMerge         500  a strategic merge patch that contradicts the object or itself
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from jobferry import errors


class BadPatch(errors.BadInput):
    """A patch that cannot be applied."""

    code: ClassVar[int]
    """The HTTP status that says so."""

    answer: str
    """What the client is told: some of it has several lines, and some reasons are kept from it."""

    def __init__(self, reason: str) -> None:
        super().__init__(" ".join(reason.split()))
        self.answer = reason


class Malformed(BadPatch):
    """It is not a patch of its type."""

    code = 400


class TooManyOperations(BadPatch):
    """A JSON patch is longer than an API server takes."""

    code = 413


class DoesNotApply(BadPatch):
    """It cannot be carried out on this object."""

    code = 422

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.answer = "the server rejected our request due to an error in our request"


class TestFailed(DoesNotApply):
    """The object is not what the patch expects it to be."""

    __test__ = False  # pytest would take it for a test


class CannotMerge(BadPatch):
    """A strategic merge patch contradicts the object or itself; Kubernetes calls that its own fault."""

    code = 500


@contextmanager
def depth_limited() -> Iterator[None]:
    """Refuse JSON that is nested deeper than the stack of this program."""
    try:
        yield
    except RecursionError:
        raise Malformed("exceeded max depth") from None
