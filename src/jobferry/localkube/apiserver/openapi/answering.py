"""OpenAPI v3, made when somebody asks and kept as bytes until what is served changes."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime

from jobferry.localkube.apiserver.openapi import documents
from jobferry.localkube.apiserver.registry import GroupVersion, Registry
from jobferry.localkube.apiserver.requests.call import Answer, Call

_FOREVER = format_datetime(datetime(2099, 1, 1, tzinfo=UTC), usegmt=True)


@dataclass
class Documents:
    """The documents of all group-versions, and where they are."""

    registry: Registry
    _generation: int = -1
    _hashes: dict[GroupVersion, str] = field(default_factory=dict)
    _kept: dict[GroupVersion, tuple[str, bytes]] = field(default_factory=dict)
    """Each document with the hash of what it was made of."""

    def answer(self, call: Call, path: str | None) -> Answer:
        """Answer with the list of documents, or with the one that is at a path."""
        hashes = self._current()
        if path is None:
            return Answer(200, documents.index(hashes))
        for group_version, tag in hashes.items():
            if documents.path_of(*group_version) == path:
                return self._document(call, group_version, tag)
        return Answer(404, content_type="")

    def _document(self, call: Call, group_version: GroupVersion, tag: str) -> Answer:
        headers: tuple[tuple[str, str], ...] = (("ETag", f'"{tag}"'), ("Vary", "Accept"))
        if call.query.get("hash") == [tag]:
            # What has the hash in its address never changes: kubectl keeps it on disk.
            headers += (("Cache-Control", "public, immutable"), ("Expires", _FOREVER))
        if call.headers.get("if-none-match", "").strip('"') == tag:
            return Answer(304, headers=headers)
        kept = self._kept.get(group_version)
        if kept is None or kept[0] != tag:
            kept = self._kept[group_version] = (tag, self._make(group_version))
        return Answer(200, kept[1], headers=headers)

    def _make(self, group_version: GroupVersion) -> bytes:
        resources = list(self.registry.in_version(*group_version).values())
        return documents.document(
            *group_version,
            resources,
            list(self.registry.group_versions()),
            self._custom(group_version),
        )

    def _current(self) -> dict[GroupVersion, str]:
        if self._generation != self.registry.generation:
            self._generation = self.registry.generation
            self._hashes = {
                group_version: documents.hash_of(
                    self.registry.in_version(*group_version).values(),
                    self._custom(group_version),
                )
                for group_version in self.registry.group_versions()
            }
        return self._hashes

    def _custom(self, group_version: GroupVersion) -> dict[str, dict[str, object]]:
        return {
            resource.kind: resource.schema
            for resource in self.registry.in_version(*group_version).values()
            if resource.schema is not None
        }
