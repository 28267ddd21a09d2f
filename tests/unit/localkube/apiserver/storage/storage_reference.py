"""What the store must show, worked out in the plainest way: from the list of all that ever happened."""

from typing import NamedTuple

from jobferry.localkube.apiserver.storage.entry import Change, Entry
from jobferry.localkube.apiserver.storage.store import Storage


class Seen(NamedTuple):
    """What a reader can tell of a change."""

    revision: int
    key: str
    value: bytes
    created: int
    deleted: bool


def seen(change: Change) -> Seen:
    entry = change.entry
    return Seen(entry.revision, entry.key, entry.value, entry.created, change.deleted)


class Reference:
    """All that ever became durable, in order."""

    def __init__(self) -> None:
        self.history: list[Seen] = []

    @property
    def revision(self) -> int:
        return self.history[-1].revision if self.history else 1

    def add(self, revision: int, key: str, value: bytes, *, deleted: bool) -> None:
        before = self.state(revision).get(key)
        created = before.created if before else revision
        assert revision > self.revision
        self.history.append(Seen(revision, key, value, created, deleted))

    def state(self, at: int) -> dict[str, Seen]:
        found: dict[str, Seen] = {}
        for each in self.history:
            if each.revision <= at:
                found.pop(each.key, None)
                if not each.deleted:
                    found[each.key] = each
        return dict(sorted(found.items()))

    def since(self, prefix: str, after: int) -> list[Seen]:
        return [e for e in self.history if e.revision > after and e.key.startswith(prefix)]

    def check_range(
        self, storage: Storage, prefix: str, start: str, limit: int, at: int | None
    ) -> None:
        found = storage.range(prefix, start=start, limit=limit, at=at)

        state = self.state(found.revision).values()
        wanted = [e for e in state if e.key.startswith(prefix) and e.key >= start]
        page = wanted[:limit] if limit else wanted
        assert found.revision == (storage.revision if at is None else at)
        assert [_shown(entry) for entry in found.entries] == page
        assert found.remaining == len(wanted) - len(page)
        assert found.more == (found.remaining > 0)

    def check_newest(self, storage: Storage, keys: list[str]) -> None:
        state = self.state(storage.revision)
        for key in keys:
            entry = storage.get(key)
            assert (_shown(entry) if entry else None) == state.get(key)


def _shown(entry: Entry) -> Seen:
    return Seen(entry.revision, entry.key, entry.value, entry.created, False)
