"""The resources that are served now: those that are built in, and those that CRDs define."""

from collections.abc import Iterable, Iterator, Mapping

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.resource import Resource

GroupVersion = tuple[str, str]


class Registry:
    """Finds resources; custom ones come and go, but never in a group that is built in."""

    def __init__(self, built_in: Iterable[Resource]) -> None:
        self._resources: dict[GroupVersion, dict[str, Resource]] = {}
        self._closing: set[tuple[str, str]] = set()
        self.generation = 0
        """Grows with every change: what was computed from the resources is then stale."""
        for resource in built_in:
            self._put(resource)
        self._fixed = frozenset(group for group, _ in self._resources)

    def is_built_in(self, group: str) -> bool:
        """Tell whether a group is the server's own: nothing that a CRD says changes what it serves."""
        return group in self._fixed

    def add(self, resource: Resource) -> None:
        """Serve a custom resource, in place of one of the same name."""
        if self.is_built_in(resource.group):
            raise ValueError(f"{resource.group} is built in")
        self._put(resource)

    def _put(self, resource: Resource) -> None:
        served = self._resources.setdefault((resource.group, resource.version), {})
        served[resource.plural] = resource
        self.generation += 1

    def remove(self, group: str, plural: str) -> None:
        """Serve a custom resource no longer, in no version."""
        if self.is_built_in(group):
            raise ValueError(f"{group} is built in")
        self._closing.discard((group, plural))
        for group_version in [each for each in self._resources if each[0] == group]:
            served = self._resources[group_version]
            gone = served.pop(plural, None)
            if not served:
                del self._resources[group_version]
            for wake in gone.watchers if gone else ():
                wake()
        self.generation += 1

    def close(self, group: str, plural: str) -> None:
        """Let nothing be created any more: the definition of a custom resource is deleted."""
        self._closing.add((group, plural))

    def is_closed(self, resource: Resource) -> bool:
        """Tell whether nothing may be created any more: its definition is deleted, or gone."""
        if resource.built_in:
            return False
        name = resource.group, resource.plural
        return name in self._closing or self.any_version(*name) is None

    def find(self, group: str, version: str, plural: str) -> Resource | None:
        """Return a resource if it is served."""
        served = self._resources.get((group, version))
        return served.get(plural) if served is not None else None

    def get(self, group: str, version: str, plural: str) -> Resource:
        """Return a resource, or refuse the path as a server without it does."""
        resource = self.find(group, version, plural)
        if resource is not None:
            return resource
        raise self.nothing_in(group)

    def nothing_in(self, group: str) -> status.StatusError:
        """Report a version or resource that a group does not have; groups of custom resources say less."""
        return status.unknown_path() if self.is_built_in(group) else status.no_page()

    def any_version(self, group: str, plural: str) -> Resource | None:
        """Return a resource in any of the versions it is served in."""
        for (each, _), served in self._resources.items():
            if each == group and plural in served:
                return served[plural]
        return None

    def group_versions(self) -> Iterator[GroupVersion]:
        """Return all that is served, the core group first."""
        return iter(sorted(self._resources))

    def in_version(self, group: str, version: str) -> Mapping[str, Resource]:
        """Return the resources of one version by their plural names; none if it is not served."""
        return self._resources.get((group, version), {})
