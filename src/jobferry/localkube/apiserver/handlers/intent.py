"""What all writes have in common."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self

from jobferry.localkube.apiserver.access.attributes import Attributes
from jobferry.localkube.apiserver.admission.request import Request
from jobferry.localkube.apiserver.handlers import pacing
from jobferry.localkube.apiserver.requests.call import Call
from jobferry.localkube.apiserver.requests.options import WriteOptions, manager_from_agent
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.objects import Obj


@dataclass(slots=True, kw_only=True)
class Intent:
    """One write: where it goes, in whose name, and how."""

    call: Call
    resource: Resource
    namespace: str
    """Of the request; a Namespace is in the namespace that it is."""
    name: str
    """Empty as long as it is to be generated."""
    subresource: str
    options: WriteOptions
    now: datetime

    @classmethod
    def of(cls, call: Call, resource: Resource, options: WriteOptions, now: datetime) -> Self:
        """Return the write that a request to an object asks for, as its path says."""
        return cls(
            call=call,
            resource=resource,
            namespace=call.target.namespace,
            name=call.target.name,
            subresource=call.target.subresource,
            options=options,
            now=now,
        )

    @property
    def strategy(self) -> Strategy:
        """How this endpoint changes objects."""
        return self.resource.strategy_of(self.subresource)

    @property
    def own_namespace(self) -> str:
        """The namespace that the object itself has."""
        return self.namespace if self.resource.namespaced else ""

    @property
    def key(self) -> str:
        """Where the object is stored."""
        return self.resource.key(self.own_namespace, self.name)

    @property
    def manager(self) -> str:
        """Who owns what this write sets."""
        agent = self.call.headers.get("user-agent", "")
        return self.options.manager or manager_from_agent(agent)

    def work(self, entry: Entry | None = None) -> int:
        """Return how much work its object is: what was sent, and what is there."""
        there = 0 if entry is None else len(entry.value)
        return pacing.work_of(self.resource, len(self.call.body), there)

    def access(self, verb: str) -> Attributes:
        """Return what its author has to be allowed for a verb."""
        return Attributes(
            self.call.user,
            verb,
            self.resource.group,
            self.resource.version,
            self.resource.plural,
            self.subresource,
            self.namespace,
            self.name,
        )

    def request(self, operation: str, obj: Obj | None, old: Obj | None) -> Request:
        """Return it as admission sees it."""
        resource = self.resource
        return Request(
            operation=operation,
            group=resource.group,
            version=resource.version,
            resource=resource.plural,
            kind=resource.kind,
            subresource=self.subresource,
            namespace=self.namespace,
            name=self.name,
            url_name=self.call.target.name,
            obj=obj,
            old=old,
            user=self.call.user,
            dry_run=self.options.dry_run,
            warnings=self.call.warnings,
        )
