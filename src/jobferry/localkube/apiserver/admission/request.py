"""A request as admission sees it, and how it is refused."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


class Topic(NamedTuple):
    """What requests of one sort have in common: enough to know which plugins they concern."""

    group: str
    resource: str
    subresource: str
    operation: str

    def writes(self, group: str, resource: str) -> bool:
        """Tell whether it creates or updates objects of a kind (not one of their subresources)."""
        return self[:3] == (group, resource, "") and self.operation in (CREATE, UPDATE)

    def creates(self, group: str, resource: str) -> bool:
        """Tell whether it creates objects of a kind."""
        return self == (group, resource, "", CREATE)


class User(Protocol):
    """Who asks."""

    @property
    def name(self) -> str:
        """Return the name of the user."""
        ...

    @property
    def groups(self) -> Sequence[str]:
        """Return the groups that the user is in."""
        ...


@dataclass(slots=True, kw_only=True)
class Request:
    """One request to change something; `namespace` of a Namespace is its own name, as upstream has it."""

    operation: str
    group: str
    version: str
    resource: str
    kind: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    """From the URL or, on create, from the body; empty as long as it is to be generated."""
    url_name: str = ""
    """From the URL only: a POST has none, a PUT or apply that creates has one."""
    obj: Obj | None = None
    """The request's own copy: plugins may change it."""
    old: Obj | None = None
    """What is stored: shared, never to be changed."""
    user: User
    options: Obj = field(default_factory=dict)
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)


def forbidden(request: Request, why: str) -> StatusError:
    """Refuse a request, naming the object as upstream's admission does."""
    return status.forbidden(request.group, request.resource, _name(request), why)


def _name(request: Request) -> str:
    if request.name:
        return request.name
    metadata = (request.obj or {}).get("metadata") or {}
    return str(metadata.get("name") or metadata.get("generateName") or "Unknown")
