"""What somebody may do on a cluster, asked of the cluster itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jobferry.kube.client import Client
from jobferry.kube.rights import REVIEWS
from jobferry.objects import Obj


@dataclass(frozen=True, slots=True)
class Right:
    """One thing that one may do or not."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    """Empty: in all of them, or of what has none."""

    name: str = ""

    def __str__(self) -> str:
        kind = f"{self.resource}.{self.group}" if self.group else self.resource
        which = f" {self.name}" if self.name else ""
        return f"{self.verb} {kind}{which}" + (
            f" in {self.namespace}" if self.namespace else ""
        )


def of_role(role: Obj) -> Iterator[Right]:
    """Return what a ClusterRole gives."""
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for name in rule.get("resourceNames") or ("",):
                    for verb in rule["verbs"]:
                        yield Right(verb, group, resource, name=name)


async def missing(client: Client, rights: Iterable[Right]) -> list[Right]:
    """Return those of the rights that we do not have."""
    return [right for right in rights if not await _has(client, right)]


async def _has(client: Client, right: Right) -> bool:
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": right.resource,
        "namespace": right.namespace,
        "name": right.name,
    }
    review = await client.create(REVIEWS, {"spec": {"resourceAttributes": attributes}})
    return bool(review["status"]["allowed"])
