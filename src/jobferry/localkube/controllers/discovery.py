"""Which kinds a cluster serves, and what can be done with them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jobferry.kube.client import Client
from jobferry.objects import Obj
from jobferry.objects.resource import Resource

AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
)


@dataclass(frozen=True, slots=True)
class Served:
    """One kind in the version that the server prefers."""

    resource: Resource
    verbs: frozenset[str]


async def served(client: Client) -> list[Served]:
    """Ask what is served; two requests."""
    found = []
    for path in ("/api", "/apis"):
        found += read(await client.raw(path, accept=AGGREGATED))
    return found


def read(groups: Obj) -> list[Served]:
    """Read a list of groups; each kind once, in the version that comes first."""
    return [each for group in groups.get("items") or () for each in _of_group(group)]


def namespaced(kinds: Iterable[Served], verb: str) -> list[Served]:
    """Return the kinds that live in namespaces and can be asked for by that verb."""
    return [each for each in kinds if each.resource.namespaced and verb in each.verbs]


def _of_group(group: Obj) -> Iterator[Served]:
    name = (group.get("metadata") or {}).get("name") or ""
    seen: set[str] = set()
    for version in group.get("versions") or ():
        for row in version.get("resources") or ():
            plural = row["resource"]
            if plural in seen or not row.get("responseKind"):
                continue
            seen.add(plural)
            resource = Resource(
                name,
                version["version"],
                plural,
                row["responseKind"]["kind"],
                namespaced=row.get("scope") == "Namespaced",
            )
            yield Served(resource, frozenset(row.get("verbs") or ()))
