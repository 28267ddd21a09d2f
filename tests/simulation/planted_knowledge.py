"""Bugs in what we know: of what is there, and of whose it is."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from jobferry.core import decide, marks, placement
from jobferry.core.steps import Step
from jobferry.core.view import View
from jobferry.dispatch import act, views, workloads
from jobferry.dispatch.workloads import Workloads
from jobferry.kube.cache import Cache
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.resources import JOBS
from tests.simulation.planting import bug, swapped

# What is there


@bug(
    "The answers to our own writes do not go into the cache: it waits for the watch.", watch=16
)
def own_writes_unseen() -> Iterator[None]:
    def ignore(*_: object) -> None:
        """Learn nothing."""

    with (
        swapped(Informer, "absorb", ignore),
        swapped(Informer, "absorb_deletion", ignore),
        swapped(Informer, "absorb_absence", ignore),
    ):
        yield


@bug(
    "A list after a gap tells of what is there, not of what is gone.",
    jobs=4,
    watch=60,
    delete=30,
)
def missed_deletes() -> Iterator[None]:
    def replace_all(self: Cache[Any], items: Any, version: int) -> list[Any]:
        return [change for item in items for change in self.put(item)]

    with swapped(Cache, "replace", replace_all):
        yield


@bug("A list after a gap tells of what is gone, not of what came.", jobs=4, watch=60)
def missed_news() -> Iterator[None]:
    def replace_all(self: Cache[Any], items: Any, version: int) -> list[Any]:
        found = [*items]
        if not len(self):
            return kept(self, found, version)
        gone = {item.key for item in self} - {item.key for item in found}
        return [change for key in sorted(gone) for change in self.remove(key, version)]

    kept = Cache.replace
    with swapped(Cache, "replace", replace_all):
        yield


@bug("What a worker tells when it is connected again is taken for known.", revoke=10, restart=8)
def news_after_a_gap_ignored() -> Iterator[None]:
    with swapped(views.Views, "is_settled", lambda *_: True):
        yield


@bug("A listener that fails ends its informer, and a huge quantity makes one fail.", scale=4)
def listener_breaks_informer() -> Iterator[None]:
    def call(self: Informer[Any], listener: Any, change: Any) -> None:
        if b"e1500" in change.item.body:
            raise OverflowError("too large")
        listener(change)

    with swapped(Informer, "_call", call):
        yield


# What is written on the word of a cache


@bug(
    "Hub writes do not name the resourceVersion that they were made for.",
    jobs=4,
    coup=60,
    finish=20,
)
def no_resource_version() -> Iterator[None]:
    patch_hub = act.Actor._patch_hub

    async def unguarded(self: act.Actor, kind: Any, hub: Any, patch: Any, *rest: Any) -> None:
        metadata = {k: v for k, v in patch["metadata"].items() if k != "resourceVersion"}
        await patch_hub(self, kind, hub, {**patch, "metadata": metadata}, *rest)

    with swapped(act.Actor, "_patch_hub", unguarded):
        yield


def _as_if_live(function: Callable[..., Step]) -> Callable[..., Step]:
    def decided(seen: View, *args: Any, **options: Any) -> Step:
        return function(replace(seen, is_live=True), *args, **options)

    return decided


@bug(
    "A mirror is created though only the cache says that its Job wants one.",
    jobs=4,
    coup=60,
    delete=30,
)
def create_without_live_read() -> Iterator[None]:
    with swapped(decide, "_no_mirror", _as_if_live(decide._no_mirror)):
        yield


@bug("A mirror is deleted because the cache says that nobody wants it.", jobs=4, coup=60)
def delete_without_live_read() -> Iterator[None]:
    with swapped(decide, "_delete", _as_if_live(decide._delete)):
        yield


@bug("A mirror that the cache does not show is taken for gone.", unheard=40)
def mirror_not_read() -> Iterator[None]:
    no_mirror = decide._no_mirror

    def trusting(seen: View, *args: Any) -> Step:
        return no_mirror(replace(seen, seen=frozenset(seen.workers)), *args)

    with swapped(decide, "_no_mirror", trusting):
        yield


# Whose it is


@bug("A copy that somebody made of a mirror is taken for a mirror.", copy_mirror=20)
def copies_are_ours() -> Iterator[None]:
    with swapped(marks, "_copied", lambda *_: None):
        yield


@bug("Whatever has a mirror's name is ours.", jobs=4, squat=60)
def name_is_enough() -> Iterator[None]:
    async def existing(self: act.Actor, kind: Any, link: Any, sent: Any) -> Any:
        meta = sent["metadata"]
        return await act._client(link).get(JOBS, meta["name"], meta["namespace"])

    with swapped(act.Actor, "_existing", existing):
        yield


@bug(
    "Deletes do not name the UID of what they are for.",
    swap=40,
)
def delete_by_name() -> Iterator[None]:
    delete = Client.delete

    async def by_name(self: Client, resource: Any, *args: Any, **options: Any) -> Any:
        if resource == JOBS and options.get("uid") and self.name != "hub":
            options["uid"] = None
        return await delete(self, resource, *args, **options)

    with swapped(Client, "delete", by_name):
        yield


@bug("Jobs that are for the hub itself are taken for ours.", hybrid=10)
def all_jobs_claimed() -> Iterator[None]:
    with (
        swapped(Workloads, "has", lambda *_: True),
        swapped(workloads, "_concerns", lambda *_: True),
    ):
        yield


@bug("The annotation alone says where a Job was placed; nobody has to vouch for it.", forge=20)
def forged_records_count() -> Iterator[None]:
    def read(obj: Any) -> Any:
        return placement.noted(obj) or placement.vouched(obj)

    with swapped(placement, "read", read):
        yield


@bug("What a worker made of a mirror is not compared: marks may be stripped.", webhook=16)
def stripped_marks_unseen() -> Iterator[None]:
    with swapped(act, "_difference", lambda *_: None):
        yield


@bug("A Job whose managedBy we claim no more is taken for gone.", jobs=4, settings=60)
def unclaimed_is_gone() -> Iterator[None]:
    of = views.Views.of

    def blind(self: views.Views, known: Any) -> View:
        return replace(of(self, known), unclaimed="")

    with swapped(views.Views, "of", blind):
        yield


@bug("The Placement of a JobSet that was deleted alone stays.", delete_set=20)
def record_left_behind() -> Iterator[None]:
    with swapped(decide, "_left_behind", lambda _: None):
        yield


@bug(
    "A mirror whose record was lost is not found again.",
    forget=40,
)
def no_adoption() -> Iterator[None]:
    with swapped(decide, "adopt", lambda *_: None):
        yield
